#include "judge/measure/sampling.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define MEASURED (4 + 2 * SAMPLING_AROUND) /* arrays of doubles; the scratch takes two more */
#define UNSETTLED 0.85                     /* of what the reference took at the least so far */

void sampling_init(struct sampling *sampling, size_t capacity)
{
    double *memory = mem_alloc(capacity * ((MEASURED + 2) * sizeof *memory + sizeof(bool)));
    *sampling = (struct sampling){.reference = memory,
                                  .candidate = memory + capacity,
                                  .overhead = memory + 2 * capacity,
                                  .issue = memory + 3 * capacity,
                                  .scratch = memory + MEASURED * capacity,
                                  .candidate_first = (bool *)(memory + (MEASURED + 2) * capacity),
                                  .capacity = capacity};
    for (size_t kind = 0; kind < SAMPLING_AROUND; kind++) {
        sampling->around[kind] = memory + (4 + 2 * kind) * capacity;
        sampling->candidate_around[kind] = memory + (5 + 2 * kind) * capacity;
    }
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
    double least_ms = INFINITY;
    size_t last = sampling->count - 1;
    for (size_t i = 0; i < last; i++)
        least_ms = fmin(least_ms, own_ms(sampling, i));
    if (!sampling->drifts || last == 0 || own_ms(sampling, last) >= least_ms * UNSETTLED)
        return;
    for (double *array = sampling->reference; array < sampling->scratch;
         array += sampling->capacity)
        array[0] = array[last];
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

/* What the candidate took longer around its calls than the reference, into late_ms. Each kind is
 * held against the reference's own: one that stops sooner has no more time for its samples. */
static void sampling_late(const struct sampling *sampling, double *late_ms)
{
    memset(late_ms, 0, sampling->count * sizeof *late_ms);
    for (size_t kind = 0; kind < SAMPLING_AROUND; kind++) {
        struct summary around;
        stats_summary(sampling->around[kind], sampling->count, &around);
        double expected_ms = 2 * around.quartile3 - around.quartile1;
        for (size_t i = 0; i < sampling->count; i++)
            late_ms[i] += fmax(sampling->candidate_around[kind][i] - expected_ms, 0);
    }
}

/* Into scratch: reference first, candidate behind it. */
void sampling_take_off(struct sampling *sampling, const double **reference,
                       const double **candidate)
{
    double *into = sampling->scratch;
    double *late_ms = into + sampling->capacity;
    stats_summary(sampling->overhead, sampling->count, &sampling->cost);
    sampling_late(sampling, late_ms);
    for (size_t i = 0; i < sampling->count; i++) {
        double cost_ms = overhead_near(sampling, i);
        into[i] = fmax(sampling->reference[i] - cost_ms, SAMPLING_RESOLUTION_MS);
        into[sampling->capacity + i] = fmax(sampling->candidate[i] + late_ms[i] - cost_ms,
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
