/* small_model: models of a few thousand parameters for tests of lm/. A failure of theirs fails the
 * test. */
#pragma once

#include "lm/model/model.h"

#define SMALL_VOCAB 29
#define SMALL_POSITIONS 32
#define SMALL_TARGETS ((1U << LM_LORA_TARGET_COUNT) - 1) /* an adapter on all layers */

/* Qwen3: 3 layers, width 12, 4 heads and 2 of keys of width 6, head of its own. */
struct lm_config small_config(void);
struct lm_backend *small_backend(const char *name);
/* Rank 0: no adapter. config NULL: small_config. */
struct lm_model *small_seeded(struct lm_backend *backend, const struct lm_config *config,
                              enum lm_training training, size_t rank, uint64_t seed);
/* Seed 7. */
struct lm_model *small_fresh(struct lm_backend *backend, const struct lm_config *config,
                             enum lm_training training, size_t rank);
/* Norms, biases and an adapter's B begin as ones and zeros, where many a wrong sum is right: moves
 * all values. */
void small_disturb(struct lm_model *model);

/* All trained parameters, or their gradients, one behind the other; the caller's (mem_free). */
float *small_trained(const struct lm_model *model, bool gradients);
/* Of one parameter; the caller's (mem_free). */
float *small_values(const struct lm_model *model, const struct lm_parameter *parameter);
float *small_gradients(const struct lm_model *model, const struct lm_parameter *parameter);
