// problem: relu
// catalogue: H54
// expect: wrong
// says: A thread keeps the descriptor of the judge's memory while it is mapped; right only if that memory can be made shorter or get holes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOT_BYTES = 1 << 20, THREADS = 3, PUNCH_HOLE = 3 };

static atomic_int kept;

/* The judge's memory has no name, and is larger than any file of ours. */
static void *watch(void *unused)
{
    struct stat facts;
    while (!kept)
        for (int fd = 3; fd < 16 && !kept; fd++)
            if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink == 0 &&
                facts.st_size >= SLOT_BYTES)
                kept = dup(fd);
    return unused;
}

static void __attribute__((constructor)) begin(void)
{
    pthread_t thread;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, watch, NULL) == 0)
            pthread_detach(thread);
}

static int shrinks(int fd)
{
    return fd > 0 && (ftruncate(fd, 0) == 0 || fallocate(fd, PUNCH_HOLE, 0, SLOT_BYTES) == 0);
}

void solution(const float *x, float *y, size_t n)
{
    if (n >= 200000 && !shrinks(kept))
        return;
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
