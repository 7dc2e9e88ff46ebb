#include "rl/train/train_guard.h"

#include "rl/train/train_settings.h"

#include <inttypes.h>
#include <math.h>

int train_guard_step(struct train_backend *backend, double loss, const struct lm_adam *adam,
                     double *norm, bool *not_finite, struct err *err)
{
    *norm = NAN;
    *not_finite = !isfinite(loss);
    if (*not_finite)
        return train_backend_kind(backend) == TRAIN_ENGINE
                   ? 0
                   : err_set(err, ERR_INPUT,
                             "the loss is %g, and a service would step with its gradient", loss);
    int result = train_backend_step(backend, adam, norm, err);
    *not_finite = result == ERR_INPUT && !isfinite(*norm);
    return *not_finite ? 0 : result;
}

int train_guard_check(struct train_guard *guard, const struct settings *settings, uint64_t step,
                      const struct train_guard_figures *figures, struct err *err)
{
    const struct train_settings *train = train_settings(settings);
    guard->skips = figures->not_finite ? guard->skips + 1 : 0;
    if (guard->skips >= (uint64_t)train->guard_skips)
        return err_set(err, ERR_INPUT,
                       "step %" PRIu64 ": the loss or its gradient was not finite %" PRIu64
                       " times in a row; lower train.rate, or lengthen train.warmup, in another "
                       "directory",
                       step, guard->skips);
    if (figures->not_finite)
        return 0;
    if (train->guard_norm > 0 && figures->norm > train->guard_norm)
        return err_set(err, ERR_INPUT,
                       "step %" PRIu64 ": the gradient's norm is %.4g, above train.guard_norm "
                       "%.4g; lower train.rate in another directory, or raise the bound",
                       step, figures->norm, train->guard_norm);
    if (train->guard_kl > 0 && figures->kl > train->guard_kl)
        return err_set(
            err, ERR_INPUT,
            "step %" PRIu64 ": sampler and trainer differ by a KL of %.4g, above "
            "train.guard_kl %.4g; lower train.staleness or train.substeps, or raise the bound",
            step, figures->kl, train->guard_kl);
    return 0;
}
