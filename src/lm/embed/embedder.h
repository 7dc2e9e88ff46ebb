/* embedder: texts as vectors of length 1, out of a model's last hidden states.
 *
 *   text ─► tokens ─► layers, final norm: hidden [tokens, width] ─► last, or mean ─► length 1
 *
 * Which of the two a model was made for stands in 1_Pooling/config.json of its directory, the file
 * of Sentence Transformers; without one it is the last token's. What the tokenizer's file puts
 * around a text (Qwen3-Embedding's end) is part of the text.
 *
 * Threads and memory to compute are there from lm_embedder_prepare on: before it, an embedder costs
 * nothing.
 *
 * Ownership: what the options name is the caller's and outlives it. Threads: prepare and run one at
 * a time; on the model itself only the thread that drives the model's backend. The rest from any.
 */
#pragma once

#include "lm/model/model.h"
#include "lm/tokenizer/tokenizer.h"

struct lm_embedder;

struct lm_embedder_options {
    struct lm_model *model;
    struct tokenizer *tokenizer;
    const char *directory; /* of the model */
    /* NULL: the model itself computes. Else another thread drives the model, and a twin of it
     * computes, on a backend of this name. */
    const char *backend;
    size_t threads; /* of that backend; 0: as many as there are cores */
};

/* ERR_UNSUPPORTED: the directory's file asks for another pooling. */
NODISCARD int lm_embedder_open(struct lm_embedder **out, const struct lm_embedder_options *options,
                               struct err *err);
/* NULL is fine. */
void lm_embedder_close(struct lm_embedder *embedder);
/* Again where it failed. ERR_LIMIT: there is no memory for it. */
NODISCARD int lm_embedder_prepare(struct lm_embedder *embedder, struct err *err);

/* "last token" or "mean" */
const char *lm_embedder_pooling(const struct lm_embedder *embedder);
/* Numbers of a vector. */
size_t lm_embedder_width(const struct lm_embedder *embedder);

/* Whether a text of so many tokens can be embedded. ERR_LIMIT: it is longer; ERR_INPUT: it has
 * none. */
NODISCARD int lm_embedder_check(const struct lm_embedder *embedder, size_t tokens, struct err *err);
/* Sets `out` to a text's tokens, in all; those of a longer one are cut to the longest, its end
 * kept, with `cut`. Errors: lm_embedder_check. */
NODISCARD int lm_embedder_encode(const struct lm_embedder *embedder, const char *text, size_t bytes,
                                 bool cut, struct tokens *out, struct err *err);
/* vectors: [count, width]. Each text has 1 to the longest tokens. Prepares what is not. */
NODISCARD int lm_embedder_run(struct lm_embedder *embedder, const struct tokens *texts,
                              size_t count, float *vectors, struct err *err);
