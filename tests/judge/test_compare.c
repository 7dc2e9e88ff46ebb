#include "judge/numeric/compare.h"

#include "../support/test.h"
#include "base/mem.h"
#include "base/random.h"

#include <float.h>
#include <math.h>

static const double inf = INFINITY;
static const double nan_value = NAN;

static double uniform(uint64_t *state)
{
    return random_uniform(random_next(state));
}

static bool same(double a, double b, double relative)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= relative * fabs(b);
}

/* Every fast path must agree with the plain one on everything; returns their verdict. */
static bool both(const struct comparison *spec, const void *expected, const void *got,
                 struct difference *fast)
{
    struct difference plain;
    bool plain_ok = compare_tensor_plainly(spec, expected, got, &plain);
    assert_int_equal(plain_ok, plain.mismatches == 0);
    for (int variant = 0; variant < compare_variants(); variant++) {
        assert_int_equal(compare_tensor_variant(variant, spec, expected, got, fast), plain_ok);
        assert_int_equal(fast->mismatches, plain.mismatches);
        assert_int_equal(fast->first_index, plain.first_index);
        assert_int_equal(fast->nan_mismatch, plain.nan_mismatch);
        assert_true(same(fast->got, plain.got, 0) && same(fast->expected, plain.expected, 0));
        assert_true(same(fast->max_absolute, plain.max_absolute, 0));
        assert_true(same(fast->max_relative, plain.max_relative, 1e-12));
        assert_true(same(fast->scale, plain.scale, 1e-12));
    }
    assert_int_equal(compare_tensor(spec, expected, got, fast), plain_ok);
    return plain_ok;
}

#define EXACT .tolerance = {.exact = true}
#define WITHIN(r) .tolerance = {.relative = (r), .scale = SCALE_RMS}

