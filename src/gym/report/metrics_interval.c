/* metrics_interval: estimates from the problems' terms, by resampling problems. */
#include "gym/report/metrics.h"

#include "base/mem.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

#define TAIL 0.025 /* on each side of the 95 % */

struct gym_resamples {
    size_t n, rounds;
    uint32_t *indices; /* rounds rows of n */
    double *values;    /* of one estimate: the value of each round */
};

struct gym_resamples *gym_resamples_new(size_t n, size_t rounds, uint64_t seed)
{
    if (n < 2 || rounds == 0 || n > UINT32_MAX)
        return NULL;
    struct gym_resamples *resamples = mem_alloc(sizeof *resamples);
    *resamples = (struct gym_resamples){.n = n, .rounds = rounds};
    resamples->indices = mem_alloc(rounds * n * sizeof *resamples->indices);
    resamples->values = mem_alloc(rounds * sizeof *resamples->values);
    for (size_t i = 0; i < rounds * n; i++) {
        uint64_t bits = random_mix(seed + (i + 1) * RANDOM_GOLDEN);
        /* The high half of a product is even over 0 to n-1 up to one part in 2^64 / n. */
        resamples->indices[i] = (uint32_t)((unsigned __int128)bits * n >> 64);
    }
    return resamples;
}

void gym_resamples_free(struct gym_resamples *resamples)
{
    if (!resamples)
        return;
    mem_free(resamples->indices);
    mem_free(resamples->values);
    mem_free(resamples);
}

static double make_estimate(struct gym_term sum, enum gym_scale scale)
{
    if (!(sum.under > 0))
        return NAN;
    return scale == GYM_RATIO ? exp(sum.over / sum.under) : sum.over / sum.under;
}

static struct gym_term sum_all(const struct gym_term *terms, size_t count)
{
    struct gym_term sum = {0, 0};
    for (size_t i = 0; i < count; i++) {
        sum.over += terms[i].over;
        sum.under += terms[i].under;
    }
    return sum;
}

static struct gym_term sum_of(const struct gym_term *terms, const uint32_t *indices, size_t count)
{
    struct gym_term sum = {0, 0};
    for (size_t i = 0; i < count; i++) {
        sum.over += terms[indices[i]].over;
        sum.under += terms[indices[i]].under;
    }
    return sum;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear between order statistics, as everywhere (judge/numeric/stats.c). */
static double quantile(const double *sorted, size_t count, double part)
{
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

static void percentiles(double *values, size_t count, struct gym_estimate *estimate)
{
    if (count == 0)
        return;
    qsort(values, count, sizeof *values, by_value);
    double low = quantile(values, count, TAIL), high = quantile(values, count, 1 - TAIL);
    if (low == high) /* every round agrees: resampling gives no interval */
        return;
    estimate->low = low;
    estimate->high = high;
}

/* 0 or n of n: the bound beyond which that has a probability of 2.5 % (Clopper and Pearson,
 * 1934). */
static bool unanimous_interval(const struct gym_term *terms, size_t count,
                               struct gym_estimate *estimate)
{
    size_t voters = 0;
    bool none = true, all = true;
    for (size_t i = 0; i < count; i++) {
        voters += terms[i].under > 0;
        none &= !(terms[i].over > 0);
        all &= !(terms[i].over < terms[i].under);
    }
    if (voters < 2 || none == all)
        return false;
    double bound = pow(TAIL, 1.0 / (double)voters);
    estimate->low = none ? 0 : bound;
    estimate->high = none ? 1 - bound : 1;
    return true;
}

struct gym_estimate gym_estimate(const struct gym_term *terms, size_t count, enum gym_scale scale,
                                 const struct gym_resamples *resamples)
{
    struct gym_term sum = sum_all(terms, count);
    struct gym_estimate estimate = {make_estimate(sum, scale), NAN, NAN, sum.over, sum.under, 0};
    if (!resamples || resamples->n != count || isnan(estimate.value) ||
        (scale == GYM_SHARE && unanimous_interval(terms, count, &estimate)))
        return estimate;
    size_t found = 0;
    for (size_t i = 0; i < resamples->rounds; i++) {
        double value = make_estimate(sum_of(terms, &resamples->indices[i * count], count), scale);
        if (!isnan(value))
            resamples->values[found++] = value;
    }
    percentiles(resamples->values, found, &estimate);
    return estimate;
}

static double bootstrap_interval(struct gym_term a, struct gym_term b, enum gym_scale scale)
{
    double x = make_estimate(a, scale), y = make_estimate(b, scale);
    return scale == GYM_RATIO ? y / x : y - x;
}

struct gym_estimate gym_difference(const struct gym_term *a, const struct gym_term *b, size_t count,
                                   enum gym_scale scale, const struct gym_resamples *resamples)
{
    struct gym_term *pair[2] = {mem_alloc((count + 1) * sizeof *a),
                                mem_alloc((count + 1) * sizeof *b)};
    struct gym_estimate estimate = {NAN, NAN, NAN, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        if (scale == GYM_RATIO && !(a[i].under > 0 && b[i].under > 0))
            continue;
        estimate.pairs++;
        pair[0][i] = a[i];
        pair[1][i] = b[i];
    }
    estimate.value = bootstrap_interval(sum_all(pair[0], count), sum_all(pair[1], count), scale);
    size_t found = 0;
    for (size_t i = 0; resamples && resamples->n == count && i < resamples->rounds; i++) {
        const uint32_t *indices = &resamples->indices[i * count];
        double value = bootstrap_interval(sum_of(pair[0], indices, count),
                                          sum_of(pair[1], indices, count), scale);
        if (!isnan(value))
            resamples->values[found++] = value;
    }
    if (found > 0)
        percentiles(resamples->values, found, &estimate);
    mem_free(pair[0]);
    mem_free(pair[1]);
    return estimate;
}
