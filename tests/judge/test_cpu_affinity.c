#include "../support/test.h"
#include "judge/process/cpu_affinity.h"
#include "sandbox/processor_time.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 3

static cpu_set_t allowed(pid_t thread)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    assert_int_equal(sched_getaffinity(thread, sizeof set, &set), 0);
    return set;
}

static void assert_same_set(const cpu_set_t *a, const cpu_set_t *b)
{
    assert_true(CPU_EQUAL(a, b));
}

/* The one processor in a set. */
static int only(const cpu_set_t *set)
{
    assert_int_equal(CPU_COUNT(set), 1);
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, set))
            return processor;
    return -1;
}

static int nth(const cpu_set_t *set, int n)
{
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, set) && n-- == 0)
            return processor;
    return -1;
}

static void *idle(void *ready)
{
    pid_t mine = gettid();
    if (write(*(int *)ready, &mine, sizeof mine) < 0)
        abort();
    for (;;)
        pause();
}

static void *compute(void *ready)
{
    for (volatile int turns = 0; turns < 5000000; turns++) {
    }
    return idle(ready);
}

/* A process with some threads, which sends their ids; the second of them has computed. */
static pid_t crowd(pid_t workers[WORKERS])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < WORKERS; i++)
            if (pthread_create(&thread, NULL, i == 1 ? compute : idle, &ends[1]) != 0)
                _exit(1);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(read(ends[0], &workers[i], sizeof *workers), sizeof *workers);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

TEST(each_place_has_its_processor)
{
    cpu_set_t before = allowed(0);
    for (int place = 0; place < 2 * CPU_COUNT(&before); place++) {
        struct cpu_affinity affinity;
        cpu_affinity_pin(&affinity, place);
        cpu_set_t mine = allowed(0);
        assert_int_equal(only(&mine), nth(&before, place % CPU_COUNT(&before)));
        cpu_affinity_unpin(&affinity);
        cpu_set_t after = allowed(0);
        assert_same_set(&after, &before);
    }
}

TEST(threads_are_spread_and_main_is_let_go)
{
    pid_t workers[WORKERS];
    pid_t pid = crowd(workers);
    cpu_set_t all = allowed(0);
    int processors = CPU_COUNT(&all);
    struct cpu_affinity affinity;
    cpu_affinity_pin(&affinity, 0);
    cpu_affinity_place(&affinity, pid);
    cpu_set_t set = allowed(pid);
    assert_int_equal(only(&set), affinity.processor);
    int used[CPU_SETSIZE] = {0};
    for (int i = 0; i < WORKERS; i++) {
        set = allowed(workers[i]);
        used[only(&set)]++;
        assert_int_equal(sched_getscheduler(workers[i]), SCHED_OTHER);
    }
    /* Round and round, but for the main thread's, from the one behind it. */
    for (int i = 0; i < WORKERS; i++)
        used[processors > 1 ? nth(&all, 1 + i % (processors - 1)) : nth(&all, 0)]--;
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        assert_int_equal(used[processor], 0);
    cpu_affinity_release_main(&affinity, pid);
    set = allowed(pid);
    assert_same_set(&set, &all);
    cpu_affinity_recall_main(&affinity, pid);
    set = allowed(pid);
    assert_int_equal(only(&set), affinity.processor);
    cpu_affinity_unpin(&affinity);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Of two processors: a thread that waits, and was made before, takes neither from it. */
TEST(what_computes_is_not_placed_with_main)
{
    pid_t workers[WORKERS];
    cpu_set_t all = allowed(0);
    cpu_set_t two;
    CPU_ZERO(&two);
    CPU_SET(nth(&all, 0), &two);
    CPU_SET(nth(&all, 1 % CPU_COUNT(&all)), &two);
    assert_int_equal(sched_setaffinity(0, sizeof two, &two), 0);
    pid_t pid = crowd(workers);
    pid_t busy = workers[0];
    for (int i = 1; i < WORKERS; i++)
        if (processor_time_first(workers[i]).used_ns > processor_time_first(busy).used_ns)
            busy = workers[i];
    struct cpu_affinity affinity;
    cpu_affinity_pin(&affinity, 0);
    cpu_affinity_place(&affinity, pid);
    cpu_set_t set = allowed(busy);
    assert_int_equal(only(&set), nth(&two, 1 % CPU_COUNT(&two)));
    cpu_affinity_unpin(&affinity);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* As root; elsewhere a machine may permit it. Threads that are made meanwhile are plain ones. */
TEST(main_stays_on_a_processor_of_its_own)
{
    pid_t workers[WORKERS];
    pid_t pid = crowd(workers);
    cpu_set_t all = allowed(0);
    struct cpu_affinity affinity;
    int own = nth(&all, CPU_COUNT(&all) - 1);
    cpu_affinity_pin_to(&affinity, own);
    cpu_set_t set = allowed(0);
    assert_int_equal(only(&set), own);
    cpu_affinity_place(&affinity, pid);
    cpu_affinity_release_main(&affinity, pid);
    set = allowed(pid);
    assert_int_equal(only(&set), own);
    cpu_affinity_unpin(&affinity);
    set = allowed(0);
    assert_same_set(&set, &all);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(judge_hurries_while_it_waits)
{
    struct cpu_affinity affinity;
    cpu_affinity_pin(&affinity, 0);
    cpu_affinity_hurry(&affinity, true);
    int hurried = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    pid_t pid = fork();
    if (pid == 0)
        _exit((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_OTHER);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    cpu_affinity_hurry(&affinity, false);
    assert_int_equal(status, 0);
    assert_int_equal(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
    cpu_affinity_unpin(&affinity);
    if (hurried != SCHED_FIFO)
        skip();
}

/* A policy that the caller chose stays. */
TEST(judge_keeps_its_policy)
{
    struct cpu_affinity affinity;
    struct sched_param none = {0};
    assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    cpu_affinity_pin(&affinity, 0);
    cpu_affinity_hurry(&affinity, true);
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
    cpu_affinity_unpin(&affinity);
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
}

TEST(nothing_happens_to_a_process_that_is_gone)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct cpu_affinity affinity;
    cpu_set_t before = allowed(0);
    cpu_affinity_pin(&affinity, 0);
    cpu_affinity_place(&affinity, pid);
    cpu_affinity_release_main(&affinity, pid);
    cpu_affinity_recall_main(&affinity, pid);
    cpu_affinity_unpin(&affinity);
    cpu_set_t after = allowed(0);
    assert_same_set(&after, &before);
}
