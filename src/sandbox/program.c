#include "sandbox/program.h"

#include "base/fd_message.h"
#include "base/mem.h"
#include "sandbox/exec_message.h"
#include "sandbox/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXIT_BAD_REQUEST 125
#define EXIT_NOT_EXECUTED 126
#define ADDRESS_BITS 46 /* of a process's own */
#define ADDRESS_TRIES 64

/* The path, at a secret address. */
static const char *hide_path(const char *path)
{
    size_t bytes = strlen(path) + 1;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; bytes <= PATH_MAX && i < ADDRESS_TRIES; i++) {
        uint64_t address;
        if (getrandom(&address, sizeof address, 0) != (ssize_t)sizeof address)
            return NULL;
        address = address % (UINT64_C(1) << ADDRESS_BITS) / page * page;
        void *place = mmap((void *)(uintptr_t)address, PATH_MAX, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (place != MAP_FAILED)
            return memcpy(place, path, bytes);
    }
    return NULL;
}

static int lock_sandbox(const struct sandbox *sandbox, const char *path,
                        struct server_hello *report, struct err *err)
{
    if (!path)
        return err_set(err, ERR_IO, "there is no memory for the program's path");
    if (!(sandbox->forbid >> LAYER_SECCOMP & 1)) {
        int result = sandbox_filter_execute_at(path, err);
        if (result < 0)
            return result;
    }
    return sandbox_lock(sandbox, &report->layers, err);
}

int program_serve(int channel, const struct sandbox *sandbox, uint32_t layers)
{
    static struct exec_message message; /* large */
    char *arguments[EXEC_MESSAGE_STRINGS];
    char *environment[EXEC_MESSAGE_STRINGS];
    struct server_hello report = {.layers = layers};
    struct err err = {0};
    if (fd_message_receive(channel, &message, sizeof message, NULL, 0, &err) !=
            (ssize_t)sizeof message ||
        !exec_message_unpack(&message, arguments, environment))
        return EXIT_BAD_REQUEST;
    const char *path = hide_path(arguments[0]);
    if (channel == PROGRAM_CHANNEL ? fcntl(channel, F_SETFD, 0) < 0
                                   : dup2(channel, PROGRAM_CHANNEL) < 0)
        return EXIT_BAD_REQUEST;
    report.code = lock_sandbox(sandbox, path, &report, &err);
    memcpy(report.text, err.text, sizeof report.text - 1);
    if (send(PROGRAM_CHANNEL, &report, sizeof report, MSG_NOSIGNAL) != (ssize_t)sizeof report ||
        report.code < 0)
        return EXIT_NOT_EXECUTED;
    execve(path, arguments, environment);
    return EXIT_NOT_EXECUTED;
}

int program_start(struct sandboxed *process, const char *const *argv,
                  const char *const *environment, int64_t timeout_ms, struct err *err)
{
    struct exec_message *message = mem_alloc(sizeof *message);
    struct server_hello report;
    struct pollfd wait = {.fd = process->channel, .events = POLLIN};
    int result = exec_message_pack(message, argv, environment, err);
    if (result == 0)
        result = fd_message_send(process->channel, message, sizeof *message, NULL, 0, err);
    mem_free(message);
    if (result < 0)
        return result;
    int ready;
    do
        ready = poll(&wait, 1, timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        return err_set(err, ERR_TIMEOUT, "%s: its sandbox was not closed in time", argv[0]);
    if (recv(process->channel, &report, sizeof report, 0) != (ssize_t)sizeof report)
        return err_set(err, ERR_CRASH, "%s: its process ended before it began", argv[0]);
    process->layers |= report.layers;
    report.text[sizeof report.text - 1] = '\0';
    return report.code < 0
               ? err_set(err, report.code, "%s: cannot close its sandbox: %s", argv[0], report.text)
               : 0;
}
