/* guard: whether training has run away.
 *
 *   steps in a row whose loss or gradient is not finite   train.guard_skips
 *   the gradient's norm, before clipping                  train.guard_norm
 *   the mismatch of sampler and trainer, k3               train.guard_kl
 *
 * What is not finite is skipped (it changed no weight); what is above a bound ends the run, with
 * its last checkpoint untouched. Threads: one at a time.
 */
#ifndef WARPGYM_RL_TRAIN_TRAIN_GUARD_H
#define WARPGYM_RL_TRAIN_TRAIN_GUARD_H

#include "base/err.h"
#include "base/settings.h"
#include "policy/train_backend.h"

#include <stdbool.h>
#include <stdint.h>

struct train_guard {
    uint64_t skips; /* in a row; goes with a checkpoint */
};

struct train_guard_figures {
    bool not_finite;
    double norm, kl; /* NAN: not known */
};

/* train_backend_step, where the loss of its gradients is finite and so are they: else no weight is
 * changed, and no gradient is left. ERR_INPUT: the loss is not, and the gradients are a service's,
 * which would step with them. */
NODISCARD int train_guard_step(struct train_backend *backend, double loss,
                               const struct lm_adam *adam, double *norm, bool *not_finite,
                               struct err *err);

/* ERR_INPUT: a sentence about what ran away, and what to do. */
NODISCARD int train_guard_check(struct train_guard *guard, const struct settings *settings,
                                uint64_t step, const struct train_guard_figures *figures,
                                struct err *err);

#endif
