/* memory_budget: what fits into a GPU's memory.
 *
 * A call takes its arguments once for each of the two children. If it also takes an image of them
 * (measure/trial_gpu.c) and answers as large as themselves, that image may have to wait on the
 * host. How many calls one clock interval takes depends on what is free at that moment.
 *
 * `gpu` NULL, or a driver that does not say: everything fits. Threads: any that may use the
 * context.
 */
#pragma once

#include "device/gpu_context.h"

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_BUDGET_CHILDREN 2

/* ERR_UNSUPPORTED: a call of the problem, with arguments of that many bytes, does not fit. */
NODISCARD int memory_budget_check(const struct gpu_context *gpu, const char *problem,
                                  uint64_t bytes, struct err *err);
/* Whether an image of that many bytes of arguments fits beside both children's. */
bool memory_budget_fits_image(const struct gpu_context *gpu, uint64_t bytes);
/* How many calls of `bytes` each, in all, fit into what is free now; less than 1: hardly one. */
double memory_budget_calls(const struct gpu_context *gpu, double bytes);
