/* profile: whose work the time was.
 *
 * On a GPU one more checked call is traced, launch by launch (trace.h), and where an interval of
 * the clock took many calls, so is one such interval of each size (trace_interval.h). On the CPU a
 * native candidate's work is its own, by construction: nothing else can be reached; and a torch
 * candidate without Triton has none.
 *
 * Triton kernels may be decoys (catalogue H40, H42, H45): they run, take time, and the answer comes
 * from somewhere else. So they work on copies for one call on inputs that were just answered
 * correctly. If the answer stays right, the kernels do not make it. A machine without a GPU runs
 * Triton in its interpreter, so only the answer means something there, not the time.
 *
 * Threads: the session's.
 */
#pragma once

#include "judge/measure/trial.h"

/* 0 or -1, as trial.h has it. */
int profile_stage(struct trials *trials);
