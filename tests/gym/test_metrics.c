#include "../support/test.h"
#include "base/random.h"
#include "gym/report/metrics.h"

#include <math.h>
#include <stdlib.h>

#define CLOSE 1e-12

static void assert_close(double value, double wanted)
{
    if (isnan(wanted))
        assert_true(isnan(value));
    else
        assert_float_equal(value, wanted, CLOSE);
}

TEST(pass_at_k)
{
    static const struct {
        size_t n, c, k;
        double wanted;
    } rows[] = {
        {5, 2, 1, 0.4},
        {5, 2, 2, 1 - 3.0 / 10},
        {5, 2, 3, 1 - 1.0 / 10},
        {5, 2, 4, 1},
        {10, 3, 5, 1 - 21.0 / 252},
        {8, 0, 8, 0},
        {8, 8, 1, 1},
        {8, 1, 8, 1},
        {1, 0, 1, 0},
        {1000, 1, 500, 0.5},
        {5, 2, 6, NAN}, /* six were not drawn */
        {5, 2, 0, NAN},
        {0, 0, 1, NAN},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_close(gym_pass_at_k(rows[i].n, rows[i].c, rows[i].k), rows[i].wanted);
}

/* Every subset of k out of n, of which the first c are correct. */
static double pass_by_counting(unsigned n, unsigned c, unsigned k)
{
    unsigned all = 0, good = 0;
    for (unsigned set = 0; set < 1u << n; set++) {
        if ((unsigned)__builtin_popcount(set) != k)
            continue;
        all++;
        good += (set & ((1u << c) - 1)) != 0;
    }
    return (double)good / all;
}

TEST(pass_at_k_against_counting)
{
    for (unsigned n = 1; n <= 9; n++)
        for (unsigned c = 0; c <= n; c++)
            for (unsigned k = 1; k <= n; k++)
                assert_close(gym_pass_at_k(n, c, k), pass_by_counting(n, c, k));
}

#define RIGHT(s, r)                                                                                \
    {                                                                                              \
        .speedup = (s), .speedup_low = (s)*0.9, .speedup_high = (s)*1.1, .reward = (r),            \
        .status = STATUS_PASSED, .format_ok = true, .compiled = true, .correct = true              \
    }
#define WRONG                                                                                      \
    {                                                                                              \
        .status = STATUS_WRONG, .format_ok = true, .compiled = true                                \
    }
#define BROKEN                                                                                     \
    {                                                                                              \
        .status = STATUS_COMPILE_ERROR, .format_ok = true                                          \
    }
#define CHEAT                                                                                      \
    {                                                                                              \
        .status = STATUS_VIOLATION, .format_ok = true, .compiled = true, .cheated = true           \
    }
#define NO_CODE                                                                                    \
    {                                                                                              \
        .status = GYM_NO_CODE                                                                      \
    }
/* Whatever it claims, it says nothing. */
#define LOST                                                                                       \
    {                                                                                              \
        .status = STATUS_INFRASTRUCTURE_ERROR, .excluded = true, .correct = true,                  \
        .compiled = true, .speedup = 99, .reward = 99                                              \
    }

static const struct gym_turn slow_then_fast[] = {BROKEN, RIGHT(0.5, 0.8), RIGHT(2, 2.3)};
static const struct gym_turn fast_then_broken[] = {RIGHT(4, 4.3), BROKEN, WRONG};
static const struct gym_turn never[] = {NO_CODE, CHEAT, WRONG};
static const struct gym_turn lost[] = {LOST};
static const struct gym_turn lost_between[] = {WRONG, LOST, RIGHT(1, 1.3)};
static const struct gym_turn untimed[] = {RIGHT(0, 0.3)};

#define SAMPLE(turns, first)                                                                       \
    {                                                                                              \
        turns, COUNT(turns), first, 0                                                              \
    }
static const struct gym_sample both[] = {SAMPLE(slow_then_fast, 1.5),
                                         SAMPLE(fast_then_broken, 4.3)};
static const struct gym_sample none[] = {SAMPLE(never, 0), SAMPLE(lost, 0)};
static const struct gym_sample some[] = {SAMPLE(lost_between, 0.5), SAMPLE(untimed, 0.3)};

/* Three samples asked of each; the last problem was not reached. */
static const struct gym_problem problems[] = {{both, 2, 3},
                                              {none, 2, 3},
                                              {some, 2, 3},
                                              {NULL, 0, 3}};
#define PROBLEMS COUNT(problems)

TEST(best)
{
    static const struct {
        struct gym_sample sample;
        size_t turns;
        double wanted;
    } rows[] = {
        {SAMPLE(slow_then_fast, 0), 1, -1},
        {SAMPLE(slow_then_fast, 0), 2, 0.5},
        {SAMPLE(slow_then_fast, 0), 3, 2},
        {SAMPLE(slow_then_fast, 0), GYM_ALL_TURNS, 2},
        {SAMPLE(fast_then_broken, 0), 3, 4},
        {SAMPLE(never, 0), 3, -1},
        {SAMPLE(lost, 0), 3, -1},
        {SAMPLE(lost_between, 0), 2, -1},
        {SAMPLE(untimed, 0), 1, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_close(gym_best(&rows[i].sample, rows[i].turns), rows[i].wanted);
    assert_true(gym_is_lost(&none[1]));
    assert_false(gym_is_lost(&some[0]));
    assert_true(gym_is_lost(&(struct gym_sample){0}));
}

TEST(measures)
{
    /* The sums over the four problems above, found by hand. */
    static const struct {
        struct gym_measure measure;
        double over, under;
    } rows[] = {
        {{GYM_FAST_PROBLEMS, .p = 0}, 2, 4},
        {{GYM_FAST_PROBLEMS, .p = 1}, 1, 4}, /* exactly as fast is not faster */
        {{GYM_FAST_PROBLEMS, .p = 1.5}, 1, 4},
        {{GYM_FAST_PROBLEMS, .p = 3.9}, 1, 4},
        {{GYM_FAST_PROBLEMS, .p = 4}, 0, 4},
        {{GYM_FAST_PROBLEMS, .p = 0, .judged = true}, 2, 3},
        {{GYM_FAST_SAMPLES, .p = 0}, 4, 12},
        {{GYM_FAST_SAMPLES, .p = 1}, 2, 12},
        {{GYM_FAST_SAMPLES, .p = 0, .judged = true}, 4, 5},
        {{GYM_FAST_FIRST, .p = 0}, 2, 4},
        {{GYM_FAST_FIRST, .p = 1.9}, 1, 4},
        {{GYM_FAST_FIRST, .p = 2}, 0, 4},
        {{.kind = GYM_SPEEDUP_FIRST}, 0.69314718055994531 /* ln 2 + ln 1 */, 2},
        /* pass@1: 2/3, 0, 2/3, 0; pass@2: 1 - C(1,2)/C(3,2) = 1, 0, 1, 0 */
        {{GYM_PASS, .k = 1}, 4.0 / 3, 4},
        {{GYM_PASS, .k = 2}, 2, 4},
        {{GYM_PASS, .k = 2, .p = 1}, 1, 4},
        {{GYM_PASS, .k = 4}, NAN, 4},
        {{.kind = GYM_SPEEDUP_SOLVED}, 1.3862943611198906 /* ln 4 + ln 1 */, 2},
        {{.kind = GYM_SPEEDUP_ALL}, 1.3862943611198906, 4},
        {{.kind = GYM_RETURN}, 1.5 + 4.3 + 0 + 0.5 + 0.3, 5},
        {{GYM_REWARD, .turn = GYM_ALL_TURNS}, 0.8 + 2.3 + 4.3 + 1.3 + 0.3, 12},
        {{GYM_FORMAT, .turn = GYM_ALL_TURNS}, 11, 12},
        {{GYM_COMPILED, .turn = GYM_ALL_TURNS}, 9, 12},
        {{GYM_CORRECT, .turn = GYM_ALL_TURNS}, 5, 12},
        {{GYM_VIOLATION, .turn = GYM_ALL_TURNS}, 1, 12},
        {{GYM_CORRECT, .turn = 0}, 2, 5},
        {{GYM_CORRECT, .turn = 1}, 1, 3},
        {{GYM_CORRECT, .turn = 2}, 2, 4},
        {{GYM_CORRECT, .turn = 3}, 0, 0},
        {{GYM_AT_TURN, .turn = 0}, 2, 12},
        {{GYM_AT_TURN, .turn = 2}, 2, 12},
        {{GYM_AT_TURN, .turn = 2, .p = 2}, 0, 12},
        {{GYM_AT_TURN, .turn = 2, .p = 1.9}, 1, 12},
        {{GYM_BY_TURN, .turn = 0}, 2, 12},
        {{GYM_BY_TURN, .turn = 1}, 3, 12},
        {{GYM_BY_TURN, .turn = 2}, 4, 12},
        {{GYM_BY_TURN, .turn = 9, .p = 2}, 1, 12},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gym_term sum = {0, 0};
        for (size_t j = 0; j < PROBLEMS; j++) {
            struct gym_term term = gym_term(&rows[i].measure, &problems[j]);
            sum.over += term.over;
            sum.under += term.under;
        }
        assert_close(sum.over, rows[i].over);
        assert_close(sum.under, rows[i].under);
    }
}

/* To skip problems with too few of their samples would count the others only. */
TEST(pass_skips_judged_only)
{
    struct gym_measure measure = {GYM_PASS, .k = 2, .judged = true};
    assert_close(gym_term(&measure, &problems[0]).over, 1);
    assert_close(gym_term(&measure, &problems[1]).under, 0);
    measure.judged = false;
    assert_close(gym_term(&measure, &problems[1]).under, 1);
}

TEST(changes)
{
    static const struct gym_turn walk[] = {WRONG,          RIGHT(1, 0), LOST,   RIGHT(1.5, 0),
                                           RIGHT(1.45, 0), RIGHT(1, 0), BROKEN, WRONG};
    struct gym_changes changes = {0};
    struct gym_sample sample = SAMPLE(walk, 0);
    gym_changes_add(&changes, &sample);
    assert_int_equal(changes.fixed, 1);
    assert_int_equal(changes.faster, 1);
    assert_int_equal(changes.same, 1);
    assert_int_equal(changes.slower, 1);
    assert_int_equal(changes.broken, 1);
    assert_int_equal(changes.still_wrong, 1);
    for (size_t i = 0; i < PROBLEMS; i++)
        for (size_t j = 0; j < problems[i].sample_count; j++)
            gym_changes_add(&changes, &problems[i].samples[j]);
    assert_int_equal(changes.first_correct, 2);
    assert_int_equal(changes.last_correct, 3);
    assert_int_equal(changes.improved, 2);
    assert_int_equal(changes.regressed, 1);
}

TEST(statuses)
{
    assert_int_equal(gym_status_of("passed"), STATUS_PASSED);
    assert_int_equal(gym_status_of("no_code"), GYM_NO_CODE);
    assert_int_equal(gym_status_of("<script>"), GYM_UNKNOWN);
    assert_int_equal(gym_status_of("over"), GYM_UNKNOWN); /* no turn can claim that */
    for (int status = 0; status < GYM_STATUS_COUNT; status++)
        assert_non_null(gym_status_name(status));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The textbook's bootstrap, round after round; b NULL: of one set. */
static void slow_bootstrap(const struct gym_term *a, const struct gym_term *b, size_t n,
                           bool logarithmic, double *low, double *high)
{
    enum { ROUNDS = 500 };
    double values[ROUNDS];
    uint64_t seed = 42;
    for (size_t i = 0; i < ROUNDS; i++) {
        double over[2] = {0, 0}, under[2] = {0, 0};
        for (size_t j = 0; j < n; j++) {
            size_t draw = (size_t)((unsigned __int128)random_next(&seed) * n >> 64);
            over[0] += a[draw].over;
            under[0] += a[draw].under;
            over[1] += b ? b[draw].over : 0;
            under[1] += b ? b[draw].under : 0;
        }
        double x = over[0] / under[0], y = b ? over[1] / under[1] : 0;
        values[i] = !b ? (logarithmic ? exp(x) : x) : logarithmic ? exp(y) / exp(x) : y - x;
    }
    qsort(values, ROUNDS, sizeof *values, by_value);
    double place = 0.025 * (ROUNDS - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    *low = values[below] + part * (values[below + 1] - values[below]);
    below = ROUNDS - 1 - below;
    *high = values[below] + part * (values[below - 1] - values[below]);
}

TEST(intervals_against_slow_bootstrap)
{
    enum { N = 23 };
    struct gym_term a[N], b[N];
    uint64_t seed = 7;
    for (size_t i = 0; i < N; i++) {
        a[i] = (struct gym_term){(double)(random_next(&seed) % 5), 4};
        b[i] = (struct gym_term){(double)(random_next(&seed) % 5), 4};
    }
    struct gym_resamples *resamples = gym_resamples_new(N, 500, 42);
    double low, high;
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
        enum gym_scale scale = logarithmic ? GYM_RATIO : GYM_SHARE;
        struct gym_estimate estimate = gym_estimate(a, N, scale, resamples);
        slow_bootstrap(a, NULL, N, logarithmic, &low, &high);
        assert_float_equal(estimate.low, low, 1e-9);
        assert_float_equal(estimate.high, high, 1e-9);
        assert_true(low < estimate.value && estimate.value < high);
        estimate = gym_difference(a, b, N, scale, resamples);
        slow_bootstrap(a, b, N, logarithmic, &low, &high);
        assert_float_equal(estimate.low, low, 1e-9);
        assert_float_equal(estimate.high, high, 1e-9);
    }
    gym_resamples_free(resamples);
}

/* Resampling says nothing where all agree; how far that can be trusted still depends on n. */
TEST(unanimous)
{
    struct gym_term terms[10];
    struct gym_resamples *resamples = gym_resamples_new(10, 100, 1);
    for (size_t i = 0; i < 10; i++)
        terms[i] = (struct gym_term){0, 1};
    struct gym_estimate estimate = gym_estimate(terms, 10, GYM_SHARE, resamples);
    assert_close(estimate.value, 0);
    assert_close(estimate.low, 0);
    assert_float_equal(estimate.high, 0.30850, 1e-5);
    for (size_t i = 0; i < 10; i++)
        terms[i].over = 1;
    estimate = gym_estimate(terms, 10, GYM_SHARE, resamples);
    assert_float_equal(estimate.low, 0.69150, 1e-5);
    assert_close(estimate.high, 1);
    /* As a mean it is no share: nothing is known of how far it could be. */
    assert_true(isnan(gym_estimate(terms, 10, GYM_MEAN, resamples).low));
    /* The same problems on both sides differ in nothing, and there is nothing to resample. */
    estimate = gym_difference(terms, terms, 10, GYM_SHARE, resamples);
    assert_close(estimate.value, 0);
    assert_true(isnan(estimate.low));
    gym_resamples_free(resamples);
}

TEST(too_little)
{
    struct gym_term terms[2] = {{3, 4}, {0, 0}};
    assert_null(gym_resamples_new(1, 100, 1));
    assert_null(gym_resamples_new(0, 100, 1));
    struct gym_estimate estimate = gym_estimate(terms, 1, GYM_SHARE, NULL);
    assert_close(estimate.value, 0.75);
    assert_true(isnan(estimate.low) && isnan(estimate.high));
    assert_true(isnan(gym_estimate(terms + 1, 1, GYM_MEAN, NULL).value));
    assert_true(isnan(gym_estimate(NULL, 0, GYM_SHARE, NULL).value));
    gym_resamples_free(NULL);
}

/* Speedups are compared where both runs have one: 2/1 and 8/2 are 2 and 4; the rest has no pair. */
TEST(ratio_of_pairs)
{
    const struct gym_term a[] = {{0, 1}, {M_LN2, 1}, {3, 1}, {0, 0}};
    const struct gym_term b[] = {{M_LN2, 1}, {3 * M_LN2, 1}, {0, 0}, {5, 1}};
    assert_close(gym_difference(a, b, 4, GYM_RATIO, NULL).value, 2 * M_SQRT2);
    assert_int_equal(gym_difference(a, b, 4, GYM_RATIO, NULL).pairs, 2);
    assert_int_equal(gym_difference(a, b, 4, GYM_SHARE, NULL).pairs, 4);
}
