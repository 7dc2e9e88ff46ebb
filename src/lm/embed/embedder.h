/* embedder: texts as vectors of length 1, out of a model's last hidden states.
 *
 *   text ─► tokens ─► layers, final norm: hidden [tokens, width] ─► last, or mean ─► length 1
 *
 * Which of the two a model was made for stands in 1_Pooling/config.json of its directory, the file
 * of Sentence Transformers; without one it is the last token's. What the tokenizer's file puts
 * around a text (Qwen3-Embedding's end) is part of the text.
 *
 * Ownership: model and tokenizer are the caller's and outlive it. Threads: one at a time, the one
 * that drives the model's backend.
 */
#pragma once

#include "lm/model/model.h"
#include "lm/tokenizer/tokenizer.h"

struct lm_embedder;

/* ERR_UNSUPPORTED: the directory's file asks for another pooling. */
NODISCARD int lm_embedder_open(struct lm_embedder **out, struct lm_model *model,
                               struct tokenizer *tokenizer, const char *directory, struct err *err);
void lm_embedder_close(struct lm_embedder *embedder);

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
/* vectors: [count, width]. Each text has 1 to the longest tokens. */
NODISCARD int lm_embedder_run(struct lm_embedder *embedder, const struct tokens *texts,
                              size_t count, float *vectors, struct err *err);
