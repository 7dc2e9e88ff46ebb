/* trial_choice: positions that differ from the reference's, where the values there do not.
 *
 * Only a PyTorch reference knows of which values an output holds positions (choices.py): it is
 * called once more, on the same inputs, when such an output has mismatches. Threads: the session's.
 */
#pragma once

#include "judge/measure/trial_state.h"

/* *agrees: whether `got`, an output of whole numbers that is not `expected`, is as good. Afterwards
 * the reference has its outputs again. */
NODISCARD int trial_choice_agrees(struct trials *trials, const struct trial *trial, uint32_t slot,
                                  uint32_t output, const struct tensor *expected,
                                  const struct tensor *got, bool *agrees, struct err *err);