static const struct {
    const char *what;
    struct comparison spec;
    double expected[4], got[4];
    uint64_t mismatches, first;
    bool nan_mismatch;
} rows[] = {
    {"equal", {DTYPE_F32, DTYPE_F32, 4, WITHIN(0), 0, 0}, {1, 2, 3, 4}, {1, 2, 3, 4}, 0, 0, false},
    {"zeros", {DTYPE_F32, DTYPE_F32, 4, WITHIN(1e-5), 0, 0}, {1, 2, 3, 4}, {0}, 4, 0, false},
    {"one off", .spec = {DTYPE_F32, DTYPE_F32, 4, WITHIN(1e-5), 0, 0}, .expected = {1, 2, 3, 4},
     .got = {1, 2, 3.1, 4}, 1, 2, false},
    {"near zero, by rms", .spec = {DTYPE_F32, DTYPE_F32, 4, WITHIN(1e-5), 0, 0},
     .expected = {1e-9, 1, 1, 1}, .got = {-5e-6, 1, 1, 1}, 0, 0, false},
    {"near zero, by itself",
     .spec = {DTYPE_F32, DTYPE_F32, 4, .tolerance = {.relative = 1e-5}, 0, 0},
     .expected = {1e-9, 1, 1, 1}, .got = {-5e-6, 1, 1, 1}, 1, 0, false},
    {"absolute", .spec = {DTYPE_F64, DTYPE_F64, 4, .tolerance = {.absolute = 0.5}, 0, 0},
     .expected = {0, 0, 8, 9}, .got = {0.5, -0.5, 8.5, 9.6}, 1, 3, false},
    {"slack",
     {DTYPE_F64, DTYPE_F64, 2, WITHIN(1e-3), 1e-2, 0},
     {1, 1},
     {1.0105, 1.012},
     1,
     1,
     false},
    {"all expected zero", .spec = {DTYPE_F32, DTYPE_F32, 2, WITHIN(1e-3), 0, 0}, .expected = {0, 0},
     .got = {0, 1e-30}, 1, 1, false},
    {"minus zero", {DTYPE_F32, DTYPE_F32, 2, EXACT, 0, 0}, {0, -0.0}, {-0.0, 0}, 0, 0, false},
    {"NaN in its place", .spec = {DTYPE_F32, DTYPE_F32, 2, WITHIN(1e-5), 0, 0},
     .expected = {NAN, 1}, .got = {-NAN, 1}, 0, 0, false},
    {"NaN got", {DTYPE_F32, DTYPE_F32, 2, WITHIN(1e-5), 0, 0}, {2, 1}, {2, NAN}, 1, 1, true},
    {"NaN expected", {DTYPE_F16, DTYPE_F16, 2, WITHIN(1e-5), 0, 0}, {NAN, 1}, {3, 1}, 1, 0, true},
    {"all NaN got", {DTYPE_F32, DTYPE_F32, 2, WITHIN(1e30), 0, 0}, {2, 1}, {NAN, NAN}, 2, 0, true},
    {"infinities", .spec = {DTYPE_F32, DTYPE_F32, 2, WITHIN(1e-5), 0, 0},
     .expected = {INFINITY, -INFINITY}, .got = {INFINITY, -INFINITY}, 0, 0, false},
    {"sign of infinity", .spec = {DTYPE_F32, DTYPE_F32, 2, WITHIN(1e-5), 0, 0},
     .expected = {INFINITY, 1}, .got = {-INFINITY, 1}, 1, 0, true},
    {"finite for infinity", .spec = {DTYPE_F64, DTYPE_F64, 2, WITHIN(1), 0, 0},
     .expected = {INFINITY, 1}, .got = {1e308, 1}, 1, 0, true},
    {"infinity for finite", .spec = {DTYPE_F64, DTYPE_F64, 2, WITHIN(1), 0, 0},
     .expected = {1e308, 1}, .got = {INFINITY, 1}, 1, 0, true},
    {"huge error",
     {DTYPE_F64, DTYPE_F64, 1, WITHIN(1e-3), 0, 0},
     {-1.5e308},
     {1.5e308},
     1,
     0,
     false},
    {"overflow, f32", .spec = {DTYPE_F32, DTYPE_F64, 2, WITHIN(1e-5), 0, 0},
     .expected = {1e39, -1e300}, .got = {INFINITY, -INFINITY}, 0, 0, false},
    {"overflow, f16", .spec = {DTYPE_F16, DTYPE_F64, 4, WITHIN(1e-3), 0, 0},
     .expected = {65520, 65519, -7e4, 1}, .got = {INFINITY, 65504, -INFINITY, 1}, 0, 0, false},
    {"overflow missed", .spec = {DTYPE_F16, DTYPE_F64, 2, WITHIN(1e-3), 0, 0}, .expected = {7e4, 1},
     .got = {-INFINITY, 1}, 1, 0, true},
    {"no overflow", .spec = {DTYPE_F16, DTYPE_F64, 2, WITHIN(1e-3), 0, 0}, .expected = {6e4, 1},
     .got = {INFINITY, 1}, 1, 0, true},
    {"oracle", .spec = {DTYPE_F32, DTYPE_F64, 2, WITHIN(1e-7), 0, 0}, .expected = {0.1, 1.0 / 3},
     .got = {0.1, 1.0 / 3}, 0, 0, false},
    {"bf16", {DTYPE_BF16, DTYPE_F64, 2, WITHIN(4e-3), 0, 0}, {0.1, 3}, {0.1, 3}, 0, 0, false},
    {"denormals", .spec = {DTYPE_F32, DTYPE_F32, 2, WITHIN(1e-5), 0, 0}, .expected = {1e-44, 1e-42},
     .got = {1e-44, 0}, 1, 1, false},
    {"tiny doubles", .spec = {DTYPE_F64, DTYPE_F64, 2, WITHIN(1e-5), 0, 0},
     .expected = {1e-300, 1e-300}, .got = {1e-300, 1.1e-300}, 1, 1, false},
    {"big doubles", .spec = {DTYPE_F64, DTYPE_F64, 2, WITHIN(1e-5), 0, 0},
     .expected = {1e300, 1e300}, .got = {1e300, 1.1e300}, 1, 1, false},
    {"noise", .spec = {DTYPE_F32, DTYPE_F32, 3, WITHIN(1e-5), 0, 2e-8}, .expected = {0, 1e-9, 1e-6},
     .got = {1e-8, -1e-8, 1.03e-6}, 1, 2, false},
    {"noise beside a larger bound", .spec = {DTYPE_F32, DTYPE_F32, 2, WITHIN(1e-3), 0, 9e-4},
     .expected = {1, 1}, .got = {1.0009, 1.0019}, 1, 1, false},
    {"all expected zero, noise", .spec = {DTYPE_F32, DTYPE_F32, 2, WITHIN(1e-3), 0, 1e-30},
     .expected = {0, 0}, .got = {0, 0.9e-30}, 0, 0, false},
    {"integers", {DTYPE_I32, DTYPE_I32, 4, EXACT, 0, 0}, {1, -2, 3, 4}, {1, -2, 4, 3}, 2, 2, false},
    {"bool", {DTYPE_BOOL, DTYPE_BOOL, 3, EXACT, 0, 0}, {1, 0, 1}, {1, 1, 1}, 1, 1, false},
    {"integers with tolerance", .spec = {DTYPE_U8, DTYPE_U8, 2, .tolerance = {.absolute = 1}, 0, 0},
     .expected = {9, 9}, .got = {10, 11}, 1, 1, false},
    {"integer oracle", {DTYPE_I8, DTYPE_F64, 2, EXACT, 0, 0}, {-8, 9}, {-8, 9}, 0, 0, false},
};

