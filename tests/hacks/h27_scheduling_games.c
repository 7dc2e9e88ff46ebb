// problem: relu
// catalogue: H27
// expect: passed
// speedup_below: 0.9
// says: Threads of its own yield on the judge's processor, move about and ask for other policies and slack; it works four times.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 6 };

static void ask_for_more(int policy)
{
    sched_setscheduler(0, policy, &(struct sched_param){.sched_priority = policy == SCHED_FIFO});
    setpriority(PRIO_PROCESS, 0, -20);
    prctl(PR_SET_TIMERSLACK, 1000000000UL);
}

static void move_to(int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void *play(void *policy)
{
    ask_for_more((int)(size_t)policy);
    for (int turn = 0;; turn++) {
        move_to(turn % 1024 ? sched_getcpu() : (turn / 1024) & 1);
        syscall(SYS_membarrier, 8, 0, 0); /* MEMBARRIER_CMD_PRIVATE_EXPEDITED */
        sched_yield();
    }
    return NULL;
}

void solution(const float *x, float *y, size_t n)
{
    static const int policies[] = {SCHED_FIFO, SCHED_IDLE, SCHED_BATCH};
    static int started;
    pthread_t thread;
    if (n >= 200000 && !started++)
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&thread, NULL, play, (void *)(size_t)policies[i % 3]) == 0)
                pthread_detach(thread);
    for (int again = 0; again < 4; again++) {
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
        __asm__ volatile("" : : "r"(y) : "memory");
    }
}
