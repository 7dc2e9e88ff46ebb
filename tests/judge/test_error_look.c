#include "judge/numeric/error_look.h"

#include "../support/test.h"
#include "base/mem.h"
#include "base/random.h"

#include <math.h>

#define ROWS 128
#define ROW 128
#define ALL ((uint64_t)ROWS * ROW)

static double uniform(uint64_t *state)
{
    return 2 * random_uniform(random_next(state)) - 1;
}

/* What a candidate writes in the place of `want`, its element i. */
typedef double wrong_function(double want, uint64_t i, uint64_t *state);

static double right(double want, uint64_t i, uint64_t *state)
{
    (void)i;
    (void)state;
    return want;
}

static double digits(double want, double part, uint64_t *state)
{
    return want + part * uniform(state);
}

static double tf32(double want, uint64_t i, uint64_t *state)
{
    (void)i;
    return digits(want, 0x1p-11, state);
}

static double bfloat16(double want, uint64_t i, uint64_t *state)
{
    (void)i;
    return digits(want, 0x1p-8, state);
}

static double few_digits(double want, uint64_t i, uint64_t *state)
{
    (void)i;
    return digits(want, 0x1p-15, state);
}

static double half_missing(double want, uint64_t i, uint64_t *state)
{
    (void)i;
    return digits(want, 0.4, state);
}

static double unrelated(double want, uint64_t i, uint64_t *state)
{
    (void)want;
    (void)i;
    return uniform(state);
}

static double approximated(double want, uint64_t i, uint64_t *state)
{
    (void)i;
    (void)state;
    return want + 1e-3 * sin(3 * want);
}

static double doubled(double want, uint64_t i, uint64_t *state)
{
    (void)i;
    (void)state;
    return 2 * want;
}

static double shifted(double want, uint64_t i, uint64_t *state)
{
    (void)i;
    (void)state;
    return want + 0.01;
}

static double row_in_32(double want, uint64_t i, uint64_t *state)
{
    return i / ROW % 32 == 5 ? uniform(state) : want;
}

static double one_row(double want, uint64_t i, uint64_t *state)
{
    return i / ROW == 17 ? uniform(state) : want;
}

static double some_rows(double want, uint64_t i, uint64_t *state)
{
    return i / ROW == 2 || i / ROW == 3 || i / ROW == 30 ? uniform(state) : want;
}

static double beyond_a_block(double want, uint64_t i, uint64_t *state)
{
    return i >= 4096 ? uniform(state) : want;
}

static double tail(double want, uint64_t i, uint64_t *state)
{
    return i >= ALL - 3 ? uniform(state) : want;
}

static double ends_of_rows(double want, uint64_t i, uint64_t *state)
{
    return i % ROW >= 96 ? uniform(state) : want;
}

static double one_in_seven(double want, uint64_t i, uint64_t *state)
{
    return i % 7 == 3 ? uniform(state) + 4 : want;
}

static double missing(double want, uint64_t i, uint64_t *state)
{
    (void)state;
    return i == 9 ? NAN : want;
}

static const struct {
    wrong_function *wrong;
    const char *begins;
} rows[] = {
    {right, ""},
    {few_digits, "of a sum in another order"},
    {tf32, "the size of TF32"},
    {bfloat16, "the size of bfloat16"},
    {half_missing, "too large for rounding"},
    {unrelated, "the size of the output itself"},
    {approximated, "of an approximation"},
    {doubled, "a constant factor of 2"},
    {shifted, "the same amount everywhere: +0.01"},
    {row_in_32, "one row in 32, from row 5 on"},
    {one_row, "one row of 128: row 17"},
    {some_rows, "3 of 128 rows, from row 2 to 30"},
    {beyond_a_block, "elements beyond a block boundary: nearly all from [4096] on"},
    {tail, "the tail: nearly all elements from [16381] on"},
    {ends_of_rows, "the ends of rows: columns from 96 on, beyond a block boundary"},
    {one_in_seven, "one element in 7, from [3] on"},
    {missing, "NaN or infinity on one side in 1 elements"},
};

TEST(table)
{
    double *want = mem_alloc(ALL * sizeof *want);
    float *have = mem_alloc(ALL * sizeof *have);
    for (size_t k = 0; k < COUNT(rows); k++) {
        uint64_t noise = 7 + k;
        char text[ERROR_LOOK_BYTES];
        struct difference difference;
        const struct comparison spec = {.dtype = DTYPE_F32,
                                        .expected_dtype = DTYPE_F64,
                                        .count = ALL,
                                        .tolerance = {.relative = 1e-6, .scale = SCALE_RMS}};
        for (uint64_t i = 0; i < ALL; i++) {
            want[i] = uniform(&noise);
            have[i] = (float)rows[k].wrong(want[i], i, &noise);
        }
        compare_tensor(&spec, want, have, &difference);
        error_look(&spec, difference.scale, ROW, want, have, text);
        bool same = rows[k].begins[0] ? strncmp(text, rows[k].begins, strlen(rows[k].begins)) == 0
                                      : text[0] == '\0';
        if (!same)
            fail_msg("'%s' and not '%s'", text, rows[k].begins);
    }
    mem_free(want);
    mem_free(have);
}

TEST(small_and_whole)
{
    const int32_t want[] = {4, 5}, have[] = {4, 6};
    const float zero = 0, one = 1;
    char text[ERROR_LOOK_BYTES];
    struct comparison spec = {.dtype = DTYPE_I32,
                              .expected_dtype = DTYPE_I32,
                              .count = 2,
                              .tolerance = {.exact = true}};
    error_look(&spec, 4.5, 0, want, have, text);
    assert_string_equal(text, "the tail: nearly all elements from [1] on");
    const int32_t other[] = {5, 6}; /* how far places are apart says nothing */
    error_look(&spec, 4.5, 0, want, other, text);
    assert_string_equal(text, "");
    spec = (struct comparison){.dtype = DTYPE_F32, .expected_dtype = DTYPE_F32, .count = 1};
    error_look(&spec, 0, 1, &zero, &one, text);
    assert_string_equal(text, "");
}
