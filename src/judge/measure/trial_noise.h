/* trial_noise: what rounding alone may do to the outputs of a PyTorch reference, which says it
 * itself (rounding.py): of the inputs that it is opened with, and of those of a trial where that
 * decides. Threads: the session's.
 */
#pragma once

#include "judge/measure/trial_state.h"
#include "judge/numeric/compare.h"

/* A PyTorch reference's own error counts up to this part of an output: what is larger is left of
 * terms that cancelled, and counts as noise. */
#define TRIAL_MOST_OWN_ERROR 0x1p-4

/* After trial_reference: where the trial has an oracle, the noise of its outputs, unless those of
 * the trials before had more. */
NODISCARD int trial_take_noise(struct trials *trials, const struct trial *trial, struct err *err);
/* Whether an output that differs so may be right, with the noise on the inputs at hand. Once a
 * trial, and never where it differs by more than any noise is. */
bool trial_noise_possible(const struct trials *trials, const struct tensor *got,
                          const struct difference *difference);
/* The reference measures that noise. Afterwards it has its outputs again. */
NODISCARD int trial_noise_measure(struct trials *trials, const struct trial *trial,
                                  struct err *err);
