#include "judge/measure/tensor_work.h"

#include "base/mem.h"
#include "problem/dtype.h"

#include <math.h>
#include <string.h>

static int reserve_bytes(const struct tensor_work *work, struct tensor_memory *memory,
                         uint64_t bytes, struct err *err)
{
    if (memory->bytes >= bytes)
        return 0;
    mem_free(memory->place.data);
    memory->place.data = mem_alloc(bytes);
    memory->bytes = bytes;
    return 0;
}

static int copy_bytes(const struct tensor_work *work, struct tensor_place from,
                      struct tensor_place to, uint64_t bytes, struct err *err)
{
    if (bytes > 0)
        memcpy(to.data, from.data, bytes);
    return 0;
}

static int set_elements(const struct tensor_work *work, const struct tensor_elements *of,
                        double value, struct err *err)
{
    for (uint64_t i = 0; i < of->count; i++)
        dtype_store(of->dtype, of->place.data, i, value);
    return 0;
}

static int sum_elements(const struct tensor_work *work, const struct tensor_elements *of,
                        double *sum, struct err *err)
{
    *sum = 0;
    for (uint64_t i = 0; i < of->count; i++)
        *sum += dtype_load(of->dtype, of->place.data, i);
    return 0;
}

/* As in gpu_work.cu. */
static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static int digest_bytes(const struct tensor_work *work, struct tensor_place place, uint64_t bytes,
                        uint64_t *digest, struct err *err)
{
    *digest = 0;
    for (uint64_t i = 0; i * 8 < bytes; i++) {
        uint64_t word = 0;
        memcpy(&word, place.data + i * 8, bytes - i * 8 < 8 ? bytes - i * 8 : 8);
        *digest += mix_bits(word + mix_bits(i + UINT64_C(0x9E3779B97F4A7C15)));
    }
    return 0;
}

static int pick_elements(const struct tensor_work *work, const struct tensor_elements *of,
                         uint64_t every, double values[TENSOR_SAMPLE], struct err *err)
{
    for (uint64_t i = 0; i < tensor_picked(of->count, every); i++)
        values[i] = dtype_load(of->dtype, of->place.data, i * every);
    return 0;
}

static int trim_elements(const struct tensor_work *work, const struct tensor_elements *of,
                         double size, struct tensor_trimmed *trimmed, struct err *err)
{
    *trimmed = (struct tensor_trimmed){0};
    for (uint64_t i = 0; i < of->count; i++) {
        double value = fabs(dtype_load(of->dtype, of->place.data, i));
        if (!(value < size)) {
            trimmed->kept++;
            continue;
        }
        trimmed->lost += value > 0;
        dtype_store(of->dtype, of->place.data, i, 0);
    }
    return 0;
}

/* Through the double that holds every narrower type. */
static double coarsen_value(double value, int bits)
{
    int exponent;
    double mantissa = frexp(value, &exponent);
    return ldexp(nearbyint(ldexp(mantissa, bits + 1)), exponent - bits - 1);
}

static int coarsen_elements(const struct tensor_work *work, const struct tensor_elements *of,
                            int bits, struct err *err)
{
    for (uint64_t i = 0; i < of->count; i++) {
        double value = dtype_load(of->dtype, of->place.data, i);
        if (isfinite(value))
            dtype_store(of->dtype, of->place.data, i, coarsen_value(value, bits));
    }
    return 0;
}

static int clear_rows(const struct tensor_work *work, struct tensor_place place, uint64_t rows,
                      uint64_t stride, uint64_t bytes, struct err *err)
{
    for (uint64_t i = 0; bytes > 0 && i < rows; i++)
        memset(place.data + i * stride, 0, bytes);
    return 0;
}

const struct tensor_operations tensor_operations_on_host = {
    .reserve = reserve_bytes,
    .copy = copy_bytes,
    .set = set_elements,
    .sum = sum_elements,
    .digest = digest_bytes,
    .pick = pick_elements,
    .trim = trim_elements,
    .coarsen = coarsen_elements,
    .clear = clear_rows,
};

int tensor_work_open(struct tensor_work *work, const struct gpu_work *gpu, struct err *err)
{
    *work = (struct tensor_work){
        .operations = gpu ? &tensor_operations_on_gpu : &tensor_operations_on_host,
        .gpu = gpu,
    };
    return gpu ? gpu_memory_make(&work->found, gpu->gpu, TENSOR_SAMPLE * sizeof(double), err) : 0;
}

void tensor_work_close(struct tensor_work *work)
{
    gpu_memory_free(&work->found);
}

void tensor_memory_free(struct tensor_memory *memory)
{
    gpu_memory_free(&memory->gpu);
    mem_free(memory->place.data);
    *memory = (struct tensor_memory){0};
}
