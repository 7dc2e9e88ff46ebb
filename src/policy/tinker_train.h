/* tinker_train: passes, steps and checkpoints of a model on a Tinker server.
 *
 * A pass is sent in chunks of the size that the server takes, all before the first result is
 * awaited; its sums are computed here, from the server's log-probabilities, in the order of the
 * datums. A failed step, or a failed pass with gradients, leaves the model torn.
 *
 * A checkpoint is weights and optimiser state under the name of the server's training run
 * ("tinker://RUN/weights/NAME"), and the same weights as an adapter ("…/sampler_weights/NAME"),
 * which tinker_archive downloads.
 *
 * Threads: with the model's lock held, except tinker_checkpoint_forget.
 */
#pragma once

#include "policy/tinker_sampler.h"

struct tinker_pass {
    const struct loss *loss;
    struct loss_config config; /* completed by tinker_check_pass */
    bool gradients;
};

NODISCARD int tinker_train_pass(struct tinker_model *model, const struct tinker_pass *pass,
                                struct lm_datum *datums, size_t count, struct loss_sums *sums,
                                struct err *err);
NODISCARD int tinker_train_step(struct tinker_model *model, const struct lm_adam *adam,
                                double *norm, struct err *err);

/* *where (mem_free): its path. After a cancellation the shutdown link saves it. */
NODISCARD int tinker_checkpoint_save(struct tinker_model *model, const char *name, char **where,
                                     struct err *err);
/* Loads into a new model. The sampler's former copy is dropped. */
NODISCARD int tinker_checkpoint_load(struct tinker_model *model, struct tinker_sampler *sampler,
                                     const char *where, bool optimizer, struct err *err);
/* A missing checkpoint is no error. */
NODISCARD int tinker_checkpoint_forget(struct tinker_model *model, const char *where,
                                       struct err *err);
