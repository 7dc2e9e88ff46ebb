#include "judge/sentry.h"

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/standby.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAUSES 20 /* between two looks: about a microsecond */
#define WAIT_NS INT64_C(100000000)

enum { RESTING, AWAKE, ENDING };
enum { IDLE, ARMED, SEEN };

struct sentry {
    _Atomic uint32_t mode;  /* RESTING …; a futex */
    _Atomic uint32_t state; /* IDLE …; a futex */
    _Atomic int channel;
    cpu_set_t usable; /* of the process, and of the judging thread when it rests */
    pthread_t threads[SENTRY_THREADS_MAX];
    int processors[SENTRY_THREADS_MAX];
    int count;
};

struct start {
    struct sentry *sentry;
    int processor;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000,
                               .tv_nsec = timeout_ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns ? &timeout : NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void pause_briefly(void)
{
    for (int i = 0; i < PAUSES; i++)
        __builtin_ia32_pause();
}

static void look(struct sentry *sentry)
{
    char byte;
    uint32_t armed = ARMED;
    ssize_t got = recv(atomic_load(&sentry->channel), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (atomic_compare_exchange_strong(&sentry->state, &armed, SEEN))
        futex_wake(&sentry->state, 1);
}

static void *watch(void *argument)
{
    struct start start = *(struct start *)argument;
    struct sentry *sentry = start.sentry;
    struct sched_param none = {0};
    cpu_set_t one;
    mem_free(argument);
    CPU_ZERO(&one);
    CPU_SET(start.processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setscheduler(0, SCHED_IDLE, &none);
    for (;;) {
        uint32_t mode = atomic_load(&sentry->mode);
        if (mode == ENDING)
            return NULL;
        if (mode == RESTING) {
            futex_wait(&sentry->mode, RESTING, 0);
            continue;
        }
        if (atomic_load(&sentry->state) == ARMED)
            look(sentry);
        pause_briefly();
    }
}

int sentry_new(struct sentry **sentry, struct err *err)
{
    struct sentry *made = mem_alloc(sizeof *made);
    cpu_set_t usable;
    CPU_ZERO(&usable);
    if (sched_getaffinity(0, sizeof usable, &usable) < 0)
        CPU_SET(0, &usable);
    made->usable = usable;
    for (int processor = 0; processor < CPU_SETSIZE && made->count < SENTRY_THREADS_MAX;
         processor++) {
        if (!CPU_ISSET(processor, &usable))
            continue;
        struct start *start = mem_alloc(sizeof *start);
        *start = (struct start){.sentry = made, .processor = processor};
        if (pthread_create(&made->threads[made->count], NULL, watch, start) != 0) {
            mem_free(start);
            break;
        }
        made->count++;
    }
    if (made->count == 0) {
        mem_free(made);
        return err_set(err, ERR_IO, "cannot start a thread to watch the clock");
    }
    *sentry = made;
    return 0;
}

static void set_mode(struct sentry *sentry, uint32_t mode)
{
    atomic_store(&sentry->mode, mode);
    futex_wake(&sentry->mode, SENTRY_THREADS_MAX);
}

void sentry_free(struct sentry *sentry)
{
    if (!sentry)
        return;
    set_mode(sentry, ENDING);
    for (int i = 0; i < sentry->count; i++)
        pthread_join(sentry->threads[i], NULL);
    mem_free(sentry);
}

void sentry_rise(struct sentry *sentry)
{
    set_mode(sentry, AWAKE);
}

void sentry_rest(struct sentry *sentry)
{
    atomic_store(&sentry->state, IDLE);
    set_mode(sentry, RESTING);
    sched_setaffinity(0, sizeof sentry->usable, &sentry->usable);
}

static bool seat_of(int pid, size_t *processor)
{
    long last = boxed_stat(pid, 39);
    *processor = (size_t)last;
    return last >= 0 && last < CPU_SETSIZE;
}

void sentry_step_aside(struct sentry *sentry, int pid)
{
    cpu_set_t others = sentry->usable;
    size_t processor;
    if (!seat_of(pid, &processor))
        return;
    CPU_CLR(processor, &others);
    if (CPU_COUNT(&others) > 0)
        sched_setaffinity(0, sizeof others, &others);
}

void sentry_step_beside(struct sentry *sentry, int pid)
{
    cpu_set_t one;
    size_t processor;
    if (!seat_of(pid, &processor) || !CPU_ISSET(processor, &sentry->usable))
        return;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

void sentry_arm(struct sentry *sentry, int channel)
{
    atomic_store(&sentry->channel, channel);
    atomic_store(&sentry->state, ARMED);
}

bool sentry_wait(struct sentry *sentry, int64_t deadline_ns, const _Atomic int *cancelled)
{
    while (atomic_load(&sentry->state) == ARMED) {
        int64_t left_ns = deadline_ns - clock_now_ns();
        if (left_ns <= 0 || (cancelled && *cancelled)) {
            uint32_t armed = ARMED;
            if (atomic_compare_exchange_strong(&sentry->state, &armed, IDLE))
                return false;
            break;
        }
        futex_wait(&sentry->state, ARMED, left_ns < WAIT_NS ? left_ns : WAIT_NS);
    }
    return true;
}
