/* pass: forward and backward through a model for a batch of packed sequences.
 *
 *   tokens ─► embedding ─► layer 0 ─► … ─► layer L-1 ─► final norm ─► hidden [rows, width]
 *                                                                      │ a block of rows at a time
 *                                               head: logits ─► logprob, entropy ─► loss (caller)
 *                                                 └── dlogits ◄── dlogprob, dentropy ◄──┘
 *   gradients of all trained parameters ◄── layers, last to first ◄── dhidden
 *
 * A batch is `rows` tokens of several sequences, one behind the other without padding; positions
 * start at 0 in each. The target of row i is what the caller says, by custom the next token.
 *
 * Memory: a pass owns the activations for up to `rows` rows: with `recompute` only each layer's
 * input is kept, and a layer is computed again in the backward direction. Both give the same bits.
 *
 * Threads: one at a time. Several passes may share a model for forward.
 */
#pragma once

#include "lm/model/model.h"

struct lm_pass;

struct lm_pass_options {
    size_t rows;      /* tokens of the largest batch */
    size_t head_rows; /* rows whose logits exist at once; 0: as many as fit 64 MiB, at least 16 */
    bool backward;    /* else only what forward needs is allocated */
    bool recompute;
};

/* Lies in the host's memory. */
struct lm_batch {
    size_t rows, sequences;
    const int32_t *tokens; /* [rows] */
    const int32_t *starts; /* [sequences + 1], starts[0] = 0, starts[sequences] = rows */
};

/* A block of the head's rows, on the host: found logprob and entropy, wanted gradients of the loss
 * in them (set to 0 before the call). */
struct lm_head_block {
    size_t first, rows, targets_per_row;
    const float *logprob;   /* [rows, targets_per_row] */
    const float *entropy;   /* [rows]; NULL where it was not asked for */
    const float *collision; /* likewise */
    float *dlogprob;        /* [rows, targets_per_row]; NULL: no gradients wanted */
    float *dentropy;        /* [rows]; NULL likewise, and where entropy is */
};
typedef void lm_loss_function(void *context, const struct lm_head_block *block);

struct lm_head {
    const int32_t *targets;  /* [rows, targets_per_row] */
    size_t targets_per_row;  /* at least 1 */
    float temperature;       /* of the distribution; 1 */
    bool entropy, collision; /* wanted (lm/ops/ops.h) */
    lm_loss_function *loss;  /* sees each block once, first to last */
    void *context;
};

NODISCARD int lm_pass_open(struct lm_pass **out, struct lm_model *model,
                           const struct lm_pass_options *options, struct err *err);
void lm_pass_close(struct lm_pass *pass);
/* What a pass with these options takes of the backend's memory. Of the model it looks at config,
 * lora and backend alone. */
uint64_t lm_pass_bytes(const struct lm_model *model, const struct lm_pass_options *options);

/* Tokens and targets outside the vocabulary, sequences beyond the model's positions, empty ones and
 * batches beyond `rows` are ERR_INPUT. head->loss gets log-probabilities alone. */
NODISCARD int lm_pass_score(struct lm_pass *pass, const struct lm_batch *batch,
                            const struct lm_head *head, struct err *err);
/* Adds the gradients of what head->loss says to the model's. */
NODISCARD int lm_pass_train(struct lm_pass *pass, const struct lm_batch *batch,
                            const struct lm_head *head, struct err *err);
/* What the head would read of a batch: out is the host's [rows, width]. */
NODISCARD int lm_pass_hidden(struct lm_pass *pass, const struct lm_batch *batch, float *out,
                             struct err *err);
/* All logits of a batch, for tests and small things: out is the host's [rows, vocab]. */
NODISCARD int lm_pass_logits(struct lm_pass *pass, const struct lm_batch *batch, float *out,
                             struct err *err);
