#include "lm/model/value.h"

#include "base/mem.h"
#include "lm/weights/safetensors.h"

static uint16_t narrow(enum lm_dtype dtype, float value)
{
    return dtype == LM_BF16 ? lm_bf16_from(value) : lm_f16_from(value);
}

static float widen(enum lm_dtype dtype, uint16_t bits)
{
    return dtype == LM_BF16 ? lm_bf16_to(bits) : lm_f16_to(bits);
}

void lm_value_put(struct lm_backend *backend, void *array, size_t first, const float *values,
                  size_t count)
{
    char *to = (char *)array + first * lm_dtype_bytes(backend->dtype);
    if (backend->dtype == LM_F32) {
        backend->upload(backend, to, values, count * sizeof *values);
        return;
    }
    uint16_t *narrowed = mem_alloc(count * sizeof *narrowed);
    for (size_t i = 0; i < count; i++)
        narrowed[i] = narrow(backend->dtype, values[i]);
    backend->upload(backend, to, narrowed, count * sizeof *narrowed);
    mem_free(narrowed);
}

void lm_value_get(struct lm_backend *backend, const void *array, size_t first, float *values,
                  size_t count)
{
    const char *from = (const char *)array + first * lm_dtype_bytes(backend->dtype);
    if (backend->dtype == LM_F32) {
        backend->download(backend, values, from, count * sizeof *values);
        return;
    }
    uint16_t *narrowed = mem_alloc(count * sizeof *narrowed);
    backend->download(backend, narrowed, from, count * sizeof *narrowed);
    for (size_t i = 0; i < count; i++)
        values[i] = widen(backend->dtype, narrowed[i]);
    mem_free(narrowed);
}
