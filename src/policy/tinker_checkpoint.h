/* tinker_checkpoint: weights and optimiser state of a model, stored by its Tinker server under the
 * name of the server's training run ("tinker://RUN/weights/NAME").
 *
 * Threads: with the model's lock held, except tinker_checkpoint_forget.
 */
#pragma once

#include "policy/tinker_sampler.h"

/* *where (mem_free): its path. After a cancellation the shutdown link saves it. */
NODISCARD int tinker_checkpoint_save(struct tinker_model *model, const char *name, char **where,
                                     struct err *err);
/* Loads into a new model. The sampler's former copy is dropped. */
NODISCARD int tinker_checkpoint_load(struct tinker_model *model, struct tinker_sampler *sampler,
                                     const char *where, bool optimizer, struct err *err);
/* A missing checkpoint is no error. */
NODISCARD int tinker_checkpoint_forget(struct tinker_model *model, const char *where,
                                       struct err *err);
