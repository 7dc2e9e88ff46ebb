#include "problem/fill_plan.h"
#include "problem/fill_variant.h"

#include <math.h>
#include <string.h>

#define BLOCK 256 /* elements that stay in the first-level cache between the steps */

/* Four 16-bit draws minus their mean, in units of 2^-6 of a step: see normal_block. */
#define NORMAL_CENTRE (131070 * 64 + 32)
/* One deviation in the same units: sqrt(4 * (2^32 - 1) / 12) * 64, and what the tails add. */
#define NORMAL_DEVIATION 2431317.8841

/* Made afresh by the caller's instruction set wherever it is inlined. */
#define INLINE static inline __attribute__((always_inline))
/* gcc 12 vectorises at -O3 only; clang always does. */
#if defined(__clang__)
#define VECTORISE
#else
#define VECTORISE __attribute__((optimize("O3")))
#endif

INLINE void hash_block(uint64_t key, uint64_t first, uint64_t *restrict hashes)
{
    uint64_t counter = key + first * FILL_GOLDEN;
    for (int i = 0; i < BLOCK; i++)
        hashes[i] = fill_bits(counter, (uint64_t)i);
}

/* The four 16-bit fields of a hash, added: Irwin-Hall with n = 4. Six bits of the first field go
 * below the last digit as well, which moves no moment that matters and makes ties rare: problems
 * that sort or take a maximum need that. One in 256 is 7/4 as large: without these nothing would
 * lie beyond 3.465 deviations, where a true normal has one in 1900. 24 bits and a sign in all:
 * exact in a float. */
INLINE void normal_block(const uint64_t *restrict hashes, int32_t *restrict k)
{
    for (int i = 0; i < BLOCK; i++) {
        uint64_t pairs = (hashes[i] & 0x0000FFFF0000FFFFu) +
                         (hashes[i] >> 16 & 0x0000FFFF0000FFFFu);
        uint32_t sum = (uint32_t)pairs + (uint32_t)(pairs >> 32);
        int32_t inner = (int32_t)(sum << 6 | ((uint32_t)hashes[i] & 63)) - NORMAL_CENTRE;
        k[i] = (hashes[i] >> 32 & 255) == 0 ? inner * 7 / 4 : inner;
    }
}

INLINE void uniform_block(const uint64_t *restrict hashes, uint32_t shift, int32_t *restrict k)
{
    for (int i = 0; i < BLOCK; i++)
        k[i] = (int32_t)(hashes[i] >> shift);
}

/* Multiply-shift instead of a remainder (Lemire 2019). Shares of two numbers differ by at most
 * range / 2^32. */
INLINE void integer_block(const uint64_t *restrict hashes, uint64_t range, int32_t *restrict k)
{
    for (int i = 0; i < BLOCK; i++)
        k[i] = (int32_t)((hashes[i] >> 32) * (range & UINT32_MAX) >> 32);
}

INLINE void store_f32(const struct fill_plan *plan, const int32_t *restrict k, float *restrict to)
{
    if (plan->offset == 0) {
        float scale = (float)plan->scale;
        float bottom = (float)plan->bottom, top = (float)plan->top;
        for (int i = 0; i < BLOCK; i++) {
            float value = (float)k[i] * scale;
            value = value < bottom ? bottom : value;
            to[i] = value > top ? top : value;
        }
        return;
    }
    double offset = plan->offset, scale = plan->scale, bottom = plan->bottom, top = plan->top;
    for (int i = 0; i < BLOCK; i++) {
        double value = offset + scale * (double)k[i];
        value = value < bottom ? bottom : value;
        to[i] = (float)(value > top ? top : value);
    }
}

INLINE void store_f64(const struct fill_plan *plan, const int32_t *restrict k, double *restrict to)
{
    double offset = plan->offset, scale = plan->scale, bottom = plan->bottom, top = plan->top;
    for (int i = 0; i < BLOCK; i++) {
        double value = offset + scale * (double)k[i];
        value = value < bottom ? bottom : value;
        to[i] = value > top ? top : value;
    }
}

/* Rounds to nearest even without a branch. Below 2^-14 the addition of 0.5, whose last place is the
 * smallest subnormal half, does the rounding; above, an integer addition does. Signed throughout:
 * the plain instruction sets compare nothing else. */
INLINE void store_f16(const float *restrict from, uint16_t *restrict to)
{
    int32_t halves[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        int32_t bits, subnormal;
        memcpy(&bits, &from[i], sizeof bits);
        int32_t magnitude = bits & INT32_MAX;
        float small = fabsf(from[i]) + 0.5f;
        memcpy(&subnormal, &small, sizeof subnormal);
        subnormal -= 0x3F000000;
        int32_t normal = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
        normal = normal > 0x7C00 ? 0x7C00 : normal;
        int32_t below = -(magnitude < 0x38800000);
        halves[i] = (bits >> 16 & 0x8000) | (subnormal & below) | (normal & ~below);
    }
    for (int i = 0; i < BLOCK; i++)
        to[i] = (uint16_t)halves[i];
}

