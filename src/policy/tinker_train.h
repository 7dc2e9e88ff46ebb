/* tinker_train: passes and steps of a model on a Tinker server.
 *
 * A pass is sent in chunks of the size that the server takes, all before the first result is
 * awaited; its sums are computed here, from the server's log-probabilities, in the order of the
 * datums. A failed step, or a failed pass with gradients, leaves the model torn.
 *
 * Threads: with the model's lock held.
 */
#pragma once

#include "policy/tinker_model.h"

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
