#include "../support/test.h"
#include "base/random.h"
#include "judge/numeric/stats.h"

#include <math.h>
#include <stdbool.h>

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fmax(1, fabs(expected))))
        fail_msg("%.12g instead of %.12g", got, expected);
}

TEST(summary)
{
    static const struct {
        size_t n;
        double samples[8], median, quartile1, quartile3, min, max;
    } rows[] = {
        {1, {7}, 7, 7, 7, 7, 7},
        {2, {4, 2}, 3, 2.5, 3.5, 2, 4},
        {3, {9, 1, 5}, 5, 3, 7, 1, 9},
        {4, {4, 3, 2, 1}, 2.5, 1.75, 3.25, 1, 4},
        {5, {1, 1, 1, 1, 100}, 1, 1, 1, 1, 100},
        {8, {8, 7, 6, 5, 4, 3, 2, 1}, 4.5, 2.75, 6.25, 1, 8},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct summary summary;
        stats_summary(rows[i].samples, rows[i].n, &summary);
        assert_int_equal(summary.n, rows[i].n);
        assert_near(summary.median, rows[i].median);
        assert_near(stats_median(rows[i].samples, rows[i].n), rows[i].median);
        assert_near(summary.quartile1, rows[i].quartile1);
        assert_near(summary.quartile3, rows[i].quartile3);
        assert_near(summary.min, rows[i].min);
        assert_near(summary.max, rows[i].max);
    }
    struct summary summary;
    stats_summary(NULL, 0, &summary);
    assert_true(isnan(summary.median) && isnan(summary.min));
}

/* Ranks for a confidence interval of the median: Conover, and R's qbinom(0.025, n, 0.5). */
TEST(order_statistics)
{
    static const struct {
        size_t n, rank;
    } rows[] = {{6, 1},  {7, 1},  {8, 1},   {9, 2},   {10, 2},   {12, 3},   {15, 4},
                {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}, {400, 180}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        double numerator[400], ones[400];
        size_t n = rows[i].n;
        for (size_t k = 0; k < n; k++) {
            numerator[k] = (double)(n - k); /* n … 1 */
            ones[k] = 1;
        }
        struct interval ratio;
        stats_ratio(numerator, ones, n, &ratio);
        assert_near(ratio.low, (double)rows[i].rank);
        assert_near(ratio.high, (double)(n + 1 - rows[i].rank));
        assert_int_equal(ratio.n, n);
    }
}

TEST(few_pairs)
{
    struct interval ratio;
    stats_ratio(NULL, NULL, 0, &ratio);
    assert_true(isnan(ratio.value) && ratio.low == 0 && isinf(ratio.high));
    assert_false(stats_tight(&ratio, 1));
    stats_ratio((double[]){6}, (double[]){2}, 1, &ratio);
    assert_near(ratio.value, 3);
    assert_true(ratio.low == 0 && isinf(ratio.high));
    assert_false(stats_tight(&ratio, 1));
    /* logs 0, 1, 2: mean 1, s = 1, half width 4.30265273 / sqrt(3) */
    stats_ratio((double[]){1, exp(2), exp(1)}, (double[]){1, 1, 1}, 3, &ratio);
    assert_near(ratio.value, exp(1));
    assert_near(log(ratio.low), 1 - 4.30265273 / sqrt(3));
    assert_near(log(ratio.high), 1 + 4.30265273 / sqrt(3));
    stats_ratio((double[]){2, 2, 2}, (double[]){1, 1, 1}, 3, &ratio);
    assert_near(ratio.low, 2);
    assert_near(ratio.high, 2);
    assert_true(stats_tight(&ratio, 0.001));
}

TEST(pairs_cancel_what_slows_both)
{
    double reference[] = {1, 10, 3, 0.5, 7, 2, 5}, candidate[7];
    for (size_t i = 0; i < 7; i++)
        candidate[i] = reference[i] / 4;
    struct interval ratio;
    stats_ratio(reference, candidate, 7, &ratio);
    assert_near(ratio.value, 4);
    assert_near(ratio.low, 4);
    assert_near(ratio.high, 4);
}

TEST(another_estimate_is_held)
{
    static const struct {
        double value, expected, low, high;
    } rows[] = {{3, 3, 1, 8},  {0.5, 0.5, 0.5, 8}, {9, 9, 1, 9},       {0, 2, 1, 8},
                {-1, 2, 1, 8}, {NAN, 2, 1, 8},     {INFINITY, 2, 1, 8}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct interval ratio = {.value = 2, .low = 1, .high = 8, .n = 10};
        stats_hold(&ratio, rows[i].value);
        assert_true(ratio.value == rows[i].expected && ratio.low == rows[i].low &&
                    ratio.high == rows[i].high && ratio.n == 10);
    }
}

