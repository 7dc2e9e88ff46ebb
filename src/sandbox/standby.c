#include "sandbox/standby.h"

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct standby {
    pthread_mutex_t lock; /* one request at a time */
    int control;
    pid_t pid;
    bool ready;
    int64_t ready_timeout_ms;
    int64_t ready_deadline_ns;
    char *name;
    char **argv, **environment; /* for another one, should this one be killed */
};

static char **copy_words(const char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    char **copy = mem_alloc((count + 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = mem_strdup(words[i]);
    return copy;
}

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        mem_free(words[i]);
    mem_free(words);
}

static int pair(int *ours, int *theirs, struct err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(err, errno, "cannot make a socket pair");
    *ours = ends[0];
    *theirs = ends[1];
    return 0;
}

static int start(struct standby *standby, int theirs, struct err *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs, SERVER_CONTROL_FD);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions,
                                         "/"); /* nothing is looked up in a user's folder */
    posix_spawn_file_actions_addclosefrom_np(&actions, SERVER_CONTROL_FD + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    /* A process group of its own, because a Ctrl-C at the terminal is the judge's to handle; not a
     * session, because the scheduler shares time between sessions first (autogroups, sched(7)), and
     * an idle-priority sentry of the judge's session would be another session's equal. */
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawn(&standby->pid, standby->name, &actions, &attributes, standby->argv,
                             standby->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return err_sys(err, failed, "%s: cannot start", standby->name);
    return 0;
}

/* A server, in place of none. */
static int launch(struct standby *standby, struct err *err)
{
    int theirs = -1;
    standby->ready = false;
    standby->ready_deadline_ns = clock_now_ns() + standby->ready_timeout_ms * 1000000;
    int result = pair(&standby->control, &theirs, err);
    if (result == 0)
        result = start(standby, theirs, err);
    if (theirs >= 0)
        close(theirs);
    return result;
}

static void dismiss(struct standby *standby)
{
    if (standby->control >= 0)
        close(standby->control);
    if (standby->pid > 0) {
        kill(standby->pid, SIGKILL);
        while (waitpid(standby->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    standby->control = -1;
    standby->pid = 0;
}

/* Whether a server that had been ready has ended: killed by somebody, or for its memory. */
static bool has_ended(const struct standby *standby)
{
    struct pollfd hangup = {.fd = standby->control};
    return standby->control < 0 ||
           (standby->ready && poll(&hangup, 1, 0) > 0 && (hangup.revents & POLLHUP));
}

int standby_open(struct standby **standby, const char *const *argv, const char *const *environment,
                 int64_t ready_timeout_ms, struct err *err)
{
    struct standby *made = mem_alloc(sizeof *made);
    *made = (struct standby){.control = -1,
                             .ready_timeout_ms = ready_timeout_ms,
                             .name = mem_strdup(argv[0]),
                             .argv = copy_words(argv),
                             .environment = copy_words(environment)};
    pthread_mutex_init(&made->lock, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int result = launch(made, err);
    if (result < 0) {
        standby_close(made);
        return result;
    }
    *standby = made;
    return 0;
}

void standby_close(struct standby *standby)
{
    if (!standby)
        return;
    dismiss(standby);
    pthread_mutex_destroy(&standby->lock);
    free_words(standby->argv);
    free_words(standby->environment);
    mem_free(standby->name);
    mem_free(standby);
}

/* One 32-bit answer of the server. */
static int answer(struct standby *standby, int64_t deadline_ns, int32_t *code, struct err *err)
{
    struct pollfd wait = {.fd = standby->control, .events = POLLIN};
    for (;;) {
        int ready = poll(&wait, 1, clock_left_ms(deadline_ns));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return err_set(err, ERR_TIMEOUT, "%s: the standby process did not answer in time",
                           standby->name);
        ssize_t got = recv(standby->control, code, sizeof *code, 0);
        if (got == (ssize_t)sizeof *code)
            return 0;
        return err_set(err, ERR_CRASH,
                       standby->ready ? "%s: the standby process has ended"
                                      : "%s: the standby process ended before it was ready; run "
                                        "it by hand to see why",
                       standby->name);
    }
}

static int ready_locked(struct standby *standby, struct err *err)
{
    int32_t code;
    int result = 0;
    if (has_ended(standby)) {
        dismiss(standby);
        result = launch(standby, err);
    }
    if (standby->ready || result < 0)
        return result;
    result = answer(standby, standby->ready_deadline_ns, &code, err);
    standby->ready = result == 0;
    return result;
}

int standby_ready(struct standby *standby, struct err *err)
{
    pthread_mutex_lock(&standby->lock);
    int result = ready_locked(standby, err);
    pthread_mutex_unlock(&standby->lock);
    return result;
}

static int request(struct standby *standby, const struct box *box, int channel, struct err *err)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } ancillary = {0};
    struct iovec vector = {.iov_base = (void *)(uintptr_t)box, .iov_len = sizeof *box};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = ancillary.bytes,
                             .msg_controllen = sizeof ancillary.bytes};
    ancillary.header.cmsg_level = SOL_SOCKET;
    ancillary.header.cmsg_type = SCM_RIGHTS;
    ancillary.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&ancillary.header), &channel, sizeof channel);
    ssize_t sent = sendmsg(standby->control, &message, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
        return err_set(err, ERR_CRASH, "%s: the standby process has ended", standby->name);
    if (sent != (ssize_t)sizeof *box)
        return err_sys(err, errno, "%s: cannot ask the standby process", standby->name);
    return 0;
}

/* The hello, and with it the pid as this process's namespace numbers it. */
static int greet(struct boxed *boxed, int64_t deadline_ns, struct err *err)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } ancillary;
    struct server_hello hello;
    struct ucred sender;
    struct iovec vector = {.iov_base = &hello, .iov_len = sizeof hello};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = ancillary.bytes,
                             .msg_controllen = sizeof ancillary.bytes};
    struct pollfd wait = {.fd = boxed->channel, .events = POLLIN};
    int ready;
    do
        ready = poll(&wait, 1, clock_left_ms(deadline_ns));
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return err_set(err, ERR_TIMEOUT, "a boxed process did not get ready in time");
    if (recvmsg(boxed->channel, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof hello)
        return err_set(err, ERR_CRASH, "a boxed process ended before it was ready");
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_type != SCM_CREDENTIALS)
        return err_set(err, ERR_PROTOCOL, "a boxed process did not say who it is");
    memcpy(&sender, CMSG_DATA(header), sizeof sender);
    boxed->pid = sender.pid;
    boxed->layers = hello.layers;
    hello.text[sizeof hello.text - 1] = '\0';
    if (hello.code < 0)
        return err_set(err, hello.code, "cannot enter the sandbox: %s", hello.text);
    boxed->pid_fd = (int)syscall(SYS_pidfd_open, boxed->pid, 0);
    if (boxed->pid_fd < 0)
        return err_sys(err, errno, "cannot watch the boxed process %d", (int)boxed->pid);
    return 0;
}

