#include "sandbox/exec_message.h"

#include <stddef.h>
#include <string.h>

static int pack_strings(struct exec_message *message, const char *const *strings, uint32_t *count)
{
    for (; strings && *strings; strings++, (*count)++) {
        size_t bytes = strlen(*strings) + 1;
        if (message->bytes + bytes > sizeof message->text || *count >= EXEC_MESSAGE_STRINGS - 1)
            return -1;
        memcpy(message->text + message->bytes, *strings, bytes);
        message->bytes += (uint32_t)bytes;
    }
    return 0;
}

int exec_message_pack(struct exec_message *message, const char *const *argv,
                      const char *const *environment, struct err *err)
{
    message->argument_count = message->environment_count = message->bytes = 0;
    if (pack_strings(message, argv, &message->argument_count) == 0 &&
        pack_strings(message, environment, &message->environment_count) == 0)
        return 0;
    return err_set(err, ERR_LIMIT, "%s: too many or too long arguments", argv[0]);
}

static void unpack_strings(char **at, char **strings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        strings[i] = *at;
        *at += strlen(*at) + 1;
    }
    strings[count] = NULL;
}

bool exec_message_unpack(struct exec_message *message, char *argv[EXEC_MESSAGE_STRINGS],
                         char *environment[EXEC_MESSAGE_STRINGS])
{
    char *at = message->text;
    unpack_strings(&at, argv, message->argument_count);
    unpack_strings(&at, environment, message->environment_count);
    return argv[0] != NULL;
}
