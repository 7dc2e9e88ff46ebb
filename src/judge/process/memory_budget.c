#include "judge/process/memory_budget.h"

#include "device/machine_load.h"

#define CALLS_PART 0.5 /* of what is free: the rest is for what the calls themselves need */
#define GIB ((double)(1 << 30))

/* False: the driver does not say. */
static bool read_memory(const struct gpu_context *gpu, size_t *free_bytes, size_t *total_bytes)
{
    struct err ignored;
    return gpu && gpu_context_use(gpu, &ignored) == 0 &&
           gpu->cuda.memory_info(free_bytes, total_bytes) == 0;
}

static int check_machine(const char *problem, uint64_t bytes, uint64_t peak_bytes, struct err *err)
{
    uint64_t available = load_available_bytes();
    uint64_t wanted = (MEMORY_BUDGET_CHILDREN + 1) * bytes + peak_bytes;
    if (available == 0 || wanted <= available)
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "problem %s needs %.1f GiB of this machine's memory beside its reference, %.1f "
                   "of them arguments of the reference, of the candidate and of the judge, and "
                   "%.1f are available: it takes a larger machine, fewer --jobs or smaller sizes",
                   problem, (double)wanted / GIB,
                   (double)(MEMORY_BUDGET_CHILDREN + 1) * (double)bytes / GIB,
                   (double)available / GIB);
}

int memory_budget_check_answers(const char *problem, uint64_t copies, uint64_t candidate,
                                uint64_t had, struct err *err)
{
    if (copies == 0) /* as of all calls but the first: nothing is read then */
        return 0;
    uint64_t available = load_available_bytes();
    if (available == 0 || copies + candidate <= available + had)
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "the answers of problem %s need %.1f GiB of this machine's memory beside what "
                   "its reference has, %.1f of them the judge's copies, and %.1f are available: it "
                   "takes a larger machine, fewer --jobs or smaller sizes",
                   problem, (double)(copies + candidate) / GIB, (double)copies / GIB,
                   (double)(available + had) / GIB);
}

int memory_budget_check(const struct gpu_context *gpu, const char *problem, uint64_t bytes,
                        uint64_t peak_bytes, struct err *err)
{
    size_t free_bytes;
    size_t total_bytes;
    if (!gpu)
        return check_machine(problem, bytes, peak_bytes, err);
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
    return !read_memory(gpu, &free_bytes, &total_bytes) ||
           MEMORY_BUDGET_COPIES * (double)bytes <= MEMORY_BUDGET_PART * (double)total_bytes;
}

double memory_budget_calls(const struct gpu_context *gpu, double bytes)
{
    size_t free_bytes;
    size_t total_bytes;
    if (!read_memory(gpu, &free_bytes, &total_bytes))
        return 1;
    return CALLS_PART * (double)free_bytes / bytes;
}
