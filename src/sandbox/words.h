/* words: what a sandboxed process becomes, as one message: a program's words and its environment.
 *
 * From the judge, which is trusted, to a process that has not run anything yet. Plain data.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define WORDS_BYTES 32768
#define WORDS_MAX 512 /* of each, the NULL behind them included */

struct words {
    uint32_t argument_count, environment_count, bytes;
    char text[WORDS_BYTES]; /* NUL-terminated strings */
};

/* Both end with NULL; `environment` may be NULL. ERR_LIMIT: they do not fit. */
NODISCARD int words_pack(struct words *words, const char *const *argv,
                         const char *const *environment, struct err *err);

/* Points into `words`; NULL behind the last. False: there is no program among them. */
bool words_unpack(struct words *words, char *argv[WORDS_MAX], char *environment[WORDS_MAX]);
