#include "judge/gpu/gpu_work.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/embed.h"

#include <math.h>
#include <string.h>

#define THREADS 256
#define BLOCKS_MAX 4096
#define BATCH 64 /* arrays that a launch takes, as in gpu_work.cu */
#define COPY_BYTES 16
#define SWEEPS 3 /* that many L2 caches of memory go through it, half of them read */

EMBED_TEXT(gpu_work_source, "src/judge/gpu/gpu_work.cu");

int gpu_work_open(struct gpu_work *work, const struct gpu_context *gpu, const void *image,
                  struct err *err)
{
    const struct cuda *cuda = &gpu->cuda;
    const struct {
        const char *name;
        void **function;
    } wanted[] = {{"fill", &work->fill},       {"magnitude", &work->magnitude},
                  {"compare", &work->compare}, {"doubt", &work->doubt},
                  {"settle", &work->settle},   {"guard", &work->guard},
                  {"gather", &work->gather},   {"copy", &work->copy},
                  {"total", &work->total},     {"digest", &work->digest},
                  {"pick", &work->pick},       {"trim", &work->trim},
                  {"coarsen", &work->coarsen}, {"clear", &work->clear}};
    void *module = NULL;
    memset(work, 0, sizeof *work);
    cuda_result result = cuda->context_use(gpu->context);
    if (result == 0)
        result = cuda->module_load(&module, image);
    for (size_t i = 0; result == 0 && i < COUNT(wanted); i++)
        result = cuda->module_function(wanted[i].function, module, wanted[i].name);
    work->junk_bytes = gpu->facts.l2_bytes * SWEEPS / (2 * COPY_BYTES) * (2 * COPY_BYTES);
    if (result == 0 && work->junk_bytes)
        result = cuda->alloc(&work->junk, work->junk_bytes);
    if (result == 0)
        work->gpu = gpu;
    else if (module)
        cuda->module_unload(module);
    return cuda_check(cuda, result, "cannot load the judge's kernels", err);
}

/* `rows` of `count` elements each. */
static int launch_rows(const struct gpu_work *work, void *function, uint32_t rows, uint64_t count,
                       void **parameters, struct err *err)
{
    const struct cuda *cuda = &work->gpu->cuda;
    uint64_t blocks = (count + THREADS - 1) / THREADS;
    uint64_t most = BLOCKS_MAX / rows;
    unsigned width = (unsigned)(blocks < most ? blocks : most);
    cuda_result result = cuda->launch(function, width, rows, 1, THREADS, 1, 1, 0, NULL, parameters,
                                      NULL);
    return cuda_check(cuda, result, "cannot start a kernel of the judge's", err);
}

static int launch_row(const struct gpu_work *work, void *function, uint64_t count,
                      void **parameters, struct err *err)
{
    return launch_rows(work, function, 1, count, parameters, err);
}

static uint32_t batch_of(uint32_t left)
{
    return left < BATCH ? left : BATCH;
}

int gpu_work_fill(const struct gpu_work *work, const struct fill_plan *plan, const uint64_t *keys,
                  uint32_t arrays, uint64_t count, cuda_at to, uint64_t stride, struct err *err)
{
    struct fill_plan copy = *plan;
    int result = 0;
    for (uint32_t i = 0; result == 0 && count > 0 && i < arrays; i += BATCH) {
        uint64_t batch[BATCH] = {0};
        cuda_at first = to + i * stride;
        void *parameters[] = {&copy, batch, &count, &first, &stride};
        memcpy(batch, keys + i, batch_of(arrays - i) * sizeof *keys);
        result = launch_rows(work, work->fill, batch_of(arrays - i), count, parameters, err);
    }
    return result;
}

int gpu_work_copy(const struct gpu_work *work, cuda_at from, cuda_at to, uint64_t bytes,
                  struct err *err)
{
    uint64_t count = bytes / COPY_BYTES;
    void *parameters[] = {&from, &to, &count};
    if ((from | to | bytes) % COPY_BYTES)
        return err_set(err, ERR_INTERNAL, "a copy on the GPU that is not of whole pieces");
    return count ? launch_row(work, work->copy, count, parameters, err) : 0;
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
                                   .noise = spec->noise,
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
    int result = launch_row(work, work->magnitude, rule.count, first, err);
    return result < 0 ? result : launch_row(work, work->compare, rule.count, second, err);
}

