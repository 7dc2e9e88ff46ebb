#include "sandbox/standby.h"

#include "base/clock.h"
#include "base/fd_message.h"
#include "base/mem.h"
#include "base/pidfd.h"
#include "sandbox/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 100 /* between two looks at *cancelled */

struct standby {
    pthread_mutex_t lock; /* one request at a time */
    int control;
    pid_t pid;
    _Atomic bool ready;
    bool ended_early; /* before it was ready */
    int64_t start_timeout_ms;
    int64_t start_deadline_ns;
    char *name;
    char **argv, **environment; /* for another one, should this one be killed */
    const _Atomic int *cancelled;
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

static int start_server(struct standby *standby, int theirs, struct err *err)
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
     * a nice compiler of another session would be a child's equal. */
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
static int launch_server(struct standby *standby, struct err *err)
{
    int theirs = -1;
    standby->ready = standby->ended_early = false;
    standby->start_deadline_ns = clock_now_ns() + standby->start_timeout_ms * 1000000;
    int result = fd_message_pair(&standby->control, &theirs, err);
    if (result == 0)
        result = start_server(standby, theirs, err);
    if (theirs >= 0)
        close(theirs);
    return result;
}

static void dismiss_process(struct standby *standby)
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

/* Whether a server that had been ready has ended: killed, perhaps for its memory. */
static bool has_ended(const struct standby *standby)
{
    struct pollfd hangup = {.fd = standby->control};
    return standby->control < 0 ||
           (standby->ready && poll(&hangup, 1, 0) > 0 && (hangup.revents & POLLHUP));
}

int standby_open(struct standby **standby, const char *const *argv, const char *const *environment,
                 int64_t start_timeout_ms, const _Atomic int *cancelled, struct err *err)
{
    struct standby *made = mem_alloc(sizeof *made);
    *made = (struct standby){.control = -1,
                             .start_timeout_ms = start_timeout_ms,
                             .cancelled = cancelled,
                             .name = mem_strdup(argv[0]),
                             .argv = copy_words(argv),
                             .environment = copy_words(environment)};
    pthread_mutex_init(&made->lock, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int result = launch_server(made, err);
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
    dismiss_process(standby);
    pthread_mutex_destroy(&standby->lock);
    free_words(standby->argv);
    free_words(standby->environment);
    mem_free(standby->name);
    mem_free(standby);
}

/* Until there is something to read, or the end of it. `cancelled` may be NULL. */
static int await_answer(const struct standby *standby, int socket, int64_t deadline_ns,
                        const _Atomic int *cancelled, struct err *err)
{
    struct pollfd wait = {.fd = socket, .events = POLLIN};
    for (;;) {
        int left_ms = clock_left_ms(deadline_ns);
        int ready = poll(&wait, 1, left_ms < WAIT_MS ? left_ms : WAIT_MS);
        if (ready > 0)
            return 0;
        if (cancelled && *cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (left_ms == 0)
            return err_set(err, ERR_TIMEOUT, "%s: the standby server did not answer in time",
                           standby->name);
    }
}

static int say_ended(const struct standby *standby, struct err *err)
{
    return err_set(err, ERR_CRASH,
                   standby->ready ? "%s: the standby server has ended"
                                  : "%s: the standby server ended before it was ready; run it by "
                                    "hand to see why",
                   standby->name);
}

/* One 32-bit answer of the server. */
static int take_answer(struct standby *standby, int64_t deadline_ns, const _Atomic int *cancelled,
                       int32_t *code, struct err *err)
{
    int result = await_answer(standby, standby->control, deadline_ns, cancelled, err);
    if (result < 0)
        return result;
    if (recv(standby->control, code, sizeof *code, 0) == (ssize_t)sizeof *code)
        return 0;
    return say_ended(standby, err);
}

/* One that ended while it loaded may have been killed, for its memory, or never will load, and then
 * not every call is to wait for that again: another is started once its time to load is over. */
static int await_start_locked(struct standby *standby, struct err *err)
{
    int32_t code;
    int result = 0;
    if (standby->ended_early && clock_left_ms(standby->start_deadline_ns) > 0)
        return say_ended(standby, err);
    if (has_ended(standby)) {
        dismiss_process(standby);
        result = launch_server(standby, err);
    }
    if (standby->ready || result < 0)
        return result;
    result = take_answer(standby, standby->start_deadline_ns, standby->cancelled, &code, err);
    standby->ready = result == 0;
    standby->ended_early = result == ERR_CRASH;
    if (standby->ended_early)
        dismiss_process(standby);
    return result;
}

enum standby_state standby_look(struct standby *standby)
{
    enum standby_state state = standby->ready ? STANDBY_READY : STANDBY_LOADING;
    char byte;
    if (pthread_mutex_trylock(&standby->lock) != 0)
        return state; /* another thread waits for it, or has just sent a request */
    if (standby->control < 0 || has_ended(standby))
        state = STANDBY_ENDED;
    else if (!standby->ready) /* its answer lies there until it is needed */
        state = recv(standby->control, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0 ? STANDBY_READY
                                                                              : STANDBY_LOADING;
    pthread_mutex_unlock(&standby->lock);
    return state;
}

int standby_ready(struct standby *standby, struct err *err)
{
    pthread_mutex_lock(&standby->lock);
    int result = await_start_locked(standby, err);
    pthread_mutex_unlock(&standby->lock);
    return result;
}

/* What A said of B, which is this process's child by now: A has ended. */
static int identify_process(struct sandboxed *process, struct err *err)
{
    int32_t pid = 0;
    if (recv(process->channel, &pid, sizeof pid, MSG_DONTWAIT) != (ssize_t)sizeof pid || pid <= 0)
        return err_set(err, ERR_PROTOCOL,
                       "the standby server did not say which process is sandboxed");
    process->pid = pid;
    process->runs_since_ns = clock_now_ns();
    process->pid_fd = pidfd_of(process->pid);
    if (process->pid_fd < 0)
        return err_sys(err, errno, "cannot watch the sandboxed process %d", (int)process->pid);
    return 0;
}

static int greet_server(const struct standby *standby, struct sandboxed *process,
                        int64_t deadline_ns, struct err *err)
{
    struct server_hello hello;
    if (send(process->channel, "", 1, MSG_NOSIGNAL) != 1)
        return err_sys(err, errno, "cannot speak to the sandboxed process");
    int result = await_answer(standby, process->channel, deadline_ns, standby->cancelled, err);
    if (result < 0)
        return err_set(err, result, "a sandboxed process did not get ready in time");
    if (fd_message_receive(process->channel, &hello, sizeof hello, &process->output, 1, err) !=
        (ssize_t)sizeof hello)
        return err_set(err, ERR_CRASH, "a sandboxed process ended before it was ready");
    process->layers = hello.layers;
    hello.text[sizeof hello.text - 1] = '\0';
    if (hello.code < 0)
        return err_set(err, hello.code, "cannot enter the sandbox: %s", hello.text);
    return 0;
}

/* Has the server fork; `theirs` is the sandboxed process's end of its channel. The answer is waited
 * for to the end, or the next request would take it for its own; a server that gives none is
 * ended. */
static int send_request(struct standby *standby, const struct sandbox *sandbox, int theirs,
                        int64_t deadline_ns, struct err *err)
{
    int32_t code = 0;
    int result = fd_message_send(standby->control, sandbox, sizeof *sandbox, &theirs, 1, err);
    if (result == ERR_CRASH)
        return err_set(err, ERR_CRASH, "%s: the standby server has ended", standby->name);
    if (result == 0) {
        result = take_answer(standby, deadline_ns, NULL, &code, err);
        if (result < 0)
            dismiss_process(standby);
    }
    if (result == 0 && code < 0)
        result = err_set(err, ERR_IO, "%s: the standby server could not fork", standby->name);
    return result;
}

int standby_spawn(struct standby *standby, const struct sandbox *sandbox, int64_t timeout_ms,
                  struct sandboxed *process, struct err *err)
{
    int theirs = -1;
    *process = (struct sandboxed){.channel = -1, .pid_fd = -1};
    pthread_mutex_lock(&standby->lock);
    int result = await_start_locked(standby, err);
    int64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    if (result == 0)
        result = fd_message_pair(&process->channel, &theirs, err);
    if (result == 0)
        result = send_request(standby, sandbox, theirs, deadline_ns, err);
    if (theirs >= 0)
        close(theirs);
    pthread_mutex_unlock(&standby->lock);
    if (result == 0)
        result = identify_process(process, err);
    if (result == 0)
        result = greet_server(standby, process, deadline_ns, err);
    if (result < 0)
        sandboxed_close(process);
    return result;
}
