/* decoys: kernels that do not make the answer (catalogue H40, H42, H45): they run, take time, and
 * the answer comes from somewhere else.
 *
 * So they have no effect in one call on inputs that were just answered correctly
 * (python/warpgym/ablation.py). If the answer stays right, the kernels do not make it. A machine
 * without a GPU runs Triton in its interpreter, so only the answer means something there, not the
 * time. On a GPU a launch trace shows what C++ and CUDA extensions do, and they are left alone.
 *
 * Threads: the session's.
 */
#pragma once

#include "judge/measure/trial.h"

/* One such call. *same: its answer was right. 0 or -1, as trial.h has it. */
int decoys_call(struct trials *trials, bool *same);
/* Behind decoys_call, on the CPU: the share of a call's time that its extensions take, 0 to 1, by
 * how much shorter calls are in which they do nothing. NAN: it does not work without. */
int decoys_share(struct trials *trials, double *share);
/* As decoys_call, and then that is a violation. */
int decoys_find(struct trials *trials);
