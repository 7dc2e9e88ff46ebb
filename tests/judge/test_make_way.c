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

/* --- on a GPU ----------------------------------------------------------------------------------*/

static int kernel_ms; /* of an empty kernel there */

static cuda_result use_context(cuda_context context)
{
    return context ? 1 : 0;
}

/* NOLINTNEXTLINE(readability-function-size): as the driver has it */
static cuda_result launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, cuda_stream stream, void **parameters,
                          void **extra)
{
    return 0;
}

static cuda_result wait_for_kernels(void)
{
    support_pause(kernel_ms);
    return 0;
}

static const struct gpu_context gpu = {
    .cuda = {.context_use = use_context, .launch = launch, .synchronize = wait_for_kernels}};
static const struct gpu_work work = {.gpu = &gpu};

/* A process that sleeps; whether it has let another user have the device, held in that mode. */
static bool makes_way(enum lease_mode mode, const struct gpu_work *kernels, int empty_kernel_ms)
{
    struct busy_time busy;
    struct device_lease lease;
    struct err err = {0};
    pthread_t others;
    int64_t deadline_ns = 0;
    kernel_ms = empty_kernel_ms;
    directory = support_directory();
    busy_time_init(&busy);
    device_lease_init(&lease, NULL, NULL, &busy, directory);
    assert_ok(device_lease_lock(&lease, mode, &err), &err);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    struct child child = {.lease = &lease,
                          .gpu = &gpu,
                          .work = kernels,
                          .process = {.pid = pid, .channel = -1, .pid_fd = -1}};
    pthread_create(&others, NULL, want_device, NULL);
    while (!device_lease_over(&lease))
        support_pause(2);
    assert_ok(child_make_way(&child, &deadline_ns, &err), &err);
    assert_false(child.process.frozen);
    bool made_way = deadline_ns > 0;
    assert_int_equal(device_lease_over(&lease), !made_way);
    sandboxed_close(&child.process);
    device_lease_release(&lease);
    pthread_join(others, NULL);
    busy_time_deinit(&busy);
    return made_way;
}

/* What it computes there does not stop with it. */
TEST(on_a_gpu_it_makes_way_where_nothing_computes)
{
    assert_true(makes_way(LEASE_SHARED, &work, 0));
    assert_false(makes_way(LEASE_SHARED, &work, 5));
    assert_false(makes_way(LEASE_SHARED, NULL, 0));
    assert_false(makes_way(LEASE_TIMED, &work, 0));
}
