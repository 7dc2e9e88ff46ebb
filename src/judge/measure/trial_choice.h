/* trial_choice: positions that differ from the reference's, where the values there do not.
 *
 * Only a PyTorch reference knows of which values an output holds positions (choices.py): it is
 * called once more, on the same inputs, when such outputs have mismatches. Threads: the session's.
 */
#pragma once

#include "judge/measure/trial_state.h"

/* How many tensors the reference's answer to one slot is at the most, what it says of positions
 * included. Once it has answered. */
uint32_t trial_choice_tensors(const struct trials *trials);
/* Whether an output that is not `expected` may be as good. */
bool trial_choice_possible(const struct trials *trials, const struct tensor *expected,
                           const struct tensor *got);

struct trial_positions {
    uint32_t slot, output;
    struct tensor expected, got;
};

/* *agree: how many of the first are as good. Afterwards the reference has its outputs again. */
NODISCARD int trial_choice_agree(struct trials *trials, const struct trial *trial,
                                 const struct trial_positions *positions, uint32_t count,
                                 uint32_t *agree, struct err *err);
