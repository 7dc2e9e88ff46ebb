/* run_hparams: a run's settings for TensorBoard's HParams tab. */
#ifndef WARPGYM_RL_RUN_HPARAMS_H
#define WARPGYM_RL_RUN_HPARAMS_H

#include "base/settings.h"
#include "rl/run/events.h"

/* The sections that say what is learned and how: train, gym, policy, lm, check; "gym/turns". The
 * directory's own name is the run's. */
NODISCARD int run_hparams(struct events *events, const char *directory,
                          const struct settings *settings, struct err *err);

#endif
