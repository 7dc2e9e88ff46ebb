/* token_schedule: more tokens for an answer at later steps ("30:16384, 60:22528": from step 30 and
 * from step 60 on, counted from 0; Kevin went from 16K to 22K). Ownership: the caller's storage.
 * Threads: pure. */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TOKEN_SCHEDULE_MOST 16

struct token_schedule {
    struct token_change {
        uint64_t step;
        size_t tokens;
    } changes[TOKEN_SCHEDULE_MOST];
    size_t count;
};

/* "": no changes. ERR_INPUT: no such pairs, or steps that do not rise; ERR_LIMIT: too many. */
NODISCARD int token_schedule_read(struct token_schedule *schedule, const char *text,
                                  struct err *err);
/* `first`: before the first change. */
size_t token_schedule_at(const struct token_schedule *schedule, size_t first, uint64_t step);
