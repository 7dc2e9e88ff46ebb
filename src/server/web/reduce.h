/* reduce: many values of a metric as a few buckets, for curves.
 *
 * Pure. Each bucket has as many values as the others, but for the last, which may have fewer;
 * values that are not finite are left out. Of no more values than buckets each is its own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct reduce_bucket {
    uint64_t first, last; /* steps */
    double least, mean, greatest;
    double deviation; /* of the values, not of the mean; NAN: a single one */
    size_t count;
};

/* `steps` rise. Fills at most `most` buckets, at least 1; returns how many. */
size_t reduce_series(const uint64_t *steps, const double *values, size_t count,
                     struct reduce_bucket *buckets, size_t most);
