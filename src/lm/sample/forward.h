/* forward: new rows of several sequences through the model, over the paged cache.
 *
 * Owns the cache, the activations of up to `rows` rows and the index arrays, all in the backend's
 * memory.
 *
 * Threads: one at a time, the one that drives the backend.
 */
#pragma once

#include "lm/model/model.h"

struct forward;

struct forward_options {
    size_t rows, sequences; /* of the largest batch */
    size_t page, pages;     /* positions of a page, pages of the cache */
    size_t max_pages;       /* of one sequence */
};

/* On the host, filled by the caller for each batch; the arrays are forward's. */
struct forward_batch {
    size_t rows, sequences;
    size_t max_pages;              /* of this batch: the width of `pages` */
    int32_t *tokens;               /* [rows] */
    int32_t *sequence, *positions; /* [rows] */
    int32_t *pages;                /* [sequences, max_pages] */
};

NODISCARD int forward_open(struct forward **out, struct lm_model *model,
                           const struct forward_options *options, struct err *err);
void forward_close(struct forward *forward);

struct forward_batch *forward_batch(struct forward *forward);
/* Leaves each row's hidden state for forward_logits. */
NODISCARD int forward_run(struct forward *forward, struct err *err);

/* Rows that forward_logits takes at once. */
size_t forward_block(const struct forward *forward);
/* Logits of `count` rows of the batch that ran last: [count, vocab] on the host, until the next
 * call. */
NODISCARD int forward_logits(struct forward *forward, const int32_t *rows, size_t count,
                             const float **logits, struct err *err);

/* All keys and values of a page, in every layer. */
void forward_copy_page(struct forward *forward, int32_t from, int32_t to);
