/* profile: whose work the time was, the candidate's own kernels' or a library's.
 *
 * On a GPU one more checked call is traced, launch by launch (trace.h), and where an interval of
 * the clock took many calls, so is one such interval of each size (trace_interval.h). On the CPU a
 * native candidate's work is its own, by construction: nothing else can be reached; and a torch
 * candidate without Triton or an extension has none. These kernels may be decoys (decoys.h).
 *
 * Threads: the session's.
 */
#pragma once

#include "judge/measure/trial.h"

/* 0 or -1, as trial.h has it. */
int profile_stage(struct trials *trials);
