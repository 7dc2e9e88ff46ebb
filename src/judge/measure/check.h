/* check: the stage that asks whether a candidate is right.
 *
 * Native: every check row of the problem, then sizes that only the judge knows (`draw:`), some with
 * shifted inputs (input_shift.h). Torch: check.trials fresh inputs, and one more with shifted ones.
 * Simple: its cases, once. Threads: the session's.
 */
#pragma once

#include "judge/measure/trial.h"

/* 0 or -1, as trial.h has it. */
int check_stage(struct trials *trials);
