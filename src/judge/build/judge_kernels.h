/* judge_kernels: the kernels that the judge itself runs on a GPU (gpu_work.cu, gpu_peaks.cu),
 * compiled once for each GPU.
 *
 * Without them the host does their work, and peaks are not measured. Ownership: the unit's.
 * Threads: any; a second session waits until the first has compiled them.
 */
#pragma once

#include "judge/build/scratch.h"
#include "judge/gpu/gpu_pool.h"

/* Compiles them if that has not been tried; NULL: there are none. `unit` NULL: the CPU. */
const struct gpu_work *judge_kernels_get(const struct build_context *context,
                                         struct gpu_unit *unit);
