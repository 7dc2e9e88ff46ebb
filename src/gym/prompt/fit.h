/* prompt_fit: fits a conversation into its token budget.
 *
 * Tokens are estimated: 1 for each PROMPT_BYTES_PER_TOKEN bytes. A conversation above the budget
 * drops the oldest turns first (answer and feedback together), then examples (retrieved ones, the
 * least similar first; then the built-in ones), then all of the last answer but its code; never the
 * system message, the task or the last feedback: if these alone are too long, ERR_LIMIT.
 *
 * Threads: pure.
 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROMPT_BYTES_PER_TOKEN 3 /* of code; prose has more: the estimate is rather too high */
#define PROMPT_MESSAGE_TOKENS 4  /* added by a chat template around each message */

/* What of a conversation is shown. */
struct prompt_plan {
    size_t turn_count; /* of the conversation */
    bool last_only;    /* the style's: no turn but the last is shown */
    size_t first_turn; /* the oldest turn shown */
    size_t worked, retrieved;
    bool short_answer; /* only the code of the last answer */
};

/* Estimated tokens of messages. */
int64_t prompt_tokens(const json_t *messages);
/* Omits the least important parts, at least `over` tokens. False: nothing is left to omit. */
bool prompt_leave_out(struct prompt_plan *plan, const json_t *messages, int64_t over);
/* Nothing more can be omitted: ERR_LIMIT with the sizes. */
int prompt_too_large(const struct prompt_plan *plan, const char *problem_id, const json_t *messages,
                     int64_t budget, struct err *err);
