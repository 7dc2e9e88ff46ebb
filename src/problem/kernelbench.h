/* kernelbench: how KernelBench names the files of a model's answers.
 *
 *   level_N_problem_M_sample_K_kernel.py        of a set
 *   generated_kernel_level_N_problem_M.py       of one answer: sample 0
 *
 * Threads: pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kernelbench_answer {
    int64_t level, problem, sample;
};

/* From the last part of a path. False: it is no such name. */
bool kernelbench_answer_named(const char *path, struct kernelbench_answer *answer);
