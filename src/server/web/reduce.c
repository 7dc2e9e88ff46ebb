#include "server/web/reduce.h"

#include <math.h>

/* Welford's sums: the deviation of near values far from zero stays exact. */
static void add_value(struct reduce_bucket *bucket, uint64_t step, double value)
{
    if (bucket->count == 0)
        *bucket = (struct reduce_bucket){step, step, value, 0, value, 0, 0};
    double before = bucket->mean;
    bucket->count++;
    bucket->mean += (value - before) / (double)bucket->count;
    bucket->deviation += (value - before) * (value - bucket->mean); /* their squares, for now */
    bucket->least = fmin(bucket->least, value);
    bucket->greatest = fmax(bucket->greatest, value);
    bucket->last = step;
}

size_t reduce_series(const uint64_t *steps, const double *values, size_t count,
                     struct reduce_bucket *buckets, size_t most)
{
    size_t finite = 0, done = 0;
    for (size_t i = 0; i < count; i++)
        finite += isfinite(values[i]) != 0;
    size_t each = (finite + most - 1) / most;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        if (done == 0 || buckets[done - 1].count == each)
            buckets[done++] = (struct reduce_bucket){0};
        add_value(&buckets[done - 1], steps[i], values[i]);
    }
    for (size_t i = 0; i < done; i++)
        buckets[i].deviation = buckets[i].count > 1
                                   ? sqrt(buckets[i].deviation / (double)(buckets[i].count - 1))
                                   : NAN;
    return done;
}