int gpu_work_agree(const struct gpu_work *work, const struct comparison *spec,
                   const struct gpu_pair *pairs, uint32_t count, cuda_at found, struct err *err)
{
    struct gpu_comparison rule = rule_of(spec);
    int result = 0;
    for (uint32_t i = 0; result == 0 && rule.count > 0 && i < count; i += BATCH) {
        cuda_at batch[2][BATCH] = {{0}};
        cuda_at first = found + i * sizeof(struct gpu_finding);
        void *parameters[] = {&rule, batch, &first};
        uint32_t rows = batch_of(count - i);
        for (uint32_t k = 0; k < rows; k++) {
            batch[0][k] = pairs[i + k].expected;
            batch[1][k] = pairs[i + k].got;
        }
        result = launch_rows(work, work->doubt, rows, rule.count, parameters, err);
        if (result == 0)
            result = launch_rows(work, work->settle, rows, rule.count, parameters, err);
    }
    return result;
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

static int launch_gather(const struct gpu_work *work, const struct gpu_addresses *from,
                         unsigned places, unsigned threads, void *into, struct err *err)
{
    const struct cuda *cuda = &work->gpu->cuda;
    struct gpu_addresses copy = *from;
    void *parameters[] = {&copy, &into};
    cuda_result result = cuda->launch(work->gather, places, 1, 1, threads, 1, 1, 0, NULL,
                                      parameters, NULL);
    if (result == 0)
        result = cuda->synchronize();
    return cuda_check(cuda, result, "cannot read samples from the GPU", err);
}

int gpu_work_gather(const struct gpu_work *work, const struct gpu_addresses *from, void *into,
                    struct err *err)
{
    return launch_gather(work, from, GPU_ADDRESSES, GPU_ADDRESS_BYTES, into, err);
}

int gpu_work_nothing(const struct gpu_work *work, double *ms, struct err *err)
{
    static const struct gpu_addresses nowhere;
    int result = launch_gather(work, &nowhere, 1, 1, NULL, err);
    int64_t start_ns = clock_now_ns();
    if (result == 0)
        result = launch_gather(work, &nowhere, 1, 1, NULL, err);
    *ms = clock_ms_since(start_ns);
    return result;
}

bool gpu_work_idle(const struct gpu_work *work)
{
    struct err ignored;
    double ms;
    return gpu_context_use(work->gpu, &ignored) == 0 &&
           gpu_work_nothing(work, &ms, &ignored) == 0 && ms <= GPU_WORK_IDLE_MS;
}

int gpu_work_guard(const struct gpu_work *work, cuda_at at, uint64_t stride, uint32_t places,
                   uint32_t count, unsigned char value, cuda_at found, struct err *err)
{
    const struct cuda *cuda = &work->gpu->cuda;
    uint32_t wide = value;
    void *parameters[] = {&at, &stride, &count, &wide, &found};
    cuda_result result = cuda->launch(work->guard, places, 1, 1, THREADS, 1, 1, 0, NULL, parameters,
                                      NULL);
    return cuda_check(cuda, result, "cannot start a kernel of the judge's", err);
}

int gpu_work_total(const struct gpu_work *work, const struct gpu_elements *of, cuda_at into,
                   struct err *err)
{
    struct gpu_elements copy = *of;
    void *parameters[] = {&copy.dtype, &copy.at, &copy.count, &into};
    return copy.count ? launch_row(work, work->total, copy.count, parameters, err) : 0;
}

int gpu_work_digest(const struct gpu_work *work, cuda_at at, uint64_t bytes, cuda_at into,
                    struct err *err)
{
    void *parameters[] = {&at, &bytes, &into};
    return bytes ? launch_row(work, work->digest, (bytes + 7) / 8, parameters, err) : 0;
}

int gpu_work_pick(const struct gpu_work *work, const struct gpu_elements *of, uint64_t every,
                  uint64_t count, cuda_at into, struct err *err)
{
    struct gpu_elements copy = *of;
    void *parameters[] = {&copy.dtype, &copy.at, &every, &count, &into};
    return count ? launch_row(work, work->pick, count, parameters, err) : 0;
}

int gpu_work_trim(const struct gpu_work *work, const struct gpu_elements *of, double size,
                  cuda_at into, struct err *err)
{
    struct gpu_elements copy = *of;
    void *parameters[] = {&copy.dtype, &copy.at, &copy.count, &size, &into};
    return copy.count ? launch_row(work, work->trim, copy.count, parameters, err) : 0;
}

int gpu_work_coarsen(const struct gpu_work *work, const struct gpu_elements *of, int bits,
                     struct err *err)
{
    struct gpu_elements copy = *of;
    void *parameters[] = {&copy.dtype, &copy.at, &copy.count, &bits};
    return copy.count ? launch_row(work, work->coarsen, copy.count, parameters, err) : 0;
}

int gpu_work_clear(const struct gpu_work *work, cuda_at at, uint64_t rows, uint64_t stride,
                   uint64_t bytes, struct err *err)
{
    uint32_t unit = 8;
    while ((at | stride | bytes) % unit)
        unit /= 2;
    uint64_t units = bytes / unit;
    void *parameters[] = {&at, &rows, &stride, &unit, &units};
    return rows > 0 && units > 0 ? launch_row(work, work->clear, rows * units, parameters, err) : 0;
}

int gpu_work_wait(const struct gpu_work *work, struct err *err)
{
    const struct cuda *cuda = &work->gpu->cuda;
    return cuda_check(cuda, cuda->synchronize(), "the judge's own kernels failed", err);
}