INLINE void store_bf16(const float *restrict from, uint16_t *restrict to)
{
    for (int i = 0; i < BLOCK; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        to[i] = (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    }
}

#define STORE_WHOLE(type)                                                                          \
    do {                                                                                           \
        type *restrict whole = to;                                                                 \
        for (int i = 0; i < BLOCK; i++)                                                            \
            whole[i] = (type)(low + k[i]);                                                         \
    } while (0)

/* Whole numbers of every type whose values fit an int32_t, bool among them. */
INLINE void store_whole(const struct fill_plan *plan, const int32_t *restrict k, void *restrict to)
{
    int32_t low = (int32_t)plan->offset;
    switch (plan->bytes) {
    case 1:
        STORE_WHOLE(int8_t);
        break;
    case 2:
        STORE_WHOLE(int16_t);
        break;
    case 4:
        STORE_WHOLE(int32_t);
        break;
    default:
        STORE_WHOLE(int64_t);
        break;
    }
}

/* Elements first … first + BLOCK - 1, to `to`. */
INLINE void fill_block(const struct fill_plan *plan, uint64_t first, void *restrict to)
{
    uint64_t hashes[BLOCK];
    int32_t k[BLOCK];
    float wide[BLOCK];
    hash_block(plan->key, first, hashes);
    if (plan->kind == FILL_NORMAL)
        normal_block(hashes, k);
    else if (plan->kind == FILL_UNIFORM)
        uniform_block(hashes, plan->draw_shift, k);
    else
        integer_block(hashes, plan->range, k);
    switch (plan->dtype) {
    case DTYPE_F16:
        store_f32(plan, k, wide);
        store_f16(wide, to);
        break;
    case DTYPE_BF16:
        store_f32(plan, k, wide);
        store_bf16(wide, to);
        break;
    case DTYPE_F32:
        store_f32(plan, k, to);
        break;
    case DTYPE_F64:
        store_f64(plan, k, to);
        break;
    default:
        store_whole(plan, k, to);
        break;
    }
}

INLINE void fill_blocks(const struct fill_plan *plan, uint64_t count, void *array)
{
    uint64_t whole = count - count % BLOCK;
    for (uint64_t i = 0; i < whole; i += BLOCK)
        fill_block(plan, i, (char *)array + i * plan->bytes);
    if (whole < count) {
        uint64_t tail[BLOCK];
        fill_block(plan, whole, tail);
        memcpy((char *)array + whole * plan->bytes, tail, (count - whole) * plan->bytes);
    }
}

VECTORISE static void fill_plain(const struct fill_plan *plan, uint64_t count, void *array)
{
    fill_blocks(plan, count, array);
}

#if defined(__x86_64__)
VECTORISE __attribute__((target("avx2"))) static void fill_avx2(const struct fill_plan *plan,
                                                                uint64_t count, void *array)
{
    fill_blocks(plan, count, array);
}

VECTORISE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) static void
fill_avx512(const struct fill_plan *plan, uint64_t count, void *array)
{
    fill_blocks(plan, count, array);
}
#endif

bool fill_variant_usable(enum fill_variant variant)
{
#if defined(__x86_64__)
    if (variant == FILL_AVX2)
        return __builtin_cpu_supports("avx2");
    if (variant == FILL_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
    return variant == FILL_PLAIN;
}

/* The neighbour of `value` in a floating type, towards `direction` (-1 or 1). */
static double neighbour_of(uint32_t dtype, double value, double direction)
{
    if (dtype == DTYPE_F64)
        return nextafter(value, direction * INFINITY);
    if (dtype == DTYPE_F32)
        return nextafterf((float)value, (float)direction * INFINITY);
    uint16_t bits;
    dtype_store(dtype, &bits, 0, value);
    if ((bits & 0x7FFF) == 0)
        bits = direction < 0 ? 0x8001 : 1;
    else
        bits += (bits >= 0x8000) == (direction < 0) ? 1 : -1;
    return dtype_load(dtype, &bits, 0);
}

/* Rounding must not lead out of [a, b): the largest value of the type below b and the smallest that
 * is not below a bound what is stored. */
static void bound_uniform(struct fill_plan *plan, double a, double b)
{
    uint64_t bits;
    dtype_store(plan->dtype, &bits, 0, a);
    plan->bottom = dtype_load(plan->dtype, &bits, 0);
    if (plan->bottom < a)
        plan->bottom = neighbour_of(plan->dtype, plan->bottom, 1);
    dtype_store(plan->dtype, &bits, 0, b);
    plan->top = dtype_load(plan->dtype, &bits, 0);
    if (plan->top >= b)
        plan->top = neighbour_of(plan->dtype, plan->top, -1);
    if (plan->bottom > plan->top) /* no value of the type lies between */
        plan->bottom = plan->top;
}

void fill_plan_init(struct fill_plan *plan, const struct layout_argument *argument, uint64_t key)
{
    *plan = (struct fill_plan){.key = key, .kind = argument->fill, .dtype = argument->dtype};
    plan->bytes = dtype_facts(argument->dtype)->bytes;
    plan->bottom = -INFINITY;
    plan->top = INFINITY;
    plan->offset = argument->a;
    switch (argument->fill) {
    case FILL_NORMAL:
        plan->scale = (float)(argument->b / NORMAL_DEVIATION);
        break;
    case FILL_UNIFORM: {
        /* 24 bits fit a float; f64 gets as many as an exact product leaves. */
        uint32_t bits = argument->dtype == DTYPE_F64 ? 29 : 24;
        plan->draw_shift = 64 - bits;
        plan->scale = (float)((argument->b - argument->a) / (double)((uint64_t)1 << bits));
        bound_uniform(plan, argument->a, argument->b);
        break;
    }
    default:
        plan->scale = 1;
        plan->range = (uint64_t)(argument->b - argument->a);
        break;
    }
}

void fill_numbers(enum fill_variant variant, const struct layout_argument *argument, uint64_t key,
                  void *array)
{
    struct fill_plan plan;
    fill_plan_init(&plan, argument, key);
    switch (variant) {
#if defined(__x86_64__)
    case FILL_AVX512:
        fill_avx512(&plan, argument->count, array);
        break;
    case FILL_AVX2:
        fill_avx2(&plan, argument->count, array);
        break;
#endif
    default:
        fill_plain(&plan, argument->count, array);
        break;
    }
}
