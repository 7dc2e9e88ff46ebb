/* probe: does a GPU work again after its quarantine?
 *
 * A sandboxed process that is to load nothing makes a context, some memory and a fill on the GPU
 * before it finds out that there is nothing to load. Threads: any.
 */
#pragma once

#include "base/err.h"
#include "device/gpu.h"

/* Whether a fresh process can use the GPU; of a struct judge. Cached references there are closed.
 * As gpu_pool_options.probe. */
NODISCARD int judge_probe_gpu(void *judge, const struct gpu *facts, struct err *err);
