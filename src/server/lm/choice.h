/* lm_api_choice: one sample as it grows, and the part of it sent to the client.
 *
 *   tokens (engine) ─► text, whole characters ─► text that no stop string can remove ─► sent
 *
 * Threads: one at a time. */
#pragma once

#include "server/lm/request.h"

/* Shared by the choices of one prompt. */
struct lm_api_scored {
    struct tokens ids;  /* of the prompt */
    float *logprobs;    /* [ids.count], or NULL: not requested, or not known yet */
    struct lm_top *top; /* [ids.count, top_logprobs] or NULL */
};

struct lm_api_choice {
    size_t index;
    const struct lm_api_request *request;
    const struct tokenizer *tokenizer;
    const struct lm_api_scored *prompt;
    int32_t *tokens;
    float *logprobs;
    struct lm_top *top; /* [count, top_logprobs] */
    size_t *offsets;    /* characters of the text before each token */
    size_t count, capacity;
    enum lm_finish finish;
    struct tokenizer_stream stream;
    struct buf text;
    size_t text_safe;              /* of the text: final */
    size_t text_sent, tokens_sent; /* sent to the client */
    size_t characters;             /* of the text */
    bool opened, closed;           /* likewise: its first and its last chunk are sent */
};

void lm_api_choice_init(struct lm_api_choice *choice, size_t index,
                        const struct lm_api_request *request, const struct tokenizer *tokenizer,
                        const struct lm_api_scored *prompt);
void lm_api_choice_deinit(struct lm_api_choice *choice);

/* Adds the new part of a sample. */
NODISCARD int lm_api_choice_take(struct lm_api_choice *choice, const struct lm_sample *sample,
                                 struct err *err);

/* An item of "choices", with what is not sent yet: in an answer, after the choice has ended, or, of
 * a request that streams, in a chunk. NULL: nothing; the call before that one gave a finish_reason.
 * A new reference. */
json_t *lm_api_choice_next(struct lm_api_choice *choice, bool chat);
