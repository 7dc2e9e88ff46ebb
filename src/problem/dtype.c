#include "problem/dtype.h"

#include <math.h>
#include <string.h>

static const struct dtype_facts facts_of[DTYPE_COUNT] = {
#define X(symbol, name, bytes, c_name, torch_name, floating)                                       \
    [symbol] = {name, bytes, c_name, torch_name, floating},
    DTYPES(X)
#undef X
};

const struct dtype_facts *dtype_facts(uint32_t type)
{
    return type < DTYPE_COUNT ? &facts_of[type] : NULL;
}

/* Half precision by hand: clang 14 has no _Float16 on x86 without AVX512-FP16. */
static double half_to_double(uint16_t half)
{
    uint32_t exponent = half >> 10 & 31;
    uint32_t mantissa = half & 1023;
    if (exponent == 0) {
        double magnitude = (double)mantissa * 0x1p-24;
        return half & 0x8000 ? -magnitude : magnitude;
    }
    uint64_t wide = exponent == 31 ? 2047 : exponent - 15 + 1023;
    uint64_t bits = (uint64_t)(half & 0x8000) << 48 | wide << 52 | (uint64_t)mantissa << 42;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Bits of `value` in a 16-bit format with that many mantissa bits: rounds to nearest even once,
 * straight from the double, overflows to infinity, and keeps subnormals and the kind of a NaN. */
static uint16_t round_to_16(double value, int mantissa_bits)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 48) & 0x8000;
    int exponent = (int)(bits >> 52 & 2047) - 1023;
    uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    int bias = (1 << (14 - mantissa_bits)) - 1;
    uint32_t infinity = (uint32_t)(2 * bias + 1) << mantissa_bits;
    if (exponent == 1024)
        return (uint16_t)(sign | infinity | (mantissa ? 1u << (mantissa_bits - 1) : 0));
    int shift = 52 - mantissa_bits;
    bool subnormal = exponent < 1 - bias;
    if (subnormal)
        shift += 1 - bias - exponent;
    if (shift > 53 || exponent == -1023)
        return (uint16_t)sign;
    uint64_t significand = mantissa | (uint64_t)1 << 52;
    uint64_t kept = significand >> shift;
    uint64_t rest = significand & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    /* A carry out of the mantissa is the next exponent, as it should be. */
    uint32_t result = (uint32_t)kept;
    if (!subnormal)
        result += (uint32_t)(exponent + bias - 1) << mantissa_bits;
    return (uint16_t)(sign | (result > infinity ? infinity : result));
}

static double brain_to_double(uint16_t brain)
{
    uint32_t bits = (uint32_t)brain << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double dtype_load(uint32_t type, const void *array, size_t index)
{
    switch (type) {
    case DTYPE_F16:
        return half_to_double(((const uint16_t *)array)[index]);
    case DTYPE_BF16:
        return brain_to_double(((const uint16_t *)array)[index]);
    case DTYPE_F32:
        return ((const float *)array)[index];
    case DTYPE_F64:
        return ((const double *)array)[index];
    case DTYPE_I8:
        return ((const int8_t *)array)[index];
    case DTYPE_U8:
    case DTYPE_BOOL: /* as a byte: a wild candidate may have stored any */
        return ((const uint8_t *)array)[index];
    case DTYPE_I16:
        return ((const int16_t *)array)[index];
    case DTYPE_I32:
        return ((const int32_t *)array)[index];
    case DTYPE_I64:
        return (double)((const int64_t *)array)[index];
    case DTYPE_U32:
        return ((const uint32_t *)array)[index];
    case DTYPE_U64:
        return (double)((const uint64_t *)array)[index];
    default:
        return NAN;
    }
}

/* To nearest even within [low, high], both exact doubles; a NaN becomes 0. */
static double saturate_value(double value, double low, double high)
{
    if (isnan(value))
        return 0;
    double rounded = rint(value);
    return rounded < low ? low : rounded > high ? high : rounded;
}

static int64_t saturate_i64(double value)
{
    double rounded = saturate_value(value, -0x1p63, 0x1p63);
    return rounded >= 0x1p63 ? INT64_MAX : (int64_t)rounded;
}

static uint64_t saturate_u64(double value)
{
    double rounded = saturate_value(value, 0, 0x1p64);
    return rounded >= 0x1p64 ? UINT64_MAX : (uint64_t)rounded;
}

void dtype_store(uint32_t type, void *array, size_t index, double value)
{
    switch (type) {
    case DTYPE_F16:
        ((uint16_t *)array)[index] = round_to_16(value, 10);
        break;
    case DTYPE_BF16:
        ((uint16_t *)array)[index] = round_to_16(value, 7);
        break;
    case DTYPE_F32:
        ((float *)array)[index] = (float)value;
        break;
    case DTYPE_F64:
        ((double *)array)[index] = value;
        break;
    case DTYPE_I8:
        ((int8_t *)array)[index] = (int8_t)saturate_value(value, INT8_MIN, INT8_MAX);
        break;
    case DTYPE_U8:
        ((uint8_t *)array)[index] = (uint8_t)saturate_value(value, 0, UINT8_MAX);
        break;
    case DTYPE_I16:
        ((int16_t *)array)[index] = (int16_t)saturate_value(value, INT16_MIN, INT16_MAX);
        break;
    case DTYPE_I32:
        ((int32_t *)array)[index] = (int32_t)saturate_value(value, INT32_MIN, INT32_MAX);
        break;
    case DTYPE_I64:
        ((int64_t *)array)[index] = saturate_i64(value);
        break;
    case DTYPE_U32:
        ((uint32_t *)array)[index] = (uint32_t)saturate_value(value, 0, UINT32_MAX);
        break;
    case DTYPE_U64:
        ((uint64_t *)array)[index] = saturate_u64(value);
        break;
    case DTYPE_BOOL: /* as C converts: anything but zero is true */
        ((uint8_t *)array)[index] = value != 0;
        break;
    default:
        break;
    }
}
