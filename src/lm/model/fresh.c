/* Fresh weights. A value depends on the seed, its parameter's name and its place in it: neither
 * threads nor the order of parameters matter. Numbers are made with operations that IEEE 754 rounds
 * in one way only (no library's log), and this file is compiled without fused multiply-add, so that
 * a seed means the same weights on every machine.
 */
#include "lm/model/build.h"
#include "lm/model/value.h"

#include "base/mem.h"
#include "base/random.h"

#include <math.h>

#define TRIES 64 /* of one value; 1.27 are needed on average */

/* FNV-1a of the name, mixed with the seed. */
static uint64_t stream_of(uint64_t seed, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return random_mix(hash ^ random_mix(seed + RANDOM_GOLDEN));
}

static uint64_t bits_at(uint64_t stream, uint64_t index)
{
    return random_mix(stream + (index + 1) * RANDOM_GOLDEN);
}

/* Natural logarithm for 0 < x < 1: x = m·2^e with m in [√½, √2), log m = 2·atanh((m-1)/(m+1)). */
static double plain_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        exponent--;
    }
    double z = (m - 1) / (m + 1), square = z * z, sum = 0;
    for (int k = 21; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2 * z * sum + exponent * 0x1.62e42fefa39efp-1;
}

/* The polar method (Marsaglia and Bray 1964). */
static float normal_at(uint64_t stream, uint64_t index)
{
    for (uint64_t i = 0; i < TRIES; i++) {
        uint64_t bits = bits_at(stream, index * TRIES + i);
        double u = (double)(int32_t)(bits >> 32) * 0x1p-31;
        double v = (double)(int32_t)(bits & 0xffffffff) * 0x1p-31;
        double s = u * u + v * v;
        if (s > 0 && s < 1)
            return (float)(u * sqrt(-2 * plain_log(s) / s));
    }
    return 0;
}

/* Between -1 and 1. */
static float uniform_at(uint64_t stream, uint64_t index)
{
    return (float)((double)(int32_t)(bits_at(stream, index) >> 32) * 0x1p-31);
}

typedef float value_at(uint64_t stream, uint64_t index);

/* value · scale + offset for each element; NULL: offset alone. */
static void fill(struct lm_model *model, const struct lm_parameter *parameter, uint64_t seed,
                 value_at *value, float scale, float offset)
{
    size_t count = parameter->rows * parameter->columns;
    size_t piece = count < LM_VALUE_PIECE ? count : LM_VALUE_PIECE;
    uint64_t stream = stream_of(seed, parameter->name);
    float *values = mem_alloc(piece * sizeof *values);
    for (size_t first = 0; first < count; first += piece) {
        size_t some = count - first < piece ? count - first : piece;
        for (size_t i = 0; i < some; i++)
            values[i] = offset + (value ? value(stream, first + i) * scale : 0);
        lm_value_put(model->backend, parameter->value, first, values, some);
    }
    mem_free(values);
}

static bool is_bias(const struct lm_model *model, const struct lm_parameter *parameter)
{
    for (size_t i = 0; i < model->config.layers; i++)
        for (size_t t = 0; t < LM_LORA_TARGET_COUNT; t++)
            if (model->layers[i].projections[t].bias == parameter)
                return true;
    return false;
}

void lm_fresh_base(struct lm_model *model, uint64_t seed)
{
    for (size_t i = 0; i < model->parameter_count; i++) {
        const struct lm_parameter *parameter = &model->parameters[i];
        if (parameter->vector)
            fill(model, parameter, seed, NULL, 0, is_bias(model, parameter) ? 0 : 1);
        else if (!parameter->adapter)
            fill(model, parameter, seed, normal_at, model->config.init_range, 0);
    }
}

/* As PEFT begins: A uniform within ±1/√in (He et al. 2015, with a leak of √5), B zero. */
void lm_fresh_adapter(struct lm_model *model, uint64_t seed)
{
    for (size_t i = 0; i < model->config.layers; i++)
        for (size_t t = 0; t < LM_LORA_TARGET_COUNT; t++) {
            const struct lm_projection *p = &model->layers[i].projections[t];
            if (!p->a)
                continue;
            fill(model, p->a, seed, uniform_at, (float)(1 / sqrt((double)p->a->columns)), 0);
            fill(model, p->b, seed, NULL, 0, 0);
        }
}
