#include "base/process.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Poll interval for the end of a command where a filter forbids pidfds. */
#define TICK_MS 5
/* What is read after the command's end: more than a pipe holds, so all that it wrote. A descendant
 * that left the session and writes on cannot keep us here. */
#define DRAIN_BYTES ((size_t)4 << 20)

void outcome_init(struct outcome *outcome, size_t max_output_bytes)
{
    *outcome = (struct outcome){.exit_code = -1};
    buf_init(&outcome->output, max_output_bytes);
}

void outcome_deinit(struct outcome *outcome)
{
    buf_deinit(&outcome->output);
}

/* A pipe above the standard descriptors, so that dup2 onto those never meets itself. */
static int pipe_open(int ends[2], struct err *err)
{
    int low[2];
    if (pipe2(low, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    ends[0] = fcntl(low[0], F_DUPFD_CLOEXEC, 3);
    ends[1] = ends[0] < 0 ? -1 : fcntl(low[1], F_DUPFD_CLOEXEC, 3);
    int saved = errno;
    close(low[0]);
    close(low[1]);
    if (ends[1] >= 0)
        return 0;
    if (ends[0] >= 0)
        close(ends[0]);
    return err_sys(err, saved, "cannot make a pipe");
}

/* What went wrong between fork and exec, sent through a pipe that a successful exec closes. */
struct failure {
    int errno_value;
    enum { AT_SESSION, AT_OUTPUT, AT_DESCRIPTORS, AT_LIMITS, AT_DIRECTORY, AT_EXEC } at;
};

static int child_limit(int resource, uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return -1;
    if (limit.rlim_max == RLIM_INFINITY || bytes < limit.rlim_max)
        limit.rlim_max = bytes;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit);
}

/* Everything from 3 on closes at exec; `failure` has to stay open until then. */
static int child_descriptors(void)
{
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return 0;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -1;
    for (int fd = 3; (rlim_t)fd < limit.rlim_cur; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

static int child_output(int output)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        return -1;
    return dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0 ? -1 : 0;
}

/* Between fork and exec, in a copy of a process whose other threads may have held any lock: system
 * calls only (signal-safety(7)). */
static _Noreturn void child_run(const struct command *command, int output, int failure_fd,
                                pid_t parent)
{
    static char *const nothing[] = {NULL};
    char *const *environment = nothing;
    struct failure failure = {.at = AT_SESSION};
    if (command->environment)
        environment = (char *const *)command->environment;
    /* Ignored signals stay ignored through exec. */
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || setsid() < 0)
        goto failed;
    failure.at = AT_OUTPUT;
    if (child_output(output) < 0)
        goto failed;
    failure.at = AT_DESCRIPTORS;
    if (child_descriptors() < 0)
        goto failed;
    failure.at = AT_DIRECTORY;
    if (command->directory && chdir(command->directory) < 0)
        goto failed;
    failure.at = AT_LIMITS;
    if (child_limit(RLIMIT_CORE, 0) < 0 ||
        (command->file_bytes && child_limit(RLIMIT_FSIZE, command->file_bytes) < 0) ||
        (command->memory_bytes && child_limit(RLIMIT_AS, command->memory_bytes) < 0))
        goto failed;
    failure.at = AT_EXEC;
    execve(command->argv[0], (char *const *)command->argv, environment);
failed:
    failure.errno_value = errno;
    while (write(failure_fd, &failure, sizeof failure) < 0 && errno == EINTR)
        continue;
    _exit(127);
}

static int failure_report(const struct command *command, const struct failure *failure,
                          struct err *err)
{
    static const char *const steps[] = {
        [AT_SESSION] = "start a session",
        [AT_OUTPUT] = "connect its output",
        [AT_DESCRIPTORS] = "close descriptors",
        [AT_LIMITS] = "set its resource limits",
    };
    int number = failure->errno_value;
    if (failure->at == AT_DIRECTORY)
        return err_sys(err, number, "%s: cannot enter the directory", command->directory);
    if (failure->at == AT_EXEC && (number == ENOENT || number == ENOTDIR))
        return err_set(err, ERR_MISSING, "%s: no such program, or its interpreter is missing",
                       command->argv[0]);
    if (failure->at == AT_EXEC)
        return err_sys(err, number, "%s: cannot run", command->argv[0]);
    return err_sys(err, number, "%s: cannot %s", command->argv[0], steps[failure->at]);
}

static void reap(pid_t pid, siginfo_t *info)
{
    *info = (siginfo_t){0};
    while (waitid(P_PID, (id_t)pid, info, WEXITED) < 0 && errno == EINTR)
        continue;
}

/* The child runs its program, or is gone and `err` says why. */
static int child_started(pid_t pid, int failure_fd, const struct command *command, struct err *err)
{
    struct failure failure;
    ssize_t got;
    while ((got = read(failure_fd, &failure, sizeof failure)) < 0 && errno == EINTR)
        continue;
    if (got != (ssize_t)sizeof failure)
        return 0;
    siginfo_t info;
    reap(pid, &info);
    return failure_report(command, &failure, err);
}

/* Starts the command; *output_fd is the reading end of its output. Returns its pid or a code. */
static pid_t command_start(const struct command *command, int *output_fd, struct err *err)
{
    int output[2] = {-1, -1}, failure[2] = {-1, -1};
    int result = pipe_open(output, err);
    if (result < 0)
        return result;
    result = pipe_open(failure, err);
    if (result < 0) {
        close(output[0]);
        close(output[1]);
        return result;
    }
    /* No handler of ours may run in the child. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        child_run(command, output[1], failure[1], parent);
    int saved = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(output[1]);
    close(failure[1]);
    result = pid < 0 ? err_sys(err, saved, "%s: cannot fork", command->argv[0])
                     : child_started(pid, failure[0], command, err);
    close(failure[0]);
    if (result < 0) {
        close(output[0]);
        return result;
    }
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    *output_fd = output[0];
    return pid;
}

/* Reads what is there, up to `max_bytes`; false at end of file. */
static bool drain(int fd, size_t max_bytes, struct buf *output)
{
    char bytes[16384];
    for (size_t total = 0; total < max_bytes;) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN;
        if (got == 0)
            return false;
        buf_append(output, bytes, (size_t)got);
        total += (size_t)got;
    }
    return true;
}

static bool ended(pid_t pid)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return errno != EINTR;
    return info.si_pid == pid;
}

