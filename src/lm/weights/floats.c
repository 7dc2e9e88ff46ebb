/* The two short float types, rounded to nearest even as hardware and PyTorch do (IEEE 754-2008,
 * 4.3.1). */
#include "lm/weights/safetensors.h"

#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t lm_bf16_from(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(bits >> 16 | 0x40); /* quiet: the payload's rest may be 0 */
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float lm_bf16_to(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t lm_f16_from(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
    if (rest > 0x7F800000)
        return (uint16_t)(sign | 0x7E00 | (rest >> 13 & 0x3FF));
    if (rest >= 0x477FF000) /* 65520: halfway between the largest and what would follow it */
        return (uint16_t)(sign | 0x7C00);
    if (rest >= 0x38800000) /* 2^-14: normal */
        return (uint16_t)(sign | (rest - 0x38000000 + 0xFFF + (rest >> 13 & 1)) >> 13);
    /* Adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded by the addition itself. */
    return (uint16_t)(sign | (bits_of(float_of(rest) + 0.5F) - 0x3F000000));
}

float lm_f16_to(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
    if (exponent == 0x1F)
        return float_of(sign | 0x7F800000 | fraction << 13);
    if (exponent > 0)
        return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    float value = (float)fraction * 0x1p-24F;
    return sign ? -value : value;
}