int standby_spawn(struct standby *standby, const struct box *box, int64_t timeout_ms,
                  struct boxed *boxed, struct err *err)
{
    int theirs = -1;
    int on = 1;
    int32_t code = 0;
    *boxed = (struct boxed){.channel = -1, .pid_fd = -1};
    pthread_mutex_lock(&standby->lock);
    int result = ready_locked(standby, err);
    int64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    if (result == 0)
        result = pair(&boxed->channel, &theirs, err);
    if (result == 0 && setsockopt(boxed->channel, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
        result = err_sys(err, errno, "cannot ask for credentials");
    if (result == 0)
        result = request(standby, box, theirs, err);
    if (theirs >= 0)
        close(theirs);
    if (result == 0)
        result = answer(standby, deadline_ns, &code, err);
    pthread_mutex_unlock(&standby->lock);
    if (result == 0 && code < 0)
        result = err_set(err, ERR_IO, "%s: the standby process could not fork", standby->name);
    if (result == 0 && send(boxed->channel, "", 1, MSG_NOSIGNAL) != 1)
        result = err_sys(err, errno, "cannot speak to the boxed process");
    if (result == 0)
        result = greet(boxed, deadline_ns, err);
    on = 0; /* later messages are anonymous: less to parse */
    if (result == 0)
        setsockopt(boxed->channel, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    if (result < 0)
        boxed_close(boxed);
    return result;
}
