/* judge_kernels: the kernels that the judge itself runs on a GPU (gpu_work.cu, gpu_peaks.cu),
 * compiled once for each GPU.
 *
 * Without them the host does their work, and peaks are not measured. What failed (a timeout, a lack
 * of memory) may work later: a session tries it again JUDGE_KERNELS_AGAIN_MS afterwards, and those
 * before it get the reason that was kept. Ownership: the unit's. Threads: any; a second session
 * waits until the first has compiled them.
 */
#pragma once

#include "judge/build/scratch.h"
#include "judge/gpu/gpu_pool.h"

#define JUDGE_KERNELS_AGAIN_MS 30000

/* Compiles them if that is due. NULL: there are none, and `err` says why. ERR_MISSING: there is no
 * compiler. */
const struct gpu_work *judge_kernels_get(const struct build_context *context, struct gpu_unit *unit,
                                         struct err *err);
