#include "device/lock.h"

#include "../support/test.h"
#include "base/clock.h"
#include "base/file.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *directory;

FIXTURE(setup)
{
    directory = support_directory();
    return 0;
}

TEST_EACH(setup, NULL);

static int acquire(struct device_lock *lock, enum device_lock_mode mode,
                   const _Atomic int *cancelled)
{
    struct err err = {0};
    int result = device_lock_acquire(lock, directory, "cpu", mode, cancelled, &err);
    if (result < 0 && result != ERR_CANCELLED)
        fail_msg("%s", err.text);
    return result;
}

TEST(who_may_be_in_with_whom)
{
    static const struct {
        enum device_lock_mode inside, outside;
        int result;
    } rows[] = {
        {DEVICE_SHARED, DEVICE_SHARED, 0},
        {DEVICE_SHARED, DEVICE_EXCLUSIVE, ERR_CANCELLED},
        {DEVICE_EXCLUSIVE, DEVICE_SHARED, ERR_CANCELLED},
        {DEVICE_EXCLUSIVE, DEVICE_EXCLUSIVE, ERR_CANCELLED},
    };
    const _Atomic int now = 1;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct device_lock inside, outside;
        assert_int_equal(acquire(&inside, rows[i].inside, NULL), 0);
        assert_int_equal(acquire(&outside, rows[i].outside, &now), rows[i].result);
        assert_int_equal(outside.held >= 0, rows[i].result == 0);
        device_lock_release(&outside);
        device_lock_release(&inside);
        /* Nothing was left locked, by a cancelled waiter neither. */
        assert_int_equal(acquire(&inside, DEVICE_EXCLUSIVE, &now), 0);
        device_lock_release(&inside);
        device_lock_release(&inside);
    }
}

TEST(devices_are_apart)
{
    const _Atomic int now = 1;
    struct device_lock cpu, other;
    assert_int_equal(acquire(&cpu, DEVICE_EXCLUSIVE, NULL), 0);
    assert_int_equal(device_lock_acquire(&other, directory, "cuda0", DEVICE_EXCLUSIVE, &now, NULL),
                     0);
    device_lock_release(&other);
    device_lock_release(&cpu);
}

/* What several processes do under the lock, seen through shared memory. */
struct scene {
    _Atomic int shared, exclusive, clashes, entries;
};

static void enter(struct scene *scene, enum device_lock_mode mode)
{
    struct device_lock lock;
    if (device_lock_acquire(&lock, directory, "cpu", mode, NULL, NULL) < 0)
        _exit(1);
    _Atomic int *mine = mode == DEVICE_SHARED ? &scene->shared : &scene->exclusive;
    int before = atomic_fetch_add(mine, 1);
    if (scene->exclusive > 1 || (scene->exclusive == 1 && scene->shared > 0) ||
        (mode == DEVICE_EXCLUSIVE && before > 0))
        scene->clashes++;
    scene->entries++;
    support_pause(1);
    atomic_fetch_sub(mine, 1);
    device_lock_release(&lock);
}

static void *lock_often(void *data)
{
    for (int i = 0; i < 10; i++) {
        enter(data, i % 3 ? DEVICE_SHARED : DEVICE_EXCLUSIVE);
        support_pause(1);
    }
    return NULL;
}

TEST(threads_and_processes)
{
    struct scene *scene = mmap(NULL, sizeof *scene, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(scene != MAP_FAILED);
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            pthread_t threads[3];
            for (int k = 0; k < 3; k++)
                if (pthread_create(&threads[k], NULL, lock_often, scene) != 0)
                    _exit(1);
            for (int k = 0; k < 3; k++)
                pthread_join(threads[k], NULL);
            _exit(0);
        }
    }
    for (int i = 0; i < 3; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(scene->clashes, 0);
    assert_int_equal(scene->entries, 90);
    munmap(scene, sizeof *scene);
}

TEST(a_dead_holder_leaves_nothing)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct device_lock lock;
        if (device_lock_acquire(&lock, directory, "cpu", DEVICE_EXCLUSIVE, NULL, NULL) < 0 ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    const _Atomic int now = 1;
    struct device_lock lock;
    assert_int_equal(acquire(&lock, DEVICE_SHARED, &now), ERR_CANCELLED);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(acquire(&lock, DEVICE_SHARED, &now), 0);
    device_lock_release(&lock);
    close(ready[0]);
    close(ready[1]);
}

