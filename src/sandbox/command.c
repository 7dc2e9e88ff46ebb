#include "sandbox/command.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/passing.h"
#include "sandbox/words.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMPILER_NICE 10 /* it can wait for a call of another evaluation, which is short */

#define SPAWN_TIMEOUT_MS 10000

int command_serve(int channel, const struct box *box, uint32_t layers, command_main *resident)
{
    static struct words words; /* large */
    char *arguments[WORDS_MAX];
    char *environment[WORDS_MAX];
    struct err err = {0};
    int output;
    if (passing_receive(channel, &words, sizeof words, &output, 1, &err) != (ssize_t)sizeof words ||
        output < 0 || !words_unpack(&words, arguments, environment))
        return 125;
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    (void)setpriority(PRIO_PROCESS, 0, COMPILER_NICE);
    if (box_lock(box, &layers, &err) == 0) {
        if (resident)
            return resident((int)words.argument_count, arguments);
        execve(arguments[0], arguments, environment);
    }
    dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], err.text[0] ? err.text : strerror(errno));
    return 126;
}

static void describe_box(const struct sandbox_runner *self, const struct command *command,
                         struct box *box)
{
    box_init(box, command->resident ? BOX_NATIVE : BOX_BUILD);
    box->forbid = self->forbid;
    box->memory_bytes = command->memory_bytes;
    box->scratch_bytes = command->file_bytes ? command->file_bytes : UINT64_C(1) << 30;
    box->cpu_seconds = (uint64_t)(command->timeout_ms / 1000 + 2);
    static const char *const loader[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64"};
    for (size_t i = 0; !self->runner.own_root && i < sizeof loader / sizeof *loader; i++)
        box_allow(box, loader[i]); /* the C library that a bundled compiler runs on */
    if (self->toolchain_root && !self->runner.own_root)
        box_allow(box, self->toolchain_root);
    else if (self->toolchain_root && strlen(self->toolchain_root) < sizeof box->root)
        memcpy(box->root, self->toolchain_root, strlen(self->toolchain_root) + 1);
    if (strlen(command->directory) < sizeof box->scratch)
        memcpy(box->scratch, command->directory, strlen(command->directory) + 1);
    for (const char *const *path = command->readable; path && *path; path++)
        box_allow(box, *path);
}

/* Reads output until the process ends, the deadline passes or somebody cancels. */
static int follow(struct sandbox_runner *self, const struct command *command, struct boxed *boxed,
                  int output, struct outcome *outcome, struct err *err)
{
    int64_t deadline_ns = clock_now_ns() + command->timeout_ms * 1000000;
    struct pollfd waits[2] = {{.fd = output, .events = POLLIN},
                              {.fd = boxed->pid_fd, .events = POLLIN}};
    char bytes[4096];
    for (;;) {
        if (self->cancelled && *self->cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        int left_ms = clock_left_ms(deadline_ns);
        int ready = poll(waits, 2, left_ms < 100 ? left_ms : 100);
        if (ready < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for %s", command->argv[0]);
        if (waits[0].revents) {
            ssize_t got = read(output, bytes, sizeof bytes);
            if (got > 0)
                buf_append(&outcome->output, bytes, (size_t)got);
            else if (got == 0)
                waits[0].fd = -1;
        } else if (waits[1].revents && boxed_ended(boxed)) {
            return 0;
        } else if (left_ms == 0) {
            outcome->timed_out = true;
            return 0;
        }
    }
}

static int run_boxed(struct sandbox_runner *self, const struct command *command,
                     struct outcome *outcome, struct err *err)
{
    struct words *words = mem_alloc(sizeof *words);
    struct box *box = mem_alloc(sizeof *box);
    struct boxed boxed = {.channel = -1, .pid_fd = -1};
    int ends[2] = {-1, -1};
    int result = 0;
    describe_box(self, command, box);
    if (geteuid() == 0 && chown(command->directory, BOX_NOBODY, BOX_NOBODY) < 0)
        result = err_sys(err, errno, "%s: cannot hand it to the sandbox", command->directory);
    if (result == 0)
        result = words_pack(words, command->argv, command->environment, err);
    if (result == 0 && pipe2(ends, O_CLOEXEC) < 0)
        result = err_sys(err, errno, "cannot make a pipe");
    struct standby *server = command->resident ? self->resident : self->standby;
    if (result == 0 && !server)
        result = err_set(err, ERR_UNSUPPORTED, "%s: nobody has loaded it", command->argv[0]);
    if (result == 0)
        result = standby_spawn(server, box, SPAWN_TIMEOUT_MS, &boxed, err);
    if (result == 0 && passing_send(boxed.channel, words, sizeof *words, &ends[1], 1, err) < 0)
        result = err_sys(err, errno, "cannot hand the command to the sandbox");
    if (ends[1] >= 0)
        close(ends[1]);
    if (result == 0)
        result = follow(self, command, &boxed, ends[0], outcome, err);
    self->layers = boxed.layers;
    boxed_close(&boxed);
    if (ends[0] >= 0)
        close(ends[0]);
    if (result == 0 && !outcome->timed_out) {
        outcome->exit_code = WIFEXITED(boxed.status) ? WEXITSTATUS(boxed.status) : -1;
        outcome->signal = WIFSIGNALED(boxed.status) ? WTERMSIG(boxed.status) : 0;
    }
    mem_free(box);
    mem_free(words);
    return result;
}

static int run(struct runner *runner, const struct command *command, struct outcome *outcome,
               struct err *err)
{
    int64_t start_ns = clock_now_ns();
    int result = run_boxed((struct sandbox_runner *)(void *)runner, command, outcome, err);
    outcome->elapsed_ms = clock_ms_since(start_ns);
    return result;
}

void sandbox_runner_init(struct sandbox_runner *runner, struct standby *standby, bool own_root,
                         const char *toolchain_root, const _Atomic int *cancelled)
{
    *runner = (struct sandbox_runner){.runner = {.own_root = own_root, .run = run},
                                      .standby = standby,
                                      .toolchain_root = toolchain_root,
                                      .cancelled = cancelled};
}
