#include "judge/gpu/memory_budget.h"

#define CALLS_PART 0.5  /* of what is free: the rest is for what the calls themselves need */
#define USABLE_PART 0.9 /* of all: contexts take their share */

/* False: the driver does not say. */
static bool read_memory(const struct gpu_context *gpu, size_t *free_bytes, size_t *total_bytes)
{
    struct err ignored;
    return gpu && gpu_context_use(gpu, &ignored) == 0 &&
           gpu->cuda.memory_info(free_bytes, total_bytes) == 0;
}

int memory_budget_check(const struct gpu_context *gpu, const char *problem, uint64_t bytes,
                        struct err *err)
{
    size_t free_bytes;
    size_t total_bytes;
    if (!read_memory(gpu, &free_bytes, &total_bytes) ||
        bytes <= total_bytes / MEMORY_BUDGET_CHILDREN)
        return 0;
    return err_set(
        err, ERR_UNSUPPORTED,
        "a call of problem %s needs %llu bytes of the GPU's memory at the least, %llu of "
        "arguments for each of the two children, and %s has %llu: it takes a larger GPU or "
        "smaller sizes",
        problem, (unsigned long long)bytes * MEMORY_BUDGET_CHILDREN, (unsigned long long)bytes,
        gpu->facts.name, (unsigned long long)total_bytes);
}

bool memory_budget_fits_image(const struct gpu_context *gpu, uint64_t bytes)
{
    size_t free_bytes;
    size_t total_bytes;
    /* arguments, their image, and as much in answers */
    double copies = MEMORY_BUDGET_CHILDREN + 1 + MEMORY_BUDGET_CHILDREN;
    return !read_memory(gpu, &free_bytes, &total_bytes) ||
           copies * (double)bytes <= USABLE_PART * (double)total_bytes;
}

double memory_budget_calls(const struct gpu_context *gpu, double bytes)
{
    size_t free_bytes;
    size_t total_bytes;
    if (!read_memory(gpu, &free_bytes, &total_bytes))
        return 1;
    return CALLS_PART * (double)free_bytes / bytes;
}
