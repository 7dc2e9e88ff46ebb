#include "sandbox/command.h"

#include "base/fd_message.h"
#include "sandbox/exec_message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int command_serve(int channel, const struct sandbox *sandbox, uint32_t layers,
                  command_main *resident)
{
    static struct exec_message message; /* large */
    char *arguments[EXEC_MESSAGE_STRINGS];
    char *environment[EXEC_MESSAGE_STRINGS];
    struct err err = {0};
    int output;
    if (fd_message_receive(channel, &message, sizeof message, &output, 1, &err) !=
            (ssize_t)sizeof message ||
        output < 0 || !exec_message_unpack(&message, arguments, environment))
        return 125;
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    if (sandbox_lock(sandbox, &layers, &err) == 0) {
        if (resident)
            return resident((int)message.argument_count, arguments);
        execve(arguments[0], arguments, environment);
    }
    dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], err.text[0] ? err.text : strerror(errno));
    return 126;
}
