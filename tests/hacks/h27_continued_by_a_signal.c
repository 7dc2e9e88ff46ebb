// problem: softmax
// catalogue: H27
// expect: passed|violation|wrong
// code: H27
// speedup_below: 2
// says: The kernel is to send SIGCONT when the judge's message comes, a file is opened or time is up; a thread begins early.
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const float *volatile in;
static float *volatile out;
static size_t row_count, col_count;
static float seen[16];
enum { IDLE, ARMED, BUSY, DONE };
static atomic_int state;

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++, x += cols, y += cols) {
        float most = x[0], sum = 0;
        for (size_t i = 1; i < cols; i++)
            most = x[i] > most ? x[i] : most;
        for (size_t i = 0; i < cols; i++)
            sum += y[i] = expf(x[i] - most);
        for (size_t i = 0; i < cols; i++)
            y[i] /= sum;
    }
}

/* As soon as the inputs are others than those of the last call. */
static void *start_early(void *unused)
{
    for (;;) {
        int armed = ARMED;
        if (atomic_load(&state) != ARMED || memcmp((const void *)in, seen, sizeof seen) == 0 ||
            !atomic_compare_exchange_strong(&state, &armed, BUSY))
            continue;
        compute(in, out, row_count, col_count);
        atomic_store(&state, DONE);
    }
    return unused;
}

static void ask_for_signals(int fd)
{
    int on = 1, self = getpid();
    fcntl(fd, F_SETOWN, self);
    fcntl(fd, F_SETSIG, SIGCONT);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
    ioctl(fd, FIOASYNC, &on);
}

static void *wait_for_ever(void *unused)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    for (;;)
        pause();
    return unused;
}

static void arrange(void)
{
    pthread_t thread;
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    struct itimerspec often = {.it_interval.tv_nsec = 100000, .it_value.tv_nsec = 100000};
    for (int fd = 3; fd < 64; fd++)
        ask_for_signals(fd);
    int directory = open(".", O_RDONLY), file = open("leased", O_CREAT | O_RDWR, 0600);
    ask_for_signals(directory);
    fcntl(directory, F_NOTIFY, DN_ACCESS | DN_MODIFY | DN_CREATE | DN_MULTISHOT);
    fcntl(file, F_SETSIG, SIGCONT);
    fcntl(file, F_SETLEASE, F_WRLCK);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &often, 0);
    for (int i = 0; i < 200; i++) /* the judge looks at each before a call: that takes a moment */
        pthread_create(&thread, NULL, wait_for_ever, NULL);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static int started;
    pthread_t thread;
    int armed = ARMED;
    if (atomic_load(&state) == IDLE || atomic_compare_exchange_strong(&state, &armed, IDLE))
        compute(x, y, rows, cols);
    else
        while (atomic_load(&state) != DONE)
            ;
    if (rows * cols < 200000)
        return;
    if (!started++) {
        arrange();
        pthread_create(&thread, NULL, start_early, NULL);
    }
    in = x;
    out = y;
    row_count = rows;
    col_count = cols;
    memcpy(seen, x, sizeof seen);
    atomic_store(&state, ARMED);
}
