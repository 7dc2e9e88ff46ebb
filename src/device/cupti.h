/* cupti: where NVIDIA's CUPTI is, which a launch trace needs (judge/trace). */
#pragma once

/* The one of the CUDA toolkit that `nvcc` (a path, or NULL) belongs to; NULL: it has none, and the
 * dynamic linker, or PyTorch, may know another. The caller's (mem_free). */
char *cupti_find(const char *nvcc);