TEST(independent_errors_add_up_in_squares)
{
    static const struct {
        struct interval ratio;
        double deviation, low, high; /* logarithms of value / low and high / value */
    } rows[] = {
        {{1, 1, 1, 6}, 0.02, 1.96 * 0.02, 1.96 * 0.02},
        {{2, 2 / M_E, 2 * M_E, 6}, 0, 1, 1},
        {{3, 2.2224546620451537, 5.466356401171526, 6}, 0.4 / 1.96, 0.5, 0.7211102550927978},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct interval ratio = rows[i].ratio;
        stats_widen(&ratio, rows[i].deviation);
        assert_true(ratio.value == rows[i].ratio.value && ratio.n == 6);
        assert_true(fabs(log(ratio.value / ratio.low) - rows[i].low) < 1e-9);
        assert_true(fabs(log(ratio.high / ratio.value) - rows[i].high) < 1e-9);
    }
    struct interval unknown = {1, 0, INFINITY, 1};
    stats_widen(&unknown, 0.02);
    assert_true(unknown.low == 0 && unknown.high == INFINITY);
}

TEST(no_time_at_all)
{
    struct interval ratio;
    double zero[6] = {0}, one[6] = {1, 1, 1, 1, 1, 1};
    stats_ratio(one, zero, 6, &ratio);
    assert_true(isfinite(ratio.value) && ratio.value > 1e300);
    stats_ratio(zero, one, 6, &ratio);
    assert_true(ratio.value >= 0 && ratio.value < 1e-300);
}

TEST(orders_are_brought_to_one_level)
{
    static const struct {
        size_t n;
        double times[6];
        bool group[6];
        double expected[6];
    } rows[] = {
        {4, {1, 4, 1, 4}, {0, 1, 0, 1}, {2, 2, 2, 2}},
        {6, {1, 4, 2, 8, 3, 100}, {0, 1, 0, 1, 0, 1}, {2, 2, 4, 4, 6, 50}}, /* medians 2 and 8 */
        {3, {5, 6, 7}, {1, 1, 1}, {5, 6, 7}},                               /* one group only */
        {2, {0, 3}, {0, 1}, {0, 3}},
        {0, {0}, {0}, {0}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double times[6];
        memcpy(times, rows[i].times, sizeof times);
        stats_level(times, rows[i].group, rows[i].n);
        for (size_t k = 0; k < rows[i].n; k++)
            assert_near(times[k], rows[i].expected[k]);
    }
}

TEST(tight)
{
    assert_true(stats_tight(&(struct interval){2, 1.9, 2.1, 9}, 0.05 + 1e-12));
    assert_false(stats_tight(&(struct interval){2, 1.9, 2.1, 9}, 0.049));
    assert_false(stats_tight(&(struct interval){2, 0, INFINITY, 1}, 1000));
    assert_false(stats_tight(&(struct interval){NAN, 0, INFINITY, 0}, 1000));
}

static double normal(uint64_t *state)
{
    double u = ((double)(random_next(state) >> 11) + 0.5) * 0x1p-53;
    double v = random_uniform(random_next(state));
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* One timing of something that takes `typical`: normal noise, or a long tail of interruptions. */
static double timing(uint64_t *state, double typical, bool tail)
{
    double noise = 0.03 * normal(state);
    if (tail)
        noise += -0.2 * log(((double)(random_next(state) >> 11) + 0.5) * 0x1p-53);
    return typical * exp(noise);
}

/* How often the interval holds the true ratio, 2, in many experiments of n pairs. */
static double coverage(size_t n, bool tail)
{
    uint64_t state = 1000 + n;
    int held = 0;
    const int experiments = 4000;
    for (int e = 0; e < experiments; e++) {
        double reference[50], candidate[50];
        for (size_t i = 0; i < n; i++) {
            double slow = exp(normal(&state)); /* of the whole machine, at that moment */
            reference[i] = slow * timing(&state, 2, tail);
            candidate[i] = slow * timing(&state, 1, tail);
        }
        struct interval ratio;
        stats_ratio(reference, candidate, n, &ratio);
        held += ratio.low <= 2 && 2 <= ratio.high;
    }
    return (double)held / experiments;
}

TEST(coverage)
{
    static const size_t counts[] = {2, 3, 5, 6, 8, 9, 15, 50};
    for (size_t i = 0; i < COUNT(counts); i++)
        for (int tail = 0; tail < 2; tail++) {
            double held = coverage(counts[i], tail);
            if (held < 0.94 || held > 0.998)
                fail_msg("n = %zu, tail %d: covers %.3f", counts[i], tail, held);
        }
}
