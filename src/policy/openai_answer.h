/* openai_answer: parses an endpoint's response, as one body or event by event.
 *
 * An event is one `data:` of the stream: a chunk with choices[0].delta, usage, an error, or [DONE].
 * A complete response has choices[0].message. Reasoning arrives under `reasoning_content` or
 * `reasoning`; content may be text or a list of parts with texts. Other choices, tools and unknown
 * fields are ignored.
 *
 * What a model wrote is never an error: bytes of it that are no text become U+FFFD (json_mend.h);
 * text and reasoning are cut behind LIMIT_ANSWER_BYTES + 1, and with `length` as the reason the
 * response ends there. ERR_PROTOCOL for a malformed response. Log-probabilities cover all tokens of
 * the answer, or are absent.
 * Ownership: the caller's storage. Threads: one at a time.
 */
#pragma once

#include "base/buf.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct openai_reading {
    struct buf text, reasoning;
    char *model;
    char finish[32];
    int64_t prompt_tokens, completion_tokens, cached_tokens;
    json_t *logprobs;
    bool logprobs_broken; /* one token's is missing */
    int64_t steps;        /* events with content */
    bool done;            /* [DONE], or a complete response */
    int refused;          /* the status of an error inside the stream; 0: none */
    char *refusal;        /* its text */
};

void openai_reading_init(struct openai_reading *reading);
void openai_reading_deinit(struct openai_reading *reading);
/* Before another attempt. */
void openai_reading_reset(struct openai_reading *reading);

/* ERR_IO: the endpoint reports an error, stored in `refused` and `refusal`. */
NODISCARD int openai_read_event(struct openai_reading *reading, const char *data, size_t count,
                                struct err *err);
NODISCARD int openai_read_whole(struct openai_reading *reading, const char *body, size_t bytes,
                                struct err *err);

/* Whether the endpoint has marked the end: a finish reason, or [DONE]. */
bool openai_reading_is_whole(const struct openai_reading *reading);
/* Moves the result into an answer. */
void openai_reading_take(struct openai_reading *reading, struct policy_answer *answer);
