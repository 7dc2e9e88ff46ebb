#include "judge/numeric/input_shift.h"

#include "../support/test.h"
#include "base/random.h"
#include "problem/fill.h"

#include <math.h>
#include <stdlib.h>

#define ELEMENTS 64000
#define ROW 1000
#define SEEDS 200

static union {
    char bytes[ELEMENTS * 8 + LAYOUT_GUARD_BYTES];
    float floats[ELEMENTS];
} slot;

static struct layout one_argument(uint32_t role, uint32_t dtype, uint32_t fill, uint64_t count)
{
    return (struct layout){.count = 1,
                           .bytes = sizeof slot,
                           .arguments = {{.role = role,
                                          .dtype = dtype,
                                          .fill = fill,
                                          .count = count,
                                          .a = fill == FILL_UNIFORM ? 3 : 0,
                                          .b = fill == FILL_UNIFORM ? 5 : 1}}};
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Each value is among the sixteenth of the sample that is smallest or the one that is largest; both
 * are there, in the proportion of a coin that is not quite fair. */
TEST(tails)
{
    static const uint32_t dtypes[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_F64};
    static const uint32_t fills[] = {FILL_NORMAL, FILL_UNIFORM};
    for (size_t i = 0; i < 8; i++) {
        static double ordered[4096];
        uint32_t dtype = dtypes[i / 2];
        struct layout layout = one_argument(i % 3 ? ROLE_IN : ROLE_INOUT, dtype, fills[i % 2],
                                            ELEMENTS);
        size_t large = 0;
        fill_slot(&layout, i, slot.bytes);
        for (size_t at = 0; at < 4096; at++)
            ordered[at] = dtype_load(dtype, slot.bytes, at);
        qsort(ordered, 4096, sizeof *ordered, by_value);
        input_shift_apply(&layout, slot.bytes, i * 977);
        for (size_t at = 0; at < ELEMENTS; at++) {
            double value = dtype_load(dtype, slot.bytes, at);
            assert_true((value >= ordered[0] && value <= ordered[255]) ||
                        (value >= ordered[3840] && value <= ordered[4095]));
            large += value >= ordered[3840];
        }
        assert_in_range(large, ELEMENTS / 100 * 17, ELEMENTS / 100 * 83);
    }
}

TEST(few)
{
    struct layout layout = one_argument(ROLE_IN, DTYPE_F32, FILL_NORMAL, 3);
    float sum = 0;
    for (uint64_t seed = 0; seed < 64; seed++) {
        const float drawn[] = {2, 3, 1};
        memcpy(slot.bytes, drawn, sizeof drawn);
        input_shift_apply(&layout, slot.bytes, seed << 8);
        for (size_t i = 0; i < 3; i++) {
            assert_true(slot.floats[i] == 1 || slot.floats[i] == 3);
            sum += slot.floats[i];
        }
    }
    assert_true(sum > 64 * 3 && sum < 64 * 9); /* both */
}

/* Whole numbers, constants, single elements, outputs, and what lies behind an array. */
TEST(rest)
{
    const struct layout layouts[] = {
        one_argument(ROLE_IN, DTYPE_I32, FILL_INTEGER, 100),
        one_argument(ROLE_IN, DTYPE_F32, FILL_CONSTANT, 100),
        one_argument(ROLE_IN, DTYPE_F32, FILL_OFFSETS, 100),
        one_argument(ROLE_IN, DTYPE_F32, FILL_NORMAL, 1),
        one_argument(ROLE_OUT, DTYPE_F32, FILL_NONE, 100),
        one_argument(ROLE_SCALAR, DTYPE_F32, FILL_NORMAL, 1),
    };
    for (size_t i = 0; i < COUNT(layouts); i++) {
        static char before[sizeof slot];
        for (size_t at = 0; at < ELEMENTS; at++)
            slot.floats[at] = (float)at;
        memcpy(before, slot.bytes, sizeof before);
        input_shift_apply(&layouts[i], slot.bytes, 7);
        assert_memory_equal(before, slot.bytes, sizeof before);
    }
    struct layout layout = one_argument(ROLE_IN, DTYPE_F32, FILL_NORMAL, 100);
    input_shift_apply(&layout, slot.bytes, 7);
    for (size_t at = 100; at < ELEMENTS; at++)
        assert_true(slot.floats[at] == (float)at);
}

/* The simplest honest softmax, which adds a thousand terms in float32 one after another, stays well
 * within 1e-5. Of two values over and over it does not: one trial in seventeen. */
TEST(sums_do_not_drift)
{
    struct layout layout = one_argument(ROLE_IN, DTYPE_F32, FILL_NORMAL, ELEMENTS);
    double worst = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fill_slot(&layout, seed, slot.bytes);
        input_shift_apply(&layout, slot.bytes, seed * RANDOM_GOLDEN);
        for (size_t row = 0; row < ELEMENTS; row += ROW) {
            float sum = 0;
            double exact = 0;
            for (size_t i = row; i < row + ROW; i++) {
                float term = expf(slot.floats[i] - 3.5F);
                sum += term;
                exact += term;
            }
            worst = fmax(worst, fabs(sum / exact - 1));
        }
    }
    assert_true(worst < 5e-6);
}
