#include "sandbox/sandboxed.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "sandbox/processor_time.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FREEZE_TIMEOUT_NS INT64_C(2000000000)
#define YIELD_NS INT64_C(10000)
#define AGAIN_NS 100000000 /* that one which was stopped before has to stop again */
#define LATE_NS INT64_C(1000000)
#define LONG_NS INT64_C(20000000)
#define RESISTED_NS INT64_C(1000000000)
#define FIRST_NICE (-20)
#define BACK_NICE 19
#define DYING_MS 10000     /* gigabytes take seconds to free */
#define STAT_FLAGS 9       /* a field of /proc/PID/stat */
#define FLAGS_ENDING 0x404 /* there: PF_EXITING, PF_SIGNALED */
#define END_GRACE_MS 1000  /* between a closed channel and the death behind it */

/* waitid's answer as waitpid would have given it. */
static int status_of(const siginfo_t *info)
{
    return info->si_code == CLD_EXITED ? (info->si_status & 0xff) << 8 : info->si_status & 0x7f;
}

static bool reap_process(struct sandboxed *process, int options)
{
    siginfo_t info = {0};
    int result;
    if (process->reaped || process->pid <= 0)
        return true;
    do
        result = waitid(P_PID, (id_t)process->pid, &info, WEXITED | options);
    while (result < 0 && errno == EINTR);
    if (result == 0 && info.si_pid == 0)
        return false;
    process->reaped = true;
    process->status = result == 0 ? status_of(&info) : 0;
    return true;
}

void sandboxed_mark_idle(struct sandboxed *process)
{
    process->idle_since_ns = processor_time_stopped_ns(process->pid);
}

/* Nothing but SIGCONT continues a stopped process, and its parent learns of it, once. */
static bool was_continued(const struct sandboxed *process)
{
    siginfo_t info = {0};
    return process->frozen && !process->reaped &&
           waitid(P_PID, (id_t)process->pid, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid != 0;
}

/* What a running thread has used since the last tick is not counted. So one that runs although it
 * should not is stopped before that is asked. */
static int64_t stop_again(const struct sandboxed *process)
{
    int64_t start_ns = clock_now_ns();
    siginfo_t info = {0};
    kill(process->pid, SIGSTOP);
    while (info.si_pid == 0 && clock_now_ns() - start_ns < AGAIN_NS &&
           waitid(P_PID, (id_t)process->pid, &info, WSTOPPED | WNOHANG) == 0)
        sched_yield();
    return processor_time_stopped_ns(process->pid);
}

int64_t sandboxed_ran_ns(const struct sandboxed *process)
{
    int64_t used_ns = was_continued(process) ? stop_again(process)
                                             : processor_time_ns(process->pid);
    bool known = used_ns >= 0 && process->idle_since_ns >= 0;
    return known ? used_ns - process->idle_since_ns : 0;
}

/* Of all its threads. */
static void set_niceness(const struct sandboxed *process, int niceness)
{
    (void)setpriority(PRIO_PGRP, (id_t)process->pid, niceness);
}

/* What one that is late to stop has computed since. A thread stops when it leaves the kernel: a
 * candidate that keeps many threads in long system calls has the device and the processors
 * meanwhile. An honest one's threads may be in such a call, but seldom. */
static int64_t resisted_ns(const struct sandboxed *process, int64_t used_ns)
{
    int64_t more_ns = processor_time_ns(process->pid) - used_ns - LONG_NS;
    return process->resisted_ns + (more_ns > 0 ? more_ns : 0);
}

int sandboxed_freeze(struct sandboxed *process, struct err *err)
{
    if (process->frozen)
        return 0;
    if (process->pid <= 0 || process->reaped || kill(process->pid, SIGSTOP) < 0)
        return err_set(err, ERR_CRASH, "the process is gone");
    int64_t start_ns = clock_now_ns();
    int64_t used_ns = 0;
    int niceness = 0;
    bool late = false;
    for (;;) {
        siginfo_t info = {0};
        /* WSTOPPED is reported when the last thread of the process has stopped. */
        if (waitid(P_PID, (id_t)process->pid, &info, WSTOPPED | WEXITED | WNOHANG) < 0 &&
            errno != EINTR)
            return err_sys(err, errno, "cannot wait for the process to stop");
        if (info.si_pid != 0 && info.si_code == CLD_STOPPED)
            break;
        if (info.si_pid != 0) {
            process->reaped = true;
            process->status = status_of(&info);
            return err_set(err, ERR_CRASH, "the process ended");
        }
        int64_t waited_ns = clock_now_ns() - start_ns;
        if (waited_ns > FREEZE_TIMEOUT_NS ||
            (late && resisted_ns(process, used_ns) > RESISTED_NS)) {
            kill(process->pid, SIGKILL);
            reap_process(process, 0);
            return err_set(err, ERR_TIMEOUT, "the process resisted being stopped");
        }
        /* The process may need this very processor: a few yields are the quickest way to hand it
         * over, and sleeping the sure one. */
        if (waited_ns < YIELD_NS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = waited_ns / 8}, NULL);
        if (waited_ns > LATE_NS && !late) { /* its threads stop as they get to run */
            late = true;
            used_ns = processor_time_ns(process->pid);
            niceness = getpriority(PRIO_PGRP, (id_t)process->pid);
            set_niceness(process, FIRST_NICE);
        }
    }
    process->frozen = true;
    if (late)
        process->resisted_ns = resisted_ns(process, used_ns);
    if (process->stands_back)
        niceness = getpriority(PRIO_PROCESS, 0);
    if (late || process->stands_back)
        set_niceness(process, niceness);
    process->stands_back = false;
    sandboxed_mark_idle(process);
    return 0;
}