/* Collects output until the command ends or the deadline passes; true: it ended. */
static bool watch(pid_t pid, int output_fd, int64_t deadline_ns, struct buf *output)
{
    int pidfd = pidfd_of(pid);
    bool end = false;
    bool open = true;
    while (!(end = ended(pid))) {
        int left_ms = deadline_ns == INT64_MAX ? -1 : clock_left_ms(deadline_ns);
        if (left_ms == 0)
            break;
        if (pidfd < 0 && (left_ms < 0 || left_ms > TICK_MS))
            left_ms = TICK_MS;
        struct pollfd watched[2] = {
            {.fd = open ? output_fd : -1, .events = POLLIN},
            {.fd = pidfd, .events = POLLIN},
        };
        if (poll(watched, 2, left_ms) > 0 && watched[0].revents)
            open = drain(output_fd, 1 << 16, output);
    }
    if (pidfd >= 0)
        close(pidfd);
    return end;
}

static int64_t deadline_of(int64_t start_ns, int64_t timeout_ms)
{
    if (timeout_ms <= 0 || timeout_ms > (INT64_MAX - start_ns) / 1000000)
        return INT64_MAX;
    return start_ns + timeout_ms * 1000000;
}

static int run_plainly(struct runner *self, const struct command *command, struct outcome *outcome,
                       struct err *err)
{
    if (command->resident)
        return err_set(err, ERR_UNSUPPORTED, "%s: no program", command->argv[0]);
    int64_t start_ns = clock_now_ns();
    int output_fd = -1;
    pid_t pid = command_start(command, &output_fd, err);
    if (pid < 0)
        return pid;
    bool end = watch(pid, output_fd, deadline_of(start_ns, command->timeout_ms), &outcome->output);
    outcome->elapsed_ms = clock_ms_since(start_ns);
    outcome->timed_out = !end;
    /* Kills the whole session before the leader is reaped and its pid can be reused. */
    kill(-pid, SIGKILL);
    siginfo_t info;
    reap(pid, &info);
    drain(output_fd, DRAIN_BYTES, &outcome->output);
    close(output_fd);
    if (info.si_pid != pid)
        return err_set(err, ERR_INTERNAL, "%s: another part of this process took its exit status",
                       command->argv[0]);
    bool exited = info.si_code == CLD_EXITED;
    outcome->exit_code = exited ? info.si_status : -1;
    outcome->signal = exited ? 0 : info.si_status;
    return 0;
}

struct runner process_runner = {.run = run_plainly};

static bool is_program(const char *path)
{
    struct stat stat_buffer;
    return stat(path, &stat_buffer) == 0 && S_ISREG(stat_buffer.st_mode) && access(path, X_OK) == 0;
}

static char *find_in(const char *at, const char *name, bool (*fits)(const char *path))
{
    for (;; at++) {
        size_t length = strcspn(at, ":");
        /* Relative entries would make the result depend on the working directory. */
        if (*at == '/') {
            char *path = mem_printf("%.*s/%s", (int)length, at, name);
            if (is_program(path) && (!fits || fits(path)))
                return path;
            mem_free(path);
        }
        at += length;
        if (*at == '\0')
            return NULL;
    }
}

char *process_find(const char *name)
{
    if (*name == '/')
        return is_program(name) ? mem_strdup(name) : NULL;
    if (strchr(name, '/')) {
        char *here = is_program(name) ? getcwd(NULL, 0) : NULL;
        char *path = here ? mem_printf("%s/%s", here, name) : NULL;
        mem_free(here);
        return path;
    }
    return process_find_fitting(name, NULL);
}

char *process_find_fitting(const char *name, bool (*fits)(const char *path))
{
    const char *search = getenv("PATH");
    char *path = search && *name ? find_in(search, name, fits) : NULL;
    return path || !*name ? path : find_in("/usr/local/bin:/usr/bin:/bin", name, fits);
}