TEST(table)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct comparison *spec = &rows[i].spec;
        char expected[32], got[32];
        for (size_t k = 0; k < 4; k++) {
            dtype_store(spec->expected_dtype, expected, k, rows[i].expected[k]);
            dtype_store(spec->dtype, got, k, rows[i].got[k]);
        }
        struct difference difference;
        both(spec, expected, got, &difference);
        if (difference.mismatches != rows[i].mismatches ||
            difference.first_index != rows[i].first ||
            difference.nan_mismatch != rows[i].nan_mismatch)
            fail_msg("%s: %llu mismatches, first at %llu", rows[i].what,
                     (unsigned long long)difference.mismatches,
                     (unsigned long long)difference.first_index);
    }
}

TEST(values)
{
    const float expected[] = {3, -4, 0}, got[] = {3, -4.5, 0.25};
    const struct comparison spec = {DTYPE_F32, DTYPE_F32, 3, WITHIN(1e-6), 0, 0};
    struct difference difference;
    assert_false(both(&spec, expected, got, &difference));
    assert_true(same(difference.scale, sqrt(25.0 / 3), 1e-14));
    assert_true(difference.max_absolute == 0.5);
    assert_true(same(difference.max_relative, 0.125, 1e-14));
    assert_int_equal(difference.first_index, 1);
    assert_true(difference.expected == -4 && difference.got == -4.5);

    const float zero[] = {0}, one[] = {1};
    const struct comparison loose = {DTYPE_F32, DTYPE_F32, 1, .tolerance = {.absolute = 2}, 0, 0};
    assert_true(both(&loose, zero, one, &difference));
    assert_true(isinf(difference.max_relative));
}

TEST(empty_and_unknown)
{
    struct comparison spec = {DTYPE_F32, DTYPE_F32, 0, WITHIN(1e-6), 0, 0};
    struct difference difference;
    assert_true(both(&spec, NULL, NULL, &difference));
    assert_true(difference.scale == 0 && difference.max_relative == 0);
    spec = (struct comparison){DTYPE_COUNT, DTYPE_F32, 7, WITHIN(1), 0, 0};
    assert_false(both(&spec, "", "", &difference));
    assert_int_equal(difference.mismatches, 7);
}

TEST(wide_integers_are_compared_as_integers)
{
    const int64_t expected[] = {INT64_MAX, ((int64_t)1 << 53) + 1, -5};
    const int64_t got[] = {INT64_MAX - 1, (int64_t)1 << 53, -5};
    struct comparison spec = {DTYPE_I64, DTYPE_I64, 3, EXACT, 0, 0};
    struct difference difference;
    assert_false(both(&spec, expected, got, &difference));
    assert_int_equal(difference.mismatches, 2);
    spec.dtype = spec.expected_dtype = DTYPE_U64;
    assert_false(both(&spec, expected, got, &difference));
    assert_int_equal(difference.mismatches, 2);
}

