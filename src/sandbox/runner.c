#include "sandbox/runner.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/fd_message.h"
#include "base/mem.h"
#include "sandbox/exec_message.h"
#include "sandbox/processor_time.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPAWN_TIMEOUT_MS 10000
#define LOOK_MS 100 /* whether it is cancelled */
#define TURN_LOOK_MS 3
#define SHORT_NICE 10 /* it can wait for a call that is timed on a GPU meanwhile, which is short */
#define LONG_MS 1000  /* of a command: from then on it gets what processor time others leave */
#define LONG_NICE 19
#define SHARE_LOOK_NS INT64_C(1000000000) /* what others left of the processors */
#define WITHHELD_NS INT64_C(120000000000) /* by which a busy machine moves a deadline, at most */

static void describe_sandbox(const struct sandbox_runner *self, const struct command *command,
                             struct sandbox *sandbox)
{
    sandbox_init(sandbox, command->resident ? SANDBOX_NATIVE : SANDBOX_BUILD);
    sandbox->forbid = self->forbid;
    sandbox->memory_bytes = command->memory_bytes;
    sandbox->scratch_bytes = command->file_bytes ? command->file_bytes : UINT64_C(1) << 30;
    sandbox->cpu_seconds = (uint64_t)(command->timeout_ms / 1000 + 2);
    static const char *const loader[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64"};
    for (size_t i = 0; !self->runner.own_root && i < COUNT(loader); i++)
        sandbox_allow(sandbox, loader[i]); /* the C library that a bundled compiler runs on */
    if (self->toolchain_root && !self->runner.own_root)
        sandbox_allow(sandbox, self->toolchain_root);
    else if (self->toolchain_root && strlen(self->toolchain_root) < sizeof sandbox->root)
        memcpy(sandbox->root, self->toolchain_root, strlen(self->toolchain_root) + 1);
    if (strlen(command->directory) < sizeof sandbox->scratch)
        memcpy(sandbox->scratch, command->directory, strlen(command->directory) + 1);
    for (const char *const *path = command->readable; path && *path; path++)
        sandbox_allow(sandbox, *path);
}

/* A command's time, of which only what it had of the processors counts. */
struct command_clock {
    int64_t deadline_ns, looked_ns, withheld_ns;
    int64_t idle_ns;          /* processor_time_withheld */
    struct processor_use use; /* when it was looked at */
};

static struct command_clock start_clock(int64_t timeout_ms)
{
    int64_t now_ns = clock_now_ns();
    return (struct command_clock){.deadline_ns = now_ns + timeout_ms * 1000000,
                                  .looked_ns = now_ns};
}

/* While the machine is busy, the deadline moves by what others kept from the command. */
static void look_at_share(struct command_clock *clock, pid_t pid, int64_t now_ns)
{
    const struct processor_use use = processor_time_tree(pid);
    int64_t more_ns = processor_time_withheld(clock->use, use, now_ns - clock->looked_ns,
                                              &clock->idle_ns);
    if (more_ns > WITHHELD_NS - clock->withheld_ns)
        more_ns = WITHHELD_NS - clock->withheld_ns;
    clock->withheld_ns += more_ns;
    clock->deadline_ns += more_ns;
    clock->looked_ns = now_ns;
    clock->use = use;
}

static bool is_over(struct command_clock *clock, pid_t pid)
{
    int64_t now_ns = clock_now_ns();
    if (now_ns >= clock->deadline_ns || now_ns - clock->looked_ns >= SHARE_LOOK_NS)
        look_at_share(clock, pid, now_ns);
    return now_ns >= clock->deadline_ns;
}

/* What the command started is in its process group. The command itself comes first: one that is
 * between vfork and its child's exec stops only after that. */
static int let_others_in(struct device_turn *turn, struct sandboxed *process,
                         struct command_clock *clock, struct err *err)
{
    int64_t start_ns = clock_now_ns();
    if (sandboxed_freeze(process, err) < 0) /* it has ended */
        return 0;
    kill(-process->pid, SIGSTOP);
    int result = device_turn_pass(turn, err);
    sandboxed_thaw(process);
    kill(-process->pid, SIGCONT);
    int64_t stopped_ns = clock_now_ns() - start_ns;
    clock->deadline_ns += stopped_ns;
    clock->looked_ns += stopped_ns;
    return result;
}

/* However much it still prints. Where the machine gave it too little of a processor for as long as
 * that may count, nothing is known of the command. */
static int end_late(const struct command *command, const struct command_clock *clock,
                    struct outcome *outcome, struct err *err)
{
    if (clock->withheld_ns >= WITHHELD_NS)
        return err_set(err, ERR_IO,
                       "this machine is too busy: for %lld s others kept the processors from %s",
                       (long long)(WITHHELD_NS / 1000000000), command->argv[0]);
    outcome->timed_out = true;
    return 0;
}

/* Reads output until the process ends, its time is over or it is cancelled. `turn`: NULL, or
 * held. */
static int follow_command(struct sandbox_runner *self, const struct command *command,
                          struct device_turn *turn, struct sandboxed *process, int output,
                          struct outcome *outcome, struct err *err)
{
    struct command_clock clock = start_clock(command->timeout_ms);
    struct pollfd waits[2] = {{.fd = output, .events = POLLIN},
                              {.fd = process->pid_fd, .events = POLLIN}};
    const int look_ms = turn ? TURN_LOOK_MS : LOOK_MS;
    int64_t start_ns = clock_now_ns();
    bool long_one = false;
    if (!turn)
        (void)setpriority(PRIO_PGRP, (id_t)process->pid, SHORT_NICE);
    char bytes[4096];
    for (;;) {
        if (self->cancelled && *self->cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (turn && device_turn_over(turn)) {
            int result = let_others_in(turn, process, &clock, err);
            if (result < 0)
                return result;
        }
        if (!long_one && clock_ms_since(start_ns) > LONG_MS) {
            (void)setpriority(PRIO_PGRP, (id_t)process->pid, LONG_NICE);
            long_one = true;
        }
        int left_ms = clock_left_ms(clock.deadline_ns);
        int ready = poll(waits, 2, left_ms < look_ms ? left_ms : look_ms);
        if (ready < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for %s", command->argv[0]);
        outcome->waited_ms = (double)clock.withheld_ns * 1e-6;
        if (waits[0].revents) {
            ssize_t got = read(output, bytes, sizeof bytes);
            if (got > 0)
                buf_append(&outcome->output, bytes, (size_t)got);
            else if (got == 0)
                waits[0].fd = -1;
        } else if (waits[1].revents && sandboxed_ended(process)) {
            return 0;
        }
        if (is_over(&clock, process->pid))
            return end_late(command, &clock, outcome, err);
    }
}

/* `turn`: NULL, or held. */
static int run_sandboxed(struct sandbox_runner *self, const struct command *command,
                         struct device_turn *turn, struct outcome *outcome, struct err *err)
{
    struct exec_message *message = mem_alloc(sizeof *message);
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);
    struct sandboxed process = {.channel = -1, .pid_fd = -1};
    int ends[2] = {-1, -1};
    int result = 0;
    describe_sandbox(self, command, sandbox);
    if (geteuid() == 0 && chown(command->directory, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0)
        result = err_sys(err, errno, "%s: cannot hand it to the sandbox", command->directory);
    if (result == 0)
        result = exec_message_pack(message, command->argv, command->environment, err);
    if (result == 0 && pipe2(ends, O_CLOEXEC) < 0)
        result = err_sys(err, errno, "cannot make a pipe");
    struct standby *server = command->resident ? self->resident : self->standby;
    if (result == 0 && !server)
        result = err_set(err, ERR_UNSUPPORTED, "%s: it is not loaded", command->argv[0]);
    if (result == 0)
        result = standby_spawn(server, sandbox, SPAWN_TIMEOUT_MS, &process, err);
    if (result == 0 &&
        fd_message_send(process.channel, message, sizeof *message, &ends[1], 1, err) < 0)
        result = err_sys(err, errno, "cannot hand the command to the sandbox");
    if (ends[1] >= 0)
        close(ends[1]);
    if (result == 0)
        result = follow_command(self, command, turn, &process, ends[0], outcome, err);
    self->layers = process.layers;
    sandboxed_close(&process);
    if (ends[0] >= 0)
        close(ends[0]);
    if (result == 0 && !outcome->timed_out) {
        outcome->exit_code = WIFEXITED(process.status) ? WEXITSTATUS(process.status) : -1;
        outcome->signal = WIFSIGNALED(process.status) ? WTERMSIG(process.status) : 0;
    }
    mem_free(sandbox);
    mem_free(message);
    return result;
}

static int run_command(struct runner *runner, const struct command *command,
                       struct outcome *outcome, struct err *err)
{
    struct sandbox_runner *self = (struct sandbox_runner *)(void *)runner;
    struct device_turn turn;
    int64_t start_ns = clock_now_ns();
    int result = 0;
    if (self->turn) {
        turn = *self->turn;
        result = device_turn_begin(&turn, DEVICE_SHARED, err);
    }
    if (result == 0)
        result = run_sandboxed(self, command, self->turn ? &turn : NULL, outcome, err);
    if (self->turn) {
        device_turn_end(&turn);
        outcome->waited_ms += turn.lock.waited_ms;
    }
    outcome->elapsed_ms = clock_ms_since(start_ns);
    return result;
}

void sandbox_runner_init(struct sandbox_runner *runner, struct standby *standby, bool own_root,
                         const char *toolchain_root, const _Atomic int *cancelled)
{
    *runner = (struct sandbox_runner){.runner = {.own_root = own_root, .run = run_command},
                                      .standby = standby,
                                      .toolchain_root = toolchain_root,
                                      .cancelled = cancelled};
}
