/* decoys: Triton kernels that do not make the answer (catalogue H40, H42, H45): they run, take
 * time, and the answer comes from somewhere else.
 *
 * So they work on copies for one call on inputs that were just answered correctly. If the answer
 * stays right, the kernels do not make it. A machine without a GPU runs Triton in its interpreter,
 * so only the answer means something there, not the time.
 *
 * Threads: the session's.
 */
#pragma once

#include "judge/measure/trial.h"

/* One call with the kernels on copies. 0 or -1, as trial.h has it: a violation if it is right. */
int decoys_find(struct trials *trials);