void sandboxed_thaw(struct sandboxed *process)
{
    if (process->frozen && !process->reaped)
        kill(process->pid, SIGCONT);
    if (process->frozen)
        process->runs_since_ns = clock_now_ns();
    process->frozen = false;
}

/* Whether the caller may make a thread less nice: tried on its own. */
static bool may_take_back(void)
{
    int own = getpriority(PRIO_PROCESS, 0);
    return setpriority(PRIO_PROCESS, 0, own - 1) == 0 && setpriority(PRIO_PROCESS, 0, own) == 0;
}

void sandboxed_stand_back(struct sandboxed *process)
{
    if (!may_take_back())
        return;
    process->stands_back = true;
    set_niceness(process, BACK_NICE);
}

static int crashed(const struct sandboxed *process, struct err *err)
{
    char how[96];
    sandboxed_status_text(process, how, sizeof how);
    return err_set(err, ERR_CRASH, "the process %s", how);
}

/* Whether a signal is ending it. Its memory is gone before it can be reaped. */
static bool is_dying(const struct sandboxed *process)
{
    static const char *const sets[] = {"\nSigPnd:", "\nShdPnd:"};
    const uint64_t kill_bit = UINT64_C(1) << (SIGKILL - 1);
    char path[64], text[4096];
    if (sandboxed_stat(process->pid, STAT_FLAGS) & FLAGS_ENDING)
        return true;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process->pid);
    file_read_text(path, text, sizeof text);
    for (size_t i = 0; i < COUNT(sets); i++) {
        const char *at = strstr(text, sets[i]);
        if (at && (strtoull(at + strlen(sets[i]), NULL, 16) & kill_bit))
            return true;
    }
    return false;
}

/* Memory that cannot be read: the process lied about it, or is being killed. */
static int explain_unreadable(struct sandboxed *process, int error, struct err *err)
{
    struct pollfd wait = {.fd = process->pid_fd, .events = POLLIN};
    if (error == EPERM)
        return err_set(err, ERR_UNSUPPORTED,
                       "this machine does not let the judge read its own children's memory "
                       "(process_vm_readv); see warpgym doctor");
    if (!sandboxed_ended(process) && (error == ESRCH || is_dying(process)))
        (void)poll(&wait, 1, DYING_MS);
    if (!sandboxed_ended(process))
        return err_set(err, ERR_PROTOCOL, "an output lies at an address that cannot be read");
    return crashed(process, err);
}

int sandboxed_read(struct sandboxed *process, uint64_t address, void *into, size_t count,
                   struct err *err)
{
    size_t done = 0;
    while (done < count) {
        struct iovec local = {.iov_base = (char *)into + done, .iov_len = count - done};
        struct iovec remote = {.iov_base = (void *)(uintptr_t)(address + done),
                               .iov_len = count - done};
        ssize_t got = process_vm_readv(process->pid, &local, 1, &remote, 1, 0);
        if (got <= 0)
            return explain_unreadable(process, got < 0 ? errno : 0, err);
        done += (size_t)got;
    }
    return 0;
}

long sandboxed_stat(pid_t pid, int field)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file_read_text(path, text, sizeof text);
    char *at = strrchr(text, ')'); /* the name before it is the process's to choose */
    for (int passed = 2; at && passed < field; passed++)
        at = strchr(at + 1, ' ');
    return at ? strtol(at, NULL, 10) : -1;
}

bool sandboxed_ended(struct sandboxed *process)
{
    return reap_process(process, WNOHANG);
}

bool sandboxed_killed(const struct sandboxed *process)
{
    return process->reaped && WIFSIGNALED(process->status) && WTERMSIG(process->status) == SIGKILL;
}

void sandboxed_status_text(const struct sandboxed *process, char *text, size_t text_bytes)
{
    int signal = WTERMSIG(process->status);
    if (!process->reaped)
        snprintf(text, text_bytes, "is still running");
    else if (WIFEXITED(process->status))
        snprintf(text, text_bytes, "exited with status %d%s", WEXITSTATUS(process->status),
                 WEXITSTATUS(process->status) == 128 + SIGABRT ? " (abort)" : "");
    else if (sigabbrev_np(signal))
        snprintf(text, text_bytes, "was killed by SIG%s (%s)", sigabbrev_np(signal),
                 sigdescr_np(signal));
    else
        snprintf(text, text_bytes, "was killed by signal %d", signal); /* a real-time one */
}

int sandboxed_explain_end(struct sandboxed *process, struct err *err)
{
    struct pollfd wait = {.fd = process->pid_fd, .events = POLLIN};
    if (poll(&wait, 1, END_GRACE_MS) <= 0 || !sandboxed_ended(process))
        return err_set(err, ERR_PROTOCOL, "it closed its channel to the judge");
    return crashed(process, err);
}

void sandboxed_close(struct sandboxed *process)
{
    if (process->pid > 0 && !process->reaped) {
        kill(process->pid, SIGKILL); /* as init of its namespace it takes all others along */
        reap_process(process, 0);
    }
    if (process->pid > 0 && !(process->layers & (UINT32_C(1) << LAYER_PID))) {
        kill(-process->pid, SIGKILL); /* without one, its group is what there is to go by */
        while (waitpid(-process->pid, NULL, 0) > 0)
            ;
    }
    if (process->channel > 0)
        close(process->channel);
    if (process->pid_fd > 0)
        close(process->pid_fd);
    if (process->output > 0)
        close(process->output);
    process->output = 0;
    process->channel = process->pid_fd = -1;
    process->pid = 0;
}
