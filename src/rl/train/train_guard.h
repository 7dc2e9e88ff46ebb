/* train_guard: detects divergence of the training.
 *
 *   steps in a row whose loss or gradient is not finite   train.guard_skips
 *   the gradient's norm, before clipping                  train.guard_norm
 *   the mismatch of sampler and trainer, k3               train.guard_kl
 *
 * A step that is not finite is skipped (it changed no weight); a value above a bound ends the run,
 * with its last checkpoint untouched. Ownership: the caller's storage. Threads: one at a time.
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"
#include "policy/train_backend.h"

#include <stdbool.h>
#include <stdint.h>

struct train_guard {
    uint64_t skips; /* in a row; saved with a checkpoint */
};

struct train_guard_figures {
    bool not_finite;
    double norm, kl; /* NAN: unknown */
};

/* train_backend_step if the loss and its gradients are finite; else no weight changes and the
 * gradients are dropped. ERR_INPUT: the loss is not finite and a service holds the gradients, which
 * it would apply. */
NODISCARD int train_guard_step(struct train_backend *backend, double loss,
                               const struct lm_adam *adam, double *norm, bool *not_finite,
                               struct err *err);

/* ERR_INPUT: what diverged, and what to do. */
NODISCARD int train_guard_check(struct train_guard *guard, const struct settings *settings,
                                uint64_t step, const struct train_guard_figures *figures,
                                struct err *err);
