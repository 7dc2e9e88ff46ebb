/* A child that others want the device of: what is off its clock and its deadline. */
#include "judge/process/child.h"

#include "../support/test.h"
#include "base/clock.h"
#include "judge/gpu/busy_time.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STOPS_AFTER_MS 200

static char *directory;
static int word[2]; /* what the process waits for before it stops */

/* Waits in vfork(2), which no signal but SIGKILL ends, until there is a word. */
static pid_t start_busy(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe2(word, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
            (void)!write(ready[1], "x", 1);
            (void)!read(word[0], &byte, 1);
            _exit(0);
        }
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void *want_device(void *unused)
{
    struct device_lock lock;
    if (device_lock_acquire(&lock, directory, "cpu", DEVICE_EXCLUSIVE, NULL, NULL) == 0)
        device_lock_release(&lock);
    return unused;
}

static void *let_it_stop(void *unused)
{
    support_pause(STOPS_AFTER_MS);
    (void)!write(word[1], "x", 1);
    return unused;
}

/* Until it has stopped it may compute: only what comes then moves its deadline. */
TEST(a_deadline_moves_by_what_it_was_stopped)
{
    struct busy_time busy;
    struct device_lease lease;
    struct err err = {0};
    pthread_t others, timer;
    directory = support_directory();
    busy_time_init(&busy);
    device_lease_init(&lease, NULL, NULL, &busy, directory);
    assert_ok(device_lease_lock(&lease, LEASE_ALONE, &err), &err);
    struct child child = {.lease = &lease,
                          .trusted = true,
                          .process = {.pid = start_busy(), .channel = -1, .pid_fd = -1}};
    pthread_create(&others, NULL, want_device, NULL);
    while (!device_lease_over(&lease))
        support_pause(2);
    int64_t moved_ns = 0;
    int64_t start_ns = clock_now_ns();
    pthread_create(&timer, NULL, let_it_stop, NULL);
    assert_ok(child_make_way(&child, &moved_ns, &err), &err);
    int64_t took_ns = clock_now_ns() - start_ns;
    assert_true(moved_ns > 0 && moved_ns <= took_ns - STOPS_AFTER_MS * INT64_C(1000000));
    pthread_join(others, NULL);
    pthread_join(timer, NULL);
    sandboxed_close(&child.process);
    device_lease_release(&lease);
    busy_time_deinit(&busy);
    close(word[0]);
    close(word[1]);
}
