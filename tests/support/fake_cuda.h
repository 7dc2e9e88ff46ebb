/* fake_cuda: the driver and the management library without a GPU (tests/fake), for tests of what
 * calls them. */
#pragma once

#include "judge/gpu/gpu_work.h"

/* Their libraries, and the judge's kernels (gpu_work.cu) as that driver takes them, once
 * fake_cuda_find has run. */
extern char fake_cuda[], fake_nvml[], fake_gpu_work[];

/* Group set-up; not 0: it was not built. */
int fake_cuda_find(void **state);
/* Teardown: what FAKE_… asked of them is forgotten. */
int fake_cuda_clean(void **state);
/* A context on it, with the judge's kernels loaded; *image is the caller's (mem_free). Not 0: it
 * was not built. */
int fake_gpu_open(struct gpu_context *gpu, struct gpu_work *work, char **image);
