#include "../support/test.h"
#include "base/mem.h"
#include "server/web/reduce.h"

#include <math.h>

#define STEPS 10000

TEST(each_value_its_own_bucket)
{
    const uint64_t steps[] = {0, 1, 5};
    const double values[] = {1, -2, 3};
    struct reduce_bucket buckets[3];
    assert_int_equal(reduce_series(steps, values, 3, buckets, 3), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(buckets[i].first, steps[i]);
        assert_int_equal(buckets[i].last, steps[i]);
        assert_int_equal(buckets[i].count, 1);
        assert_float_equal(buckets[i].mean, values[i], 0);
        assert_float_equal(buckets[i].least, values[i], 0);
        assert_float_equal(buckets[i].greatest, values[i], 0);
        assert_true(isnan(buckets[i].deviation));
    }
}

TEST(what_is_not_finite_is_left_out)
{
    const uint64_t steps[] = {0, 1, 2, 3};
    const double values[] = {NAN, 2, INFINITY, 4};
    struct reduce_bucket bucket;
    assert_int_equal(reduce_series(steps, values, 4, &bucket, 1), 1);
    assert_int_equal(bucket.first, 1);
    assert_int_equal(bucket.last, 3);
    assert_int_equal(bucket.count, 2);
    assert_float_equal(bucket.mean, 3, 0);
    assert_float_equal(bucket.deviation, sqrt(2), 1e-15);
    assert_int_equal(reduce_series(steps, values, 1, &bucket, 1), 0);
    assert_int_equal(reduce_series(steps, values, 0, &bucket, 1), 0);
}

/* Against the plain sums. */
TEST(ten_thousand_steps)
{
    static const size_t mosts[] = {1, 3, 100, 999, 2000, STEPS, STEPS + 1};
    uint64_t *steps = mem_alloc(STEPS * sizeof *steps);
    double *values = mem_alloc(STEPS * sizeof *values);
    for (size_t i = 0; i < STEPS; i++) {
        steps[i] = 2 * i;
        values[i] = 1e6 + sin((double)i);
    }
    for (size_t m = 0; m < COUNT(mosts); m++) {
        struct reduce_bucket *buckets = mem_alloc(mosts[m] * sizeof *buckets);
        size_t count = reduce_series(steps, values, STEPS, buckets, mosts[m]), at = 0;
        assert_in_range(count, mosts[m] / 2, mosts[m]);
        for (size_t b = 0; b < count; b++) {
            double sum = 0, squares = 0, n = (double)buckets[b].count;
            double least = INFINITY, greatest = -INFINITY;
            assert_int_equal(buckets[b].first, steps[at]);
            for (size_t i = at; i < at + buckets[b].count; i++) {
                sum += values[i];
                least = fmin(least, values[i]);
                greatest = fmax(greatest, values[i]);
            }
            for (size_t i = at; i < at + buckets[b].count; i++)
                squares += pow(values[i] - sum / n, 2);
            at += buckets[b].count;
            assert_int_equal(buckets[b].last, steps[at - 1]);
            assert_float_equal(buckets[b].mean, sum / n, 1e-8);
            assert_float_equal(buckets[b].least, least, 0);
            assert_float_equal(buckets[b].greatest, greatest, 0);
            if (buckets[b].count > 1)
                assert_float_equal(buckets[b].deviation, sqrt(squares / (n - 1)), 1e-6);
        }
        assert_int_equal(at, STEPS);
        mem_free(buckets);
    }
    mem_free(values);
    mem_free(steps);
}
