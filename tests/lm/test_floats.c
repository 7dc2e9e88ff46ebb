/* bf16 and f16 against the definition of their bits, all 65,536 of them, and rounding at each
 * border between two neighbours. */
#include "../support/test.h"
#include "lm/weights/safetensors.h"

#include <math.h>

struct format {
    const char *name;
    int exponent_bits, fraction_bits;
    uint16_t (*from)(float value);
    float (*to)(uint16_t bits);
};

static const struct format formats[] = {
    {"bf16", 8, 7, lm_bf16_from, lm_bf16_to},
    {"f16", 5, 10, lm_f16_from, lm_f16_to},
};

/* IEEE 754-2008, 3.4: what the bits say. */
static double meaning(const struct format *format, unsigned bits)
{
    unsigned fraction = bits & ((1U << format->fraction_bits) - 1);
    int top = (1 << format->exponent_bits) - 1;
    int exponent = (int)(bits >> format->fraction_bits) & top;
    int bias = top / 2;
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == top)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - format->fraction_bits);
    return sign * ldexp((double)fraction + (1 << format->fraction_bits),
                        exponent - bias - format->fraction_bits);
}

TEST(values)
{
    for (size_t f = 0; f < 2; f++)
        for (unsigned bits = 0; bits < 65536; bits++) {
            const struct format *format = &formats[f];
            double wanted = meaning(format, bits);
            float got = format->to((uint16_t)bits);
            unsigned back = format->from(got);
            if (isnan(wanted) ? !isnan(got)
                              : (double)got != wanted || !!signbit(got) != (bits > 0x7FFF))
                fail_msg("%s %04x is %g, not %g", format->name, bits, (double)got, wanted);
            if (isnan(wanted) ? !isnan(format->to((uint16_t)back)) : back != bits)
                fail_msg("%s %04x came back as %04x", format->name, bits, back);
        }
}

static void check(const struct format *format, float value, unsigned wanted)
{
    unsigned got = format->from(value);
    unsigned negative = format->from(-value);
    if (got != wanted || negative != (wanted | 0x8000))
        fail_msg("%s of %a: %04x and %04x, not %04x", format->name, (double)value, got, negative,
                 wanted);
}

/* Between two neighbours: below the middle, at it (the even one), above it. */
TEST(rounding)
{
    for (size_t f = 0; f < 2; f++) {
        const struct format *format = &formats[f];
        unsigned infinity = ((1U << format->exponent_bits) - 1) << format->fraction_bits;
        for (unsigned bits = 0; bits < infinity; bits++) {
            double low = meaning(format, bits), high = meaning(format, bits + 1);
            if (bits + 1 == infinity) /* as if the largest exponent went on */
                high = 2 * low - meaning(format, bits - 1);
            double middle = (low + high) / 2;
            float at = (float)middle;
            if ((double)at != middle) /* the last bit of f32's smallest numbers: no float there */
                continue;
            check(format, at, bits & 1 ? bits + 1 : bits);
            check(format, nextafterf(at, 0), bits);
            check(format, nextafterf(at, INFINITY), bits + 1);
        }
    }
}

TEST(extremes)
{
    const float huge[] = {65536.0F, 1e10F, 3.4e38F, INFINITY};
    for (size_t i = 0; i < COUNT(huge); i++)
        check(&formats[1], huge[i], 0x7C00);
    check(&formats[1], 1e-10F, 0);
    check(&formats[1], 0x1p-149F, 0);
    check(&formats[0], INFINITY, 0x7F80);
    check(&formats[0], 0x1p-149F, 0);
    /* NaNs whose payload lies in the bits that go, quiet and signalling. */
    const uint32_t nans[] = {0x7F800001, 0x7FC00001, 0xFF800001, 0x7F801000, 0xFFFFFFFF};
    for (size_t i = 0; i < COUNT(nans); i++) {
        float value;
        memcpy(&value, &nans[i], sizeof value);
        assert_true(isnan(lm_bf16_to(lm_bf16_from(value))));
        assert_true(isnan(lm_f16_to(lm_f16_from(value))));
        assert_int_equal(lm_bf16_from(value) >> 15, nans[i] >> 31);
        assert_int_equal(lm_f16_from(value) >> 15, nans[i] >> 31);
    }
}
