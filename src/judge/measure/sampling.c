#include "judge/measure/sampling.h"

#include "base/array.h"
#include "base/mem.h"

#include <math.h>

#define ARRAYS 8       /* of doubles, in units of the capacity */
#define UNSETTLED 0.85 /* of what the reference took at the least so far */

void sampling_init(struct sampling *sampling, size_t capacity)
{
    double *memory = mem_alloc(capacity * (ARRAYS * sizeof *memory + sizeof(bool)));
    *sampling = (struct sampling){.reference = memory,
                                  .candidate = memory + capacity,
                                  .overhead = memory + 2 * capacity,
                                  .issue = memory + 3 * capacity,
                                  .around = memory + 4 * capacity,
                                  .candidate_around = memory + 5 * capacity,
                                  .scratch = memory + 6 * capacity,
                                  .candidate_first = (bool *)(memory + ARRAYS * capacity),
                                  .capacity = capacity};
}

void sampling_deinit(struct sampling *sampling)
{
    mem_free(sampling->reference); /* all of them */
}

/* The reference's call by its own clock. */
static double own_ms(const struct sampling *sampling, size_t i)
{
    return sampling->reference[i] - sampling->overhead[i];
}

void sampling_settle(struct sampling *sampling)
{
    double *arrays[] = {sampling->reference, sampling->candidate, sampling->overhead,
                        sampling->issue,     sampling->around,    sampling->candidate_around};
    double least_ms = INFINITY;
    size_t last = sampling->count - 1;
    for (size_t i = 0; i < last; i++)
        least_ms = fmin(least_ms, own_ms(sampling, i));
    if (!sampling->drifts || last == 0 || own_ms(sampling, last) >= least_ms * UNSETTLED)
        return;
    for (size_t i = 0; i < COUNT(arrays); i++)
        arrays[i][0] = arrays[i][last];
    sampling->candidate_first[0] = sampling->candidate_first[last];
    sampling->count = 1;
    sampling->ahead = 0;
    sampling->most_ahead_ms = 0;
}

double sampling_own_ms(struct sampling *sampling)
{
    for (size_t i = 0; i < sampling->count; i++)
        sampling->scratch[i] = own_ms(sampling, i);
    return stats_median(sampling->scratch, sampling->count);
}

static double of_three(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* The overhead near pair i. On a GPU it drifts with other load, so of this pair and its
 * neighbours (the other two of its three at either end) the middle one. */
static double overhead_near(const struct sampling *sampling, size_t i)
{
    const double *all = sampling->overhead;
    size_t count = sampling->count;
    if (sampling->least)
        return sampling->cost.min;
    if (count < 3 || !sampling->drifts)
        return sampling->cost.median;
    size_t first = i == 0 ? 0 : i - 1;
    first = first + 3 > count ? count - 3 : first;
    return of_three(all[first], all[first + 1], all[first + 2]);
}

/* Into scratch: reference first, candidate behind it. */
void sampling_take_off(struct sampling *sampling, const double **reference,
                       const double **candidate)
{
    double *into = sampling->scratch;
    struct summary around;
    stats_summary(sampling->overhead, sampling->count, &sampling->cost);
    stats_summary(sampling->around, sampling->count, &around);
    double expected_ms = 2 * around.quartile3 - around.quartile1; /* anything above is its own */
    for (size_t i = 0; i < sampling->count; i++) {
        double late_ms = fmax(sampling->candidate_around[i] - expected_ms, 0);
        double cost_ms = overhead_near(sampling, i);
        into[i] = fmax(sampling->reference[i] - cost_ms, SAMPLING_RESOLUTION_MS);
        into[sampling->capacity + i] = fmax(sampling->candidate[i] + late_ms - cost_ms,
                                            SAMPLING_RESOLUTION_MS);
    }
    stats_level(into, sampling->candidate_first, sampling->count);
    stats_level(into + sampling->capacity, sampling->candidate_first, sampling->count);
    *reference = into;
    *candidate = into + sampling->capacity;
}

double sampling_waited_ms(const struct sampling *sampling)
{
    return sampling->least || sampling->drifts ? 0 : sampling->cost.median - sampling->cost.min;
}
