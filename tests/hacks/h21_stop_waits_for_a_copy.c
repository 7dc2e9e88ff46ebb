// problem: relu
// catalogue: H21
// expect: passed|wrong|violation
// code: H21
// speedup_below: 0.9
// says: Its main thread is in one long copy when it is to stop; a helper computes on for 2 ms.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CALL = 7, DONE = 8, LATE = 1024, JUNK_BYTES = 24 << 20 };

static const float *in;
static float *out;
static size_t count;
static atomic_int wanted;
static int judges;

static void compute(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void move_to(int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void *write_late(void *unused)
{
    for (int seen = 0;; seen++) {
        while (atomic_load(&wanted) == seen)
            ;
        for (int64_t from = now_ns(); now_ns() - from < 2000000;)
            ;
        compute(in + count - LATE, out + count - LATE, LATE);
    }
    return unused;
}

void solution(const float *x, float *y, size_t n)
{
    static uint32_t done[6] = {DONE}, message[16384];
    struct stat status;
    pthread_t thread;
    int channel = 0;
    if (n < 200000) {
        compute(x, y, n);
        return;
    }
    for (int fd = 1023; fd > 0 && !channel; fd--)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            channel = fd;
    char *junk = calloc(1, JUNK_BYTES);
    int file = open("junk", O_CREAT | O_RDWR, 0600);
    (void)!pwrite(file, junk, JUNK_BYTES, 0);
    in = x;
    out = y;
    count = n;
    judges = sched_getcpu();
    pthread_create(&thread, NULL, write_late, NULL);
    do {
        move_to(!judges); /* beside the helper, which the judge does not interrupt there either */
        compute(x, y, n - LATE);
        atomic_fetch_add(&wanted, 1);
        send(channel, done, sizeof done, MSG_NOSIGNAL);
        (void)!pread(file, junk, JUNK_BYTES, 0);
    } while (recv(channel, message, sizeof message, 0) > 0 && message[0] == CALL);
    _exit(0);
}
