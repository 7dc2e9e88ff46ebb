/* What a process has had of processors, when it has just stopped. */
#include "../support/test.h"
#include "base/array.h"
#include "sandbox/processor_time.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 40
#define RUN_US 3000
#define SETTLE_US 8000
#define ENDED_NS INT64_C(100000000)
#define LONG_NS INT64_C(60000000000)

static void *spin(void *data)
{
    volatile int turns = 1;
    while (turns)
        turns |= 2;
    return data;
}

static void *spin_briefly(void *data)
{
    for (volatile int turns = 0; turns < 5000000; turns++) {
    }
    return data;
}

/* One more of its threads has ended when the others begin. */
static pid_t start(int threads)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_t thread;
    pthread_create(&thread, NULL, spin_briefly, NULL);
    pthread_join(thread, NULL);
    for (int i = 1; i < threads; i++)
        pthread_create(&thread, NULL, spin, NULL);
    spin(NULL);
    _exit(1);
}

static void stop(pid_t pid)
{
    siginfo_t info = {0};
    kill(pid, SIGSTOP);
    while (info.si_pid == 0) {
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOHANG), 0);
    }
    assert_int_equal(info.si_code, CLD_STOPPED);
}

/* The plain reading moves after most stops of two threads on a machine that is not busy. */
TEST(nothing_is_left_for_later)
{
    for (int threads = 1; threads <= 2; threads++) {
        pid_t pid = start(threads);
        int64_t ran_ns = 0;
        int64_t later_ns = 0;
        int64_t before_ns = processor_time_ns(pid);
        for (int i = 0; i < ROUNDS; i++) {
            kill(pid, SIGCONT);
            usleep(RUN_US);
            stop(pid);
            int64_t stopped_ns = processor_time_stopped_ns(pid);
            assert_true(stopped_ns >= before_ns);
            usleep(SETTLE_US);
            int64_t settled_ns = processor_time_ns(pid);
            ran_ns += stopped_ns - before_ns;
            later_ns += settled_ns - stopped_ns;
            before_ns = settled_ns;
        }
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_true(ran_ns > 0);
        assert_int_equal(later_ns, 0);
    }
}

/* On a busy machine it takes longer until each of its threads has run. */
static bool have_run(pid_t pid)
{
    struct processor_use first = processor_time_first(pid);
    struct processor_use all = processor_time_threads(pid);
    return first.used_ns > 0 && first.used_ns < all.used_ns && all.delayed_ns > 0;
}

TEST(threads)
{
    pid_t pid = start(3);
    for (int looks = 0; looks < 10000 && !have_run(pid); looks++)
        usleep(RUN_US);
    stop(pid);
    usleep(SETTLE_US);
    struct processor_use first = processor_time_first(pid);
    struct processor_use all = processor_time_threads(pid);
    assert_int_equal(all.used_ns, processor_time_ns(pid));
    assert_true(first.used_ns > 0 && first.used_ns < all.used_ns);
    assert_true(all.delayed_ns > 0 && first.delayed_ns <= all.delayed_ns);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(processor_time_threads(pid).used_ns, 0);
}

TEST(no_such_process)
{
    pid_t pid = start(1);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(processor_time_ns(pid), -1);
    assert_int_equal(processor_time_stopped_ns(pid), -1);
}

/* A process whose child has a child that spins, and had one that has spun and ended. */
static pid_t start_tree(void)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pid_t ended = fork();
        if (ended == 0) {
            struct timespec used = {0};
            while (used.tv_nsec < ENDED_NS && used.tv_sec == 0)
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
            _exit(0);
        }
        waitpid(ended, NULL, 0);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            spin(NULL);
        }
    }
    pause();
    _exit(1);
}

TEST(tree)
{
    pid_t pid = start_tree();
    struct processor_use use = {0};
    for (int looks = 0; looks < 10000 && use.used_ns < 2 * ENDED_NS; looks++) {
        usleep(RUN_US);
        struct processor_use now = processor_time_tree(pid);
        assert_true(now.used_ns >= 0 && now.delayed_ns >= 0);
        use = now;
    }
    assert_true(use.used_ns >= 2 * ENDED_NS); /* the ended one's, and more */
    assert_true(processor_time_threads(pid).used_ns < ENDED_NS);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(processor_time_tree(pid).used_ns, 0);
}

TEST(withheld)
{
    static const struct {
        int64_t used_ns, delayed_ns, elapsed_ns, withheld_ns;
    } rows[] = {
        {1000, 0, 1000, 0},     /* it had a processor all the time */
        {100, 900, 1000, 900},  /* one process, which had a tenth */
        {100, 7000, 1000, 900}, /* eight processes, all of them kept waiting */
        {2000, 6000, 1000, 0},  /* eight that have both processors to themselves */
        {900, -500, 1000, 0},   /* one that was delayed has ended */
        {0, 0, 1000, 0},        /* a wait that is not over */
        {100, 1900, 1000, 1900},
        {-5, 400, 1000, 400}, /* one that was not waited for has ended */
        {0, 0, LONG_NS, 0},   /* it sleeps, and has then what it wants */
        {0, LONG_NS, 0, 2000000000},
    };
    const struct processor_use before = {.used_ns = 1 << 20, .delayed_ns = 1 << 20};
    int64_t idle_ns = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct processor_use now = {.used_ns = before.used_ns + rows[i].used_ns,
                                          .delayed_ns = before.delayed_ns + rows[i].delayed_ns};
        assert_int_equal(processor_time_withheld(before, now, rows[i].elapsed_ns, &idle_ns),
                         rows[i].withheld_ns);
    }
}
