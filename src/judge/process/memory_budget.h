/* memory_budget: what fits into a device's memory.
 *
 * A call takes its arguments once for each of the two children. If it also takes an image of them
 * (measure/trial_gpu.c) and answers as large as themselves, that image may have to wait on the
 * host. How many calls one clock interval takes depends on what is free at that moment.
 *
 * On the CPU the judge's own copy takes the place of the image, and is always there. A driver or a
 * machine that does not say: everything fits; so it does with `gpu` NULL in all but the first.
 * Threads: any that may use the context.
 */
#pragma once

#include "device/gpu_context.h"

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_BUDGET_CHILDREN 2
/* Of the arguments: both children's, their image, and as much in both children's answers. */
#define MEMORY_BUDGET_COPIES (MEMORY_BUDGET_CHILDREN + 1 + MEMORY_BUDGET_CHILDREN)
#define MEMORY_BUDGET_PART 0.9 /* of a GPU's memory; contexts take the rest */

/* ERR_UNSUPPORTED: a call of the problem, with arguments of that many bytes, does not fit. On the
 * CPU (gpu NULL) a candidate takes as much beside them as its reference has had, `peak_bytes`. */
NODISCARD int memory_budget_check(const struct gpu_context *gpu, const char *problem,
                                  uint64_t bytes, uint64_t peak_bytes, struct err *err);
/* ERR_UNSUPPORTED: the judge's copies of answers (`copies`) and a candidate that takes `candidate`
 * bytes for its own do not fit into what this machine has available and the candidate has already,
 * `had` bytes. What a candidate hoards is no lack of memory. */
NODISCARD int memory_budget_check_answers(const char *problem, uint64_t copies, uint64_t candidate,
                                          uint64_t had, struct err *err);
/* Whether an image of that many bytes of arguments fits beside both children's. */
bool memory_budget_fits_image(const struct gpu_context *gpu, uint64_t bytes);
/* How many calls of `bytes` each, in all, fit into what is free now; less than 1: hardly one. */
double memory_budget_calls(const struct gpu_context *gpu, double bytes);
