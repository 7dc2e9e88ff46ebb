#include "judge/measure/tensor_work.h"
#include "problem/dtype.h"

#include <string.h>

#define PIECE_BYTES 4096 /* whole elements of every type */

static int check(const struct tensor_work *work, cuda_result result, struct err *err)
{
    return cuda_check(&work->gpu->gpu->cuda, result, "cannot make an audit's tensor", err);
}

static struct gpu_elements elements_of(const struct tensor_elements *of)
{
    return (struct gpu_elements){.at = of->place.at, .count = of->count, .dtype = of->dtype};
}

static int reserve_on_gpu(const struct tensor_work *work, struct tensor_memory *memory,
                          uint64_t bytes, struct err *err)
{
    if (memory->bytes >= bytes && memory->gpu.gpu)
        return 0;
    tensor_memory_free(memory);
    int result = gpu_memory_make(&memory->gpu, work->gpu->gpu, bytes, err);
    if (result == 0) {
        memory->bytes = bytes;
        memory->place.at = memory->gpu.address;
    }
    return result;
}

static int copy_on_gpu(const struct tensor_work *work, struct tensor_place from,
                       struct tensor_place to, uint64_t bytes, struct err *err)
{
    const struct cuda *cuda = &work->gpu->gpu->cuda;
    int result = bytes > 0 ? check(work, cuda->copy_on_device(to.at, from.at, bytes), err) : 0;
    return result < 0 ? result : gpu_work_wait(work->gpu, err);
}

/* Whether all bytes of an element are the same. */
static bool is_even(const char *element, size_t bytes)
{
    return memcmp(element, element + 1, bytes - 1) == 0;
}

/* A piece, and then twice as much each time. */
static cuda_result spread_piece(const struct cuda *cuda, const char *piece, cuda_at at,
                                uint64_t bytes)
{
    uint64_t there = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
    cuda_result result = cuda->copy_to_device(at, piece, there);
    while (result == 0 && there < bytes) {
        uint64_t more = bytes - there < there ? bytes - there : there;
        result = cuda->copy_on_device(at + there, at, more);
        there += more;
    }
    return result;
}

static int set_on_gpu(const struct tensor_work *work, const struct tensor_elements *of,
                      double value, struct err *err)
{
    const struct cuda *cuda = &work->gpu->gpu->cuda;
    size_t each = dtype_facts(of->dtype)->bytes;
    uint64_t bytes = of->count * each;
    char piece[PIECE_BYTES] = {0};
    if (bytes == 0)
        return 0;
    for (size_t i = 0; i < PIECE_BYTES / each; i++)
        dtype_store(of->dtype, piece, i, value);
    int result = check(work,
                       is_even(piece, each)
                           ? cuda->fill(of->place.at, (unsigned char)piece[0], bytes)
                           : spread_piece(cuda, piece, of->place.at, bytes),
                       err);
    return result < 0 ? result : gpu_work_wait(work->gpu, err);
}

static int begin_numbers(const struct tensor_work *work, size_t bytes, struct err *err)
{
    return gpu_memory_fill(&work->found, 0, 0, bytes, err);
}

/* What the kernels before it found. */
static int end_numbers(const struct tensor_work *work, void *numbers, size_t bytes, struct err *err)
{
    int result = gpu_work_wait(work->gpu, err);
    return result < 0 ? result : gpu_memory_read(&work->found, 0, numbers, bytes, err);
}

static int sum_on_gpu(const struct tensor_work *work, const struct tensor_elements *of, double *sum,
                      struct err *err)
{
    struct gpu_elements elements = elements_of(of);
    int result = begin_numbers(work, sizeof *sum, err);
    if (result == 0)
        result = gpu_work_total(work->gpu, &elements, work->found.address, err);
    return result < 0 ? result : end_numbers(work, sum, sizeof *sum, err);
}

static int digest_on_gpu(const struct tensor_work *work, struct tensor_place place, uint64_t bytes,
                         uint64_t *digest, struct err *err)
{
    int result = begin_numbers(work, sizeof *digest, err);
    if (result == 0)
        result = gpu_work_digest(work->gpu, place.at, bytes, work->found.address, err);
    return result < 0 ? result : end_numbers(work, digest, sizeof *digest, err);
}

static int pick_on_gpu(const struct tensor_work *work, const struct tensor_elements *of,
                       uint64_t every, double values[TENSOR_SAMPLE], struct err *err)
{
    struct gpu_elements elements = elements_of(of);
    uint64_t count = tensor_picked(of->count, every);
    int result = gpu_work_pick(work->gpu, &elements, every, count, work->found.address, err);
    return result < 0 ? result : end_numbers(work, values, count * sizeof *values, err);
}

static int trim_on_gpu(const struct tensor_work *work, const struct tensor_elements *of,
                       double size, struct tensor_trimmed *trimmed, struct err *err)
{
    struct gpu_elements elements = elements_of(of);
    int result = begin_numbers(work, sizeof *trimmed, err);
    if (result == 0)
        result = gpu_work_trim(work->gpu, &elements, size, work->found.address, err);
    return result < 0 ? result : end_numbers(work, trimmed, sizeof *trimmed, err);
}

static int coarsen_on_gpu(const struct tensor_work *work, const struct tensor_elements *of,
                          int bits, struct err *err)
{
    struct gpu_elements elements = elements_of(of);
    int result = gpu_work_coarsen(work->gpu, &elements, bits, err);
    return result < 0 ? result : gpu_work_wait(work->gpu, err);
}

static int clear_on_gpu(const struct tensor_work *work, struct tensor_place place, uint64_t rows,
                        uint64_t stride, uint64_t bytes, struct err *err)
{
    int result = gpu_work_clear(work->gpu, place.at, rows, stride, bytes, err);
    return result < 0 ? result : gpu_work_wait(work->gpu, err);
}

_Static_assert(sizeof(struct tensor_trimmed) == 2 * sizeof(uint64_t), "the kernel adds to both");

const struct tensor_operations tensor_operations_on_gpu = {
    .reserve = reserve_on_gpu,
    .copy = copy_on_gpu,
    .set = set_on_gpu,
    .sum = sum_on_gpu,
    .digest = digest_on_gpu,
    .pick = pick_on_gpu,
    .trim = trim_on_gpu,
    .coarsen = coarsen_on_gpu,
    .clear = clear_on_gpu,
};
