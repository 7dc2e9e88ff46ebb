#include "device/lock.h"

#include "base/clock.h"
#include "device/lock_holder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BACKOFF_MIN_NS 200000
#define BACKOFF_MAX_NS 2000000
#define QUIET_NS 10000000
/* When a waiter first looks for whom it waits, and how often then. */
#define LOOK_FIRST_NS 1000000000
#define LOOK_AGAIN_NS 1000000000

/* Opens for reading only, which is all that flock(2) asks for, so that a file of another user will
 * do. O_CREAT is left for when the file is missing: fs.protected_regular forbids it for files of
 * others in a sticky directory. O_NONBLOCK: another user may have planted a FIFO there. */
static int lock_file(const char *directory, const char *device, const char *part, struct err *err)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s.%s", directory, device, part);
    if (length < 0 || (size_t)length >= sizeof path)
        return err_set(err, ERR_LIMIT, "%s: the path of the device lock is too long", directory);
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = open(path, flags);
    if (fd < 0 && errno == ENOENT) {
        fd = open(path, flags | O_CREAT | O_EXCL, 0644);
        if (fd >= 0)
            fchmod(fd, 0644); /* whatever the umask says: others must be able to lock it */
        else if (errno == EEXIST)
            fd = open(path, flags);
    }
    if (fd < 0)
        return err_sys(err, errno, "%s: cannot open the device lock", path);
    struct stat stat_buffer;
    if (fstat(fd, &stat_buffer) < 0 || !S_ISREG(stat_buffer.st_mode)) {
        close(fd);
        return err_set(err, ERR_IO, "%s: the device lock is not a regular file; remove it", path);
    }
    return fd;
}

/* Jitter keeps waiters from polling in step; any value will do, so the clock's low bits serve. */
static void back_off(int64_t *pause_ns)
{
    int64_t jitter = clock_now_ns() / 64 % (*pause_ns / 2 + 1);
    struct timespec pause = {.tv_nsec = *pause_ns / 2 + jitter};
    nanosleep(&pause, NULL);
    *pause_ns = *pause_ns * 3 / 2 < BACKOFF_MAX_NS ? *pause_ns * 3 / 2 : BACKOFF_MAX_NS;
}

/* The wait of one thread, for device_lock_wait_now; pid 0: none. */
static _Atomic pid_t waited_pid;
static _Atomic int64_t waited_since_ns;

/* The process that has the device: at the gate, too, where the one in front only waits. A wait for
 * another thread of ours is none: lock_holder. */
static void look_at_holder(const struct device_lock *lock, int64_t since_ns, int64_t *next_ns)
{
    int64_t now_ns = clock_now_ns();
    if (now_ns < *next_ns)
        return;
    *next_ns = now_ns + LOOK_AGAIN_NS;
    pid_t pid = lock_holder(lock->held);
    atomic_store(&waited_since_ns, since_ns);
    atomic_store(&waited_pid, pid > 0 ? pid : lock_holder(lock->gate));
}

bool device_lock_wait_now(struct device_wait *wait)
{
    wait->pid = atomic_load(&waited_pid);
    wait->seconds = (double)(clock_now_ns() - atomic_load(&waited_since_ns)) * 1e-9;
    return wait->pid > 0;
}

/* For one of the lock's two files. */
static int lock_wait(const struct device_lock *lock, int fd, const char *device,
                     const _Atomic int *cancelled, struct err *err)
{
    int operation = lock->mode == DEVICE_EXCLUSIVE ? LOCK_EX : LOCK_SH;
    int64_t pause_ns = BACKOFF_MIN_NS;
    int64_t since_ns = clock_now_ns(), next_ns = since_ns + LOOK_FIRST_NS;
    int result = 0;
    while (result == 0 && flock(fd, operation | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            result = err_sys(err, errno, "cannot lock device %s", device);
        else if (cancelled && atomic_load(cancelled))
            result = err_set(err, ERR_CANCELLED, "cancelled while waiting for device %s", device);
        look_at_holder(lock, since_ns, &next_ns);
        back_off(&pause_ns);
    }
    if (clock_now_ns() >= since_ns + LOOK_FIRST_NS)
        atomic_store(&waited_pid, 0);
    return result;
}

/* A child of ours between fork and exec may hold copies of a descriptor: closing ours alone would
 * leave the lock with it. */
static void unlock(int fd)
{
    if (fd < 0)
        return;
    flock(fd, LOCK_UN);
    close(fd);
}

/* Through the gate to the lock, whose files are open. After a failure they are closed. */
static int enter(struct device_lock *lock, const char *device, const _Atomic int *cancelled,
                 struct err *err)
{
    int64_t start_ns = clock_now_ns();
    int result = lock_wait(lock, lock->gate, device, cancelled, err);
    if (result == 0)
        result = lock_wait(lock, lock->held, device, cancelled, err);
    flock(lock->gate, LOCK_UN);
    lock->waited_ms += clock_ms_since(start_ns);
    if (result < 0)
        device_lock_release(lock);
    return result;
}

int device_lock_acquire(struct device_lock *lock, const char *directory, const char *device,
                        enum device_lock_mode mode, const _Atomic int *cancelled, struct err *err)
{
    *lock = DEVICE_LOCK_NONE;
    lock->mode = mode;
    lock->gate = lock_file(directory, device, "gate", err);
    if (lock->gate < 0)
        return lock->gate;
    lock->held = lock_file(directory, device, "lock", err);
    if (lock->held < 0) {
        int result = lock->held;
        unlock(lock->gate);
        *lock = DEVICE_LOCK_NONE;
        return result;
    }
    return enter(lock, device, cancelled, err);
}

/* Whether others have one of the files: for a shared user, others that want the device alone. */
static bool is_taken(int fd, enum device_lock_mode mode)
{
    int operation = mode == DEVICE_EXCLUSIVE ? LOCK_EX : LOCK_SH;
    if (flock(fd, operation | LOCK_NB) < 0)
        return errno == EWOULDBLOCK;
    flock(fd, LOCK_UN);
    return false;
}

bool device_lock_wanted(const struct device_lock *lock)
{
    return lock->held >= 0 && is_taken(lock->gate, lock->mode);
}

/* Without the lock. What a user does on a device is seldom done with one lock: a moment without
 * one is no end. */
static void stand_back(const struct device_lock *lock, double most_ms, const _Atomic int *cancelled)
{
    const struct timespec look = {.tv_nsec = BACKOFF_MIN_NS};
    int64_t start_ns = clock_now_ns();
    int64_t taken_ns = start_ns;
    while (clock_ms_since(start_ns) < most_ms && clock_now_ns() - taken_ns < QUIET_NS &&
           !(cancelled && atomic_load(cancelled))) {
        nanosleep(&look, NULL);
        if (is_taken(lock->gate, lock->mode) || is_taken(lock->held, lock->mode))
            taken_ns = clock_now_ns();
    }
}

int device_lock_pass(struct device_lock *lock, const char *device, double back_ms,
                     const _Atomic int *cancelled, struct err *err)
{
    int64_t start_ns = clock_now_ns();
    flock(lock->held, LOCK_UN);
    stand_back(lock, back_ms, cancelled);
    lock->waited_ms += clock_ms_since(start_ns);
    return enter(lock, device, cancelled, err);
}

void device_lock_release(struct device_lock *lock)
{
    unlock(lock->held);
    unlock(lock->gate);
    lock->held = lock->gate = -1;
}
