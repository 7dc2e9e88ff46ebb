#include "../support/test.h"
#include "base/random.h"
#include "problem/dtype.h"

#include <math.h>

TEST(facts)
{
    assert_int_equal(DTYPE_COUNT, 12);
    for (uint32_t type = 0; type < DTYPE_COUNT; type++) {
        const struct dtype_facts *facts = dtype_facts(type);
        assert_non_null(facts);
        assert_true(facts->bytes == 1 || facts->bytes == 2 || facts->bytes == 4 ||
                    facts->bytes == 8);
    }
    assert_null(dtype_facts(DTYPE_COUNT));
    assert_null(dtype_facts(UINT32_MAX));
    assert_string_equal(dtype_facts(DTYPE_BF16)->c_name, "uint16_t");
    assert_string_equal(dtype_facts(DTYPE_BF16)->torch_name, "bfloat16");
}

/* A 16-bit float, slowly: the two neighbours of |value| in the format's list of all values, and the
 * nearer one; of two as near, the even one. */
static uint16_t nearest_16(uint32_t type, double value)
{
    uint16_t infinity = type == DTYPE_F16 ? 0x7C00 : 0x7F80;
    double magnitude = fabs(value);
    uint16_t low = 0, high = infinity;
    while (high - low > 1) { /* values rise with their bits */
        uint16_t middle = (uint16_t)(low + (high - low) / 2);
        if (dtype_load(type, &middle, 0) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    uint16_t before = (uint16_t)(low - 1);
    double at_low = dtype_load(type, &low, 0);
    /* Infinity stands, for rounding, where the next finite value would. */
    double at_high = high == infinity ? at_low + (at_low - dtype_load(type, &before, 0))
                                      : dtype_load(type, &high, 0);
    double to_low = magnitude - at_low, to_high = at_high - magnitude;
    uint16_t bits = to_low < to_high || (to_low == to_high && low % 2 == 0) ? low : high;
    return (uint16_t)(bits | (signbit(value) ? 0x8000 : 0));
}

TEST(every_16_bit_value)
{
    static const uint32_t types[] = {DTYPE_F16, DTYPE_BF16};
    for (size_t t = 0; t < 2; t++) {
        for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
            uint16_t stored = (uint16_t)bits, back = 0;
            double value = dtype_load(types[t], &stored, 0);
            dtype_store(types[t], &back, 0, value);
            if (isnan(value))
                assert_true(isnan(dtype_load(types[t], &back, 0)));
            else
                assert_int_equal(back, stored);
        }
    }
}

TEST(rounding_16)
{
    static const uint32_t types[] = {DTYPE_F16, DTYPE_BF16};
    uint64_t random = 7;
    for (size_t t = 0; t < 2; t++) {
        for (uint32_t bits = 0; bits < (types[t] == DTYPE_F16 ? 0x7C00u : 0x7F80u); bits++) {
            uint16_t here = (uint16_t)bits, next = (uint16_t)(bits + 1);
            double a = dtype_load(types[t], &here, 0), b = dtype_load(types[t], &next, 0);
            b = isinf(b) ? a : b;
            double share = random_uniform(random_next(&random));
            const double tries[] = {a / 2 + b / 2, nextafter(a / 2 + b / 2, 0),
                                    nextafter(a / 2 + b / 2, INFINITY), a + (b - a) * share,
                                    -(a / 2 + b / 2)};
            for (size_t i = 0; i < COUNT(tries); i++) {
                uint16_t got = 0;
                dtype_store(types[t], &got, 0, tries[i]);
                assert_int_equal(got, nearest_16(types[t], tries[i]));
            }
        }
    }
}

TEST(half_by_hand)
{
    static const struct {
        uint32_t type;
        double value;
        uint16_t bits;
    } rows[] = {
        {DTYPE_F16, 0.0, 0x0000},
        {DTYPE_F16, -0.0, 0x8000},
        {DTYPE_F16, 1.0, 0x3C00},
        {DTYPE_F16, -2.0, 0xC000},
        {DTYPE_F16, 65504, 0x7BFF},
        {DTYPE_F16, 65519.99, 0x7BFF},
        {DTYPE_F16, 65520, 0x7C00},
        {DTYPE_F16, -1e300, 0xFC00},
        {DTYPE_F16, INFINITY, 0x7C00},
        {DTYPE_F16, 0x1p-24, 0x0001},
        {DTYPE_F16, 0x1p-25, 0x0000},
        {DTYPE_F16, 0x1.1p-25, 0x0001},
        {DTYPE_F16, 0x1.8p-24, 0x0002},
        {DTYPE_F16, 0x1p-14, 0x0400},
        {DTYPE_F16, 0x1.ff8p-15, 0x03FF},
        {DTYPE_F16, 0x1.ffep-15, 0x0400},
        {DTYPE_F16, 1e-300, 0x0000},
        {DTYPE_F16, 4.9e-324, 0x0000},
        {DTYPE_F16, 1.0 + 0x1p-11, 0x3C00},
        {DTYPE_F16, 1.0 + 0x1.8p-10, 0x3C02},
        /* Once from the double: by way of a float this would be a tie, and rounded down. */
        {DTYPE_F16, 1.0 + 0x1p-11 + 0x1p-40, 0x3C01},
        {DTYPE_BF16, 1.0, 0x3F80},
        {DTYPE_BF16, 0x1.fep127, 0x7F7F},
        {DTYPE_BF16, 0x1.ffp127, 0x7F80},
        {DTYPE_BF16, 0x1p-133, 0x0001},
        {DTYPE_BF16, 1.0 + 0x1p-8, 0x3F80},
        {DTYPE_BF16, 1.0 + 0x1p-8 + 0x1p-40, 0x3F81},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint16_t got = 0xAAAA;
        dtype_store(rows[i].type, &got, 0, rows[i].value);
        assert_int_equal(got, rows[i].bits);
    }
    uint16_t quiet = 0;
    dtype_store(DTYPE_F16, &quiet, 0, NAN);
    assert_int_equal(quiet & 0x7E00, 0x7E00);
    dtype_store(DTYPE_BF16, &quiet, 0, NAN);
    assert_int_equal(quiet & 0x7FC0, 0x7FC0);
}

TEST(integers)
{
    static const struct {
        uint32_t type;
        double value, stored;
    } rows[] = {
        {DTYPE_I8, 127, 127},
        {DTYPE_I8, 200, 127},
        {DTYPE_I8, -200, -128},
        {DTYPE_I8, 0.5, 0},
        {DTYPE_I8, 1.5, 2},
        {DTYPE_I8, -1.5, -2},
        {DTYPE_I8, -2.5, -2},
        {DTYPE_I8, NAN, 0},
        {DTYPE_U8, -1, 0},
        {DTYPE_U8, 300, 255},
        {DTYPE_I16, 40000, 32767},
        {DTYPE_I16, -40000, -32768},
        {DTYPE_I32, 3e9, INT32_MAX},
        {DTYPE_I32, -3e9, INT32_MIN},
        {DTYPE_I32, INFINITY, INT32_MAX},
        {DTYPE_U32, 5e9, UINT32_MAX},
        {DTYPE_U32, -5, 0},
        {DTYPE_I64, 0x1p53, 0x1p53},
        {DTYPE_I64, 1e300, 0x1p63},
        {DTYPE_I64, -1e300, -0x1p63},
        {DTYPE_U64, 1e300, 0x1p64},
        {DTYPE_U64, -1, 0},
        {DTYPE_U64, 0x1p63, 0x1p63},
        {DTYPE_BOOL, 0, 0},
        {DTYPE_BOOL, 0.25, 1},
        {DTYPE_BOOL, -3, 1},
        {DTYPE_F32, 0.1, 0.1f},
        {DTYPE_F32, 1e300, INFINITY},
        {DTYPE_F64, 0.1, 0.1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t array[3] = {0xABABABABABABABABu, 0xABABABABABABABABu, 0xABABABABABABABABu};
        size_t bytes = dtype_facts(rows[i].type)->bytes;
        dtype_store(rows[i].type, array, 1, rows[i].value);
        assert_true(dtype_load(rows[i].type, array, 1) == rows[i].stored);
        /* Neither the element before nor the one after. */
        const unsigned char *at = (const unsigned char *)array;
        for (size_t k = 0; k < sizeof array; k++)
            if (k < bytes || k >= 2 * bytes)
                assert_int_equal(at[k], 0xAB);
    }
    int64_t most;
    dtype_store(DTYPE_I64, &most, 0, 0x1p63);
    assert_true(most == INT64_MAX);
    uint64_t all;
    dtype_store(DTYPE_U64, &all, 0, 0x1p64);
    assert_true(all == UINT64_MAX);
}

TEST(unknown_type)
{
    uint64_t bits = 42;
    dtype_store(DTYPE_COUNT, &bits, 0, 1);
    assert_int_equal(bits, 42);
    assert_true(isnan(dtype_load(DTYPE_COUNT, &bits, 0)));
}
