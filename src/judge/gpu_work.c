#include "judge/gpu_work.h"

#include <math.h>
#include <string.h>

#define THREADS 256
#define BLOCKS_MAX 4096
#define COPY_BYTES 16
#define SWEEPS 3 /* that many L2 caches of memory go through it, half of them read */

__asm__(".pushsection .rodata\n"
        ".global gpu_work_source\n"
        "gpu_work_source:\n"
        ".incbin \"src/judge/gpu_work.cu\"\n"
        ".byte 0\n"
        ".popsection\n");

int gpu_work_open(struct gpu_work *work, const struct gpu_context *gpu, const void *image,
                  struct err *err)
{
    const struct cuda *cuda = &gpu->cuda;
    const struct {
        const char *name;
        void **function;
    } wanted[] = {{"fill", &work->fill},       {"magnitude", &work->magnitude},
                  {"compare", &work->compare}, {"guard", &work->guard},
                  {"gather", &work->gather},   {"copy", &work->copy}};
    void *module;
    memset(work, 0, sizeof *work);
    cuda_result result = cuda->context_use(gpu->context);
    if (result == 0)
        result = cuda->module_load(&module, image);
    for (size_t i = 0; result == 0 && i < sizeof wanted / sizeof *wanted; i++)
        result = cuda->module_function(wanted[i].function, module, wanted[i].name);
    work->junk_bytes = gpu->facts.l2_bytes * SWEEPS / (2 * COPY_BYTES) * (2 * COPY_BYTES);
    if (result == 0 && work->junk_bytes)
        result = cuda->alloc(&work->junk, work->junk_bytes);
    if (result == 0)
        work->gpu = gpu;
    return cuda_check(cuda, result, "cannot load the judge's kernels", err);
}

static int launch(const struct gpu_work *work, void *function, uint64_t count, void **parameters,
                  struct err *err)
{
    const struct cuda *cuda = &work->gpu->cuda;
    uint64_t blocks = (count + THREADS - 1) / THREADS;
    unsigned width = (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
    cuda_result result = cuda->launch(function, width, 1, 1, THREADS, 1, 1, 0, NULL, parameters,
                                      NULL);
    return cuda_check(cuda, result, "cannot start a kernel of the judge's", err);
}

int gpu_work_fill(const struct gpu_work *work, const struct fill_plan *plan, uint64_t count,
                  cuda_at to, struct err *err)
{
    struct fill_plan copy = *plan;
    void *parameters[] = {&copy, &count, &to};
    return launch(work, work->fill, count, parameters, err);
}

int gpu_work_copy(const struct gpu_work *work, cuda_at from, cuda_at to, uint64_t bytes,
                  struct err *err)
{
    uint64_t count = bytes / COPY_BYTES;
    void *parameters[] = {&from, &to, &count};
    if ((from | to | bytes) % COPY_BYTES)
        return err_set(err, ERR_INTERNAL, "a copy on the GPU that is not of whole pieces");
    return count ? launch(work, work->copy, count, parameters, err) : 0;
}

int gpu_work_sweep(const struct gpu_work *work, struct err *err)
{
    uint64_t half = work->junk_bytes / 2;
    if (work->gpu->cuda.forget_persisting)
        (void)work->gpu->cuda.forget_persisting();
    return gpu_work_copy(work, work->junk, work->junk + half, half, err);
}

static struct gpu_comparison rule_of(const struct comparison *spec)
{
    return (struct gpu_comparison){.count = spec->count,
                                   .dtype = spec->dtype,
                                   .expected_dtype = spec->expected_dtype,
                                   .exact = spec->tolerance.exact,
                                   .scale_rms = spec->tolerance.scale == SCALE_RMS,
                                   .relative = spec->tolerance.relative + spec->slack,
                                   .absolute = spec->tolerance.absolute,
                                   .overflow = compare_overflow(spec)};
}

int gpu_work_compare(const struct gpu_work *work, const struct comparison *spec, cuda_at expected,
                     cuda_at got, cuda_at found, struct err *err)
{
    struct gpu_comparison rule = rule_of(spec);
    void *first[] = {&rule, &expected, &found};
    void *second[] = {&rule, &expected, &got, &found};
    if (rule.count == 0)
        return 0;
    int result = launch(work, work->magnitude, rule.count, first, err);
    return result < 0 ? result : launch(work, work->compare, rule.count, second, err);
}

static double rms_of(const struct gpu_finding *finding)
{
    const double *sums = finding->squares;
    double count = (double)finding->finite;
    if (sums[2] > 0)
        return ldexp(sqrt((sums[2] + ldexp(sums[1], -1200)) / count), 600);
    if (sums[1] > 0)
        return sqrt((sums[1] + ldexp(sums[0], -1200)) / count);
    return sums[0] > 0 ? ldexp(sqrt(sums[0] / count), -600) : 0;
}

void gpu_work_difference(const struct comparison *spec, const struct gpu_finding *finding,
                         struct difference *difference)
{
    *difference = (struct difference){
        .mismatches = finding->mismatches,
        .first_index = finding->mismatches ? ~finding->first : 0,
        .max_absolute = finding->absolute,
        .max_relative = finding->relative,
        .nan_mismatch = finding->lopsided > 0,
        .scale = rms_of(finding),
    };
    if (!dtype_facts(spec->dtype))
        difference->mismatches = spec->count;
}

static int gather(const struct gpu_work *work, const struct gpu_places *from, unsigned places,
                  unsigned threads, void *into, struct err *err)
{
    const struct cuda *cuda = &work->gpu->cuda;
    struct gpu_places copy = *from;
    void *parameters[] = {&copy, &into};
    cuda_result result = cuda->launch(work->gather, places, 1, 1, threads, 1, 1, 0, NULL,
                                      parameters, NULL);
    if (result == 0)
        result = cuda->synchronize();
    return cuda_check(cuda, result, "cannot read samples from the GPU", err);
}

int gpu_work_gather(const struct gpu_work *work, const struct gpu_places *from, void *into,
                    struct err *err)
{
    return gather(work, from, GPU_PLACES, GPU_PLACE_BYTES, into, err);
}

int gpu_work_nothing(const struct gpu_work *work, void *into, struct err *err)
{
    static const struct gpu_places nowhere;
    return gather(work, &nowhere, 1, 1, into, err);
}

int gpu_work_guard(const struct gpu_work *work, cuda_at at, uint32_t count, unsigned char value,
                   cuda_at found, struct err *err)
{
    uint32_t wide = value;
    void *parameters[] = {&at, &count, &wide, &found};
    return launch(work, work->guard, 1, parameters, err);
}

int gpu_work_wait(const struct gpu_work *work, struct err *err)
{
    const struct cuda *cuda = &work->gpu->cuda;
    return cuda_check(cuda, cuda->synchronize(), "the judge's own kernels failed", err);
}