struct visitor {
    _Atomic int stop;
    _Atomic int visits;
};

static void *visit(void *data)
{
    struct visitor *visitor = data;
    while (!visitor->stop) {
        struct device_lock lock;
        if (device_lock_acquire(&lock, directory, "cpu", DEVICE_SHARED, NULL, NULL) < 0)
            abort();
        visitor->visits++;
        support_pause(5);
        device_lock_release(&lock);
    }
    return NULL;
}

/* Shared visits overlap all the time, so the lock is never free by itself. */
TEST(a_stream_of_checks_does_not_starve_a_timing)
{
    struct visitor visitor = {0};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, visit, &visitor), 0);
        support_pause(1);
    }
    int before = visitor.visits;
    for (int i = 0; i < 10; i++) {
        struct device_lock lock;
        assert_int_equal(acquire(&lock, DEVICE_EXCLUSIVE, NULL), 0);
        assert_true(lock.waited_ms < 1000);
        device_lock_release(&lock);
        support_pause(10); /* and the timings do not starve the checks */
    }
    assert_true(visitor.visits > before);
    visitor.stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

TEST(a_waiter_can_be_cancelled)
{
    _Atomic int cancelled = 0;
    struct device_lock inside, waiting;
    assert_int_equal(acquire(&inside, DEVICE_SHARED, NULL), 0);
    pthread_t thread = support_set_after(&cancelled, 20);
    int64_t start_ns = clock_now_ns();
    assert_int_equal(acquire(&waiting, DEVICE_EXCLUSIVE, &cancelled), ERR_CANCELLED);
    assert_true(clock_ms_since(start_ns) < 2000);
    pthread_join(thread, NULL);
    device_lock_release(&inside);
}

static void *acquire_shared(void *unused)
{
    struct device_lock lock;
    (void)unused;
    assert_int_equal(acquire(&lock, DEVICE_SHARED, NULL), 0);
    device_lock_release(&lock);
    return NULL;
}

TEST(a_wait_names_the_process_that_has_the_lock)
{
    struct device_wait wait;
    int ready[2], done[2];
    char byte = 0;
    assert_int_equal(pipe(ready) | pipe(done), 0);
    pid_t holder = fork();
    if (holder == 0) {
        struct device_lock lock;
        acquire(&lock, DEVICE_EXCLUSIVE, NULL);
        _exit(write(ready[1], "x", 1) != 1 || read(done[0], &byte, 1) != 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_false(device_lock_wait_now(&wait));
    pthread_t thread;
    pthread_create(&thread, NULL, acquire_shared, NULL);
    while (!device_lock_wait_now(&wait))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(wait.pid, holder);
    assert_true(wait.seconds >= 1);
    assert_int_equal(write(done[1], "x", 1), 1);
    pthread_join(thread, NULL);
    assert_false(device_lock_wait_now(&wait));
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(done[i]);
    }
}

TEST(planted_files_are_refused)
{
    char *gate = support_text("%s/cpu.gate", directory);
    char *other = support_text("%s/other", directory);
    for (int kind = 0; kind < 3; kind++) {
        int made = kind == 0   ? symlink(other, gate)
                   : kind == 1 ? mkfifo(gate, 0600)
                               : mkdir(gate, 0700);
        assert_int_equal(made, 0);
        struct device_lock lock;
        struct err err = {0};
        assert_int_equal(device_lock_acquire(&lock, directory, "cpu", DEVICE_SHARED, NULL, &err),
                         ERR_IO);
        assert_non_null(strstr(err.text, "cpu.gate"));
        assert_int_equal(lock.held, -1);
        assert_false(file_exists(other));
        assert_int_equal(remove(gate), 0);
    }
    struct device_lock lock;
    struct err err = {0};
    assert_int_equal(device_lock_acquire(&lock, "/no/such/place", "cpu", DEVICE_SHARED, NULL, &err),
                     ERR_IO);
}
