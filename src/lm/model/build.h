/* build: how models come to be; for the files of lm/model alone.
 *
 *   declare (names, shapes) ─► [a checkpoint: check all of it] ─► allocate ─► fill ─► rope tables
 *
 * Nothing of a checkpoint's claimed size is allocated before the files were seen to hold it.
 */
#pragma once

#include "lm/model/model.h"

/* The list of parameters, without memory for them. Checks config and options. */
NODISCARD int lm_model_declare(struct lm_model **out, const struct lm_config *config,
                               const struct lm_lora *lora, struct lm_backend *backend,
                               const struct lm_model_options *options, struct err *err);
/* Memory for values, for gradients of what is trained, and the rope tables. */
NODISCARD int lm_model_allocate(struct lm_model *model, enum lm_training training, struct err *err);

/* Fresh values for the base or for the adapter; each depends on seed, name and place alone. */
void lm_fresh_base(struct lm_model *model, uint64_t seed);
void lm_fresh_adapter(struct lm_model *model, uint64_t seed);

/* The model's positions × head_width/2 of cosine and sine. */
NODISCARD int lm_rope_tables(const struct lm_config *config, size_t positions,
                             struct lm_backend *backend, float **cosine, float **sine,
                             struct err *err);
