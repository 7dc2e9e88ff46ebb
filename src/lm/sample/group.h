/* group: a request as the sampler keeps it, with all its samples.
 *
 * A group owns copies of everything in its request but the tokenizer. Making one checks it and
 * reads only what never changes, so any thread may do it.
 */
#pragma once

#include "lm/sample/sampler.h"
#include "lm/sample/stop.h"

enum sequence_state { SEQUENCE_WAITING, SEQUENCE_RUNNING, SEQUENCE_ENDED };

/* One sample: the prompt and its own tokens behind it. */
struct sequence {
    struct group *group;
    size_t index; /* among the group's */
    enum sequence_state state;
    struct sequence *prev, *next; /* in the sampler's list of that state */

    struct lm_sample sample;
    size_t capacity;
    struct stop_scan scan; /* where there are stop strings */

    /* While it runs. */
    int32_t *pages;
    size_t page_count;
    size_t computed;        /* positions that the cache holds */
    size_t kept_pages;      /* of its pages: may be found by others */
    uint64_t mark;          /* of the last one of these */
    bool mixed;             /* some keys and values are of weights that are no more */
    size_t planned, at_row; /* rows of this step, and the first one in the batch */
};

struct group {
    uint64_t id; /* rises with every request: the age */
    int32_t *prompt;
    size_t prompt_count;
    size_t limit; /* new tokens of each sample */
    struct lm_sampling sampling;
    struct tokenizer *tokenizer;
    void (*on_event)(void *context, size_t index, const struct lm_sample *sample);
    void (*scored)(void *context, const float *logprobs, const struct lm_top *top);
    void *context;
    bool cancelled;

    struct sequence *sequences;
    size_t count, live;
    struct sequence *leader; /* computes the prompt; those that have no token yet wait for it */
    float *prompt_logprobs;  /* NULL: not wanted */
    struct lm_top *prompt_top;
    size_t scored_count; /* of them are known; the first one counts as known */
    bool scored_reported;
    struct group *prev, *next;
};

/* What a sampler can hold. */
struct group_bounds {
    size_t vocab, positions, cache_tokens;
};

NODISCARD int group_new(struct group **out, const struct lm_request *request,
                        const struct group_bounds *bounds, struct err *err);
void group_free(struct group *group);

/* Tokens of a sequence so far, and the one at a position. */
size_t sequence_known(const struct sequence *sequence);
int32_t sequence_token(const struct sequence *sequence, size_t position);
/* Room for one more; returns where its top_logprobs go. */
struct lm_top *sequence_grow(struct sequence *sequence);
/* Whether prompt log-probabilities are still to be found. */
bool group_is_scoring(const struct group *group);
