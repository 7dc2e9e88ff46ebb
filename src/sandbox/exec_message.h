/* exec_message: what a sandboxed process becomes, as one message: a program's arguments and its
 * environment.
 *
 * From the judge, which is trusted, to a process that has not run anything yet. Plain data.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define EXEC_MESSAGE_BYTES 32768
#define EXEC_MESSAGE_STRINGS 512 /* of each, the NULL behind them included */

struct exec_message {
    uint32_t argument_count, environment_count, bytes;
    char text[EXEC_MESSAGE_BYTES]; /* NUL-terminated strings */
};

/* Both end with NULL; `environment` may be NULL. ERR_LIMIT: they do not fit. */
NODISCARD int exec_message_pack(struct exec_message *message, const char *const *argv,
                                const char *const *environment, struct err *err);

/* Points into `message`; NULL behind the last. False: there is no program among them. */
bool exec_message_unpack(struct exec_message *message, char *argv[EXEC_MESSAGE_STRINGS],
                         char *environment[EXEC_MESSAGE_STRINGS]);
