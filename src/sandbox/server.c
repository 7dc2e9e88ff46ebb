#include "sandbox/server.h"

#include "base/fd_message.h"
#include "sandbox/output.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int send_all(int fd, const void *bytes, size_t count)
{
    ssize_t sent;
    do
        sent = send(fd, bytes, count, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)count ? 0 : -1;
}

int server_ready(int control)
{
    int32_t code = 0;
    return send_all(control, &code, sizeof code);
}

int server_receive(int control, struct sandbox *sandbox, int *channel)
{
    struct err ignored;
    ssize_t got = fd_message_receive(control, sandbox, sizeof *sandbox, channel, 1, &ignored);
    if (got == 0)
        return 0;
    return got == (ssize_t)sizeof *sandbox && *channel >= 0 ? 1 : -1;
}

int server_announce(int channel, int32_t pid)
{
    return send_all(channel, &pid, sizeof pid);
}

int server_reply(int control, int32_t code)
{
    return send_all(control, &code, sizeof code);
}

int server_enter(const struct sandbox *sandbox, int channel, uint32_t *layers)
{
    struct server_hello hello = {0};
    struct err err = {0};
    char word;
    ssize_t got;
    /* The judge speaks once A is reaped, that is, once the judge is our parent; only then does the
     * death signal mean its death. If it died before, this reads end-of-file. */
    do
        got = recv(channel, &word, 1, 0);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        return -1;
    /* A batch process does not push its judge off a processor when it is thawed (sched(7)). */
    (void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    hello.code = sandbox_enter(sandbox, channel, layers, &err);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 && hello.code == 0)
        hello.code = err_sys(&err, errno, "cannot bind its life to the judge's");
    hello.layers = *layers;
    if (hello.code < 0)
        memcpy(hello.text, err.text, sizeof hello.text - 1);
    int output = hello.code == 0 && sandbox->output ? sandbox_output_make() : -1;
    if (fd_message_send(channel, &hello, sizeof hello, &output, output >= 0, &err) < 0)
        return -1;
    return hello.code;
}

int server_loop(int control, struct sandbox *sandbox, uint32_t *layers)
{
    int channel;
    while (server_receive(control, sandbox, &channel) > 0) {
        pid_t outer = fork();
        if (outer == 0) {
            pid_t inner = sandbox_unshare(sandbox, layers) ? fork() : -1;
            if (inner != 0)
                _exit(inner < 0 || server_announce(channel, inner) < 0);
            return server_enter(sandbox, channel, layers) == 0 ? channel : -1;
        }
        close(channel);
        int status = 1;
        if (outer > 0)
            while (waitpid(outer, &status, 0) < 0 && errno == EINTR)
                ;
        if (server_reply(control, status == 0 ? 0 : -1) < 0)
            break;
    }
    return -1;
}
