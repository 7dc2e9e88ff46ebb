/* gpu_checks: the judge's kernels against the plain functions that they stand for. Run on the
 * stand-in driver (tests/judge/test_gpu_work.c) and on real GPUs (tests/gpu/work.c). */
#pragma once

#include "judge/gpu/gpu_work.h"

#define GPU_CHECKS_TEXT 512

struct gpu_checks {
    const struct gpu_work *work;
    const uint64_t *counts; /* of the elements of a tensor */
    size_t count_count;
};

struct gpu_check {
    const char *what;
    /* How many comparisons all came out right; -1: one did not, and text says which. */
    int (*run)(const struct gpu_checks *checks, char text[GPU_CHECKS_TEXT]);
};

/* Every operation of measure/tensor_work.h on a GPU against the host's: tensor_checks.c. */
int check_tensors(const struct gpu_checks *checks, char text[GPU_CHECKS_TEXT]);

extern const struct gpu_check gpu_checks[];
extern const size_t gpu_check_count;
