/* tinker_checkpoint: weights and optimiser of a model, kept by its Tinker server under the name of
 * a run of its own ("tinker://RUN/weights/NAME").
 *
 * Threads: with the model's lock held, but for tinker_checkpoint_forget.
 */
#ifndef WARPGYM_POLICY_TINKER_CHECKPOINT_H
#define WARPGYM_POLICY_TINKER_CHECKPOINT_H

#include "policy/tinker_sampler.h"

/* *where (mem_free): its path. Who was interrupted still saves, on the link for parting. */
NODISCARD int tinker_checkpoint_save(struct tinker_model *model, const char *name, char **where,
                                     struct err *err);
/* Into a model that is made for it. What the former one sampled from is forgotten. */
NODISCARD int tinker_checkpoint_load(struct tinker_model *model, struct tinker_sampler *sampler,
                                     const char *where, bool optimizer, struct err *err);
/* One that is not there is fine. */
NODISCARD int tinker_checkpoint_forget(struct tinker_model *model, const char *where,
                                       struct err *err);

#endif