TEST(unaligned_to_a_register)
{
    float expected[40], got[40];
    for (int i = 0; i < 40; i++)
        expected[i] = got[i] = (float)i;
    for (size_t offset = 0; offset < 9; offset++)
        for (uint64_t count = 0; count < 20; count++) {
            struct comparison spec = {DTYPE_F32, DTYPE_F32, count, WITHIN(1e-6), 0, 0};
            struct difference difference;
            got[offset + count] += 100; /* just behind the end: must not count */
            assert_true(both(&spec, expected + offset, got + offset, &difference));
            got[offset + count] -= 100;
        }
}

/* Values of every kind, in any of the types, wrong here and there. */
static double draw(uint64_t *state, bool special)
{
    static const double specials[] = {0,       -0.0,  1e-45,  -1e-40,  FLT_MAX, -FLT_MAX, 65504,
                                      65519.9, 65520, 3.4e38, 3.41e38, DBL_MAX, DBL_MIN,  5e-324};
    if (special && random_next(state) % 16 == 0) {
        uint64_t pick = random_next(state) % (COUNT(specials) + 3);
        if (pick < 3)
            return pick == 0 ? nan_value : pick == 1 ? inf : -inf;
        return specials[pick - 3];
    }
    double size = random_next(state) % 8 ? 1 : 100;
    return (uniform(state) - 0.5) * size;
}

static void random_case(uint64_t seed, double *expected_value, double *got_value, void *expected,
                        void *got)
{
    static const double errors[] = {0, 1e-8, 1e-4, 1};
    uint64_t state = seed;
    struct comparison spec = {.count = random_next(&state) % 1500};
    spec.dtype = random_next(&state) % DTYPE_COUNT;
    bool floating = dtype_facts(spec.dtype)->floating;
    spec.expected_dtype = floating && random_next(&state) % 2 ? DTYPE_F64 : spec.dtype;
    spec.tolerance.exact = random_next(&state) % 4 == 0;
    spec.tolerance.scale = random_next(&state) % 2 ? SCALE_RMS : SCALE_NONE;
    spec.tolerance.relative = random_next(&state) % 2 ? 1e-3 : 1e-6;
    spec.tolerance.absolute = random_next(&state) % 2 ? 0 : 1e-5;
    spec.slack = random_next(&state) % 2 ? 0 : 1e-4;
    spec.noise = random_next(&state) % 2 ? 0 : 3e-5;
    bool special = random_next(&state) % 2;
    double error = errors[random_next(&state) % 4];
    for (uint64_t i = 0; i < spec.count; i++) {
        expected_value[i] = draw(&state, special);
        got_value[i] = expected_value[i] * (1 + error * (uniform(&state) - 0.5));
        if (random_next(&state) % 512 == 0)
            got_value[i] = draw(&state, special);
        dtype_store(spec.expected_dtype, expected, i, expected_value[i]);
        dtype_store(spec.dtype, got, i, got_value[i]);
    }
    struct difference difference;
    both(&spec, expected, got, &difference);
}

TEST(fast_equals_plain)
{
    double *memory = mem_alloc(4 * 1500 * sizeof *memory);
    for (uint64_t seed = 1; seed <= 2000; seed++)
        random_case(seed, memory, memory + 1500, memory + 3000, memory + 4500);
    mem_free(memory);
}

/* Every half there is, against the reference conversion. */
TEST(all_halves)
{
    uint16_t *halves = mem_alloc(65536 * sizeof *halves);
    double *wide = mem_alloc(65536 * sizeof *wide);
    static const uint32_t types[] = {DTYPE_F16, DTYPE_BF16};
    for (size_t t = 0; t < 2; t++) {
        for (uint32_t i = 0; i < 65536; i++) {
            halves[i] = (uint16_t)i;
            wide[i] = dtype_load(types[t], halves, i);
            if (isnan(wide[i]))
                wide[i] = halves[i] = 0;
        }
        struct comparison spec = {types[t], DTYPE_F64, 65536, .tolerance = {0}, 0, 0};
        struct difference difference;
        assert_true(both(&spec, wide, halves, &difference));
        assert_true(difference.max_absolute == 0);
    }
    mem_free(halves);
    mem_free(wide);
}
