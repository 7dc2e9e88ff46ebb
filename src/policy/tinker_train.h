/* tinker_train: passes and steps of a model on a Tinker server.
 *
 * A pass goes out in chunks of what the server takes, all sent before the first is waited for; its
 * sums are worked out here, from the server's log-probabilities, in the order of datums. A pass
 * with gradients, or a step, that fails leaves the model torn.
 *
 * Threads: with the model's lock held.
 */
#ifndef WARPGYM_POLICY_TINKER_TRAIN_H
#define WARPGYM_POLICY_TINKER_TRAIN_H

#include "policy/tinker_model.h"

struct tinker_pass {
    const struct loss *loss;
    struct loss_config config; /* filled in (tinker_check_pass) */
    bool gradients;
};

NODISCARD int tinker_train_pass(struct tinker_model *model, const struct tinker_pass *pass,
                                struct lm_datum *datums, size_t count, struct loss_sums *sums,
                                struct err *err);
NODISCARD int tinker_train_step(struct tinker_model *model, const struct lm_adam *adam,
                                double *norm, struct err *err);

#endif
