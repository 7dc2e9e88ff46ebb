#include "judge/numeric/stats.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* From here on order statistics reach 95 %: 1 - 2 * (1/2)^6 = 0.969. */
#define ORDER_MIN 6

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A sorted copy, the caller's. */
static double *sorted_copy(const double *samples, size_t n)
{
    double *copy = mem_copy(samples, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, by_value);
    return copy;
}

/* Linear between order statistics (type 7 of Hyndman and Fan, the default of R and numpy). */
static double quantile_of(const double *ordered, size_t n, double part)
{
    if (n == 0)
        return NAN;
    double place = part * (double)(n - 1);
    size_t below = (size_t)place;
    if (below + 1 >= n)
        return ordered[n - 1];
    return ordered[below] + (place - (double)below) * (ordered[below + 1] - ordered[below]);
}

void stats_summary(const double *samples, size_t n, struct summary *summary)
{
    double *ordered = sorted_copy(samples, n);
    *summary = (struct summary){
        .n = n,
        .median = quantile_of(ordered, n, 0.5),
        .quartile1 = quantile_of(ordered, n, 0.25),
        .quartile3 = quantile_of(ordered, n, 0.75),
        .min = quantile_of(ordered, n, 0),
        .max = quantile_of(ordered, n, 1),
    };
    mem_free(ordered);
}

double stats_median(const double *samples, size_t n)
{
    struct summary summary;
    stats_summary(samples, n, &summary);
    return summary.median;
}

static double group_median(const double *times, const bool *group, bool which, size_t n)
{
    double *members = mem_alloc(n * sizeof *members);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (group[i] == which)
            members[count++] = times[i];
    double median = stats_median(members, count);
    mem_free(members);
    return median;
}

void stats_level(double *times, const bool *group, size_t n)
{
    double medians[2] = {group_median(times, group, false, n), group_median(times, group, true, n)};
    double level = sqrt(medians[0]) * sqrt(medians[1]);
    if (!(level > 0)) /* zero, or NaN: a group is empty */
        return;
    for (size_t i = 0; i < n; i++)
        times[i] *= level / medians[group[i]];
}

/* The largest rank r (from 1) for which the interval between the r-th smallest and the r-th largest
 * of n values covers the median with at least 95 %: P(B < r) <= 2.5 % for B binomial(n, 1/2).
 * Summed in logarithms, because 2^-n vanishes for large n. */
static size_t order_rank(size_t n)
{
    double log_term = -(double)n * M_LN2; /* of P(B = k) */
    double below = 0;
    size_t rank = 0;
    for (size_t k = 0; k <= n; k++) {
        below += exp(log_term);
        if (below > 0.025)
            break;
        rank = k + 1;
        log_term += log((double)(n - k)) - log((double)(k + 1));
    }
    return rank;
}

static void order_interval(const double *ordered, size_t n, struct interval *ratio)
{
    size_t rank = order_rank(n);
    ratio->low = exp(ordered[rank - 1]);
    ratio->high = exp(ordered[n - rank]);
}

/* About the mean of the logarithms, stretched where needed to hold the median that is reported. */
static void t_interval(const double *ordered, size_t n, struct interval *ratio)
{
    /* 97.5 % points of Student's t for 1 to 4 degrees of freedom. */
    static const double t[] = {12.7062047, 4.30265273, 3.18244631, 2.77644511};
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += ordered[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (ordered[i] - mean) * (ordered[i] - mean);
    double half = t[n - 2] * sqrt(squares / (double)(n - 1) / (double)n);
    ratio->low = exp(mean - half);
    ratio->high = exp(mean + half);
    stats_hold(ratio, ratio->value);
}

static double log_time(double time)
{
    return log(time > DBL_MIN ? time : DBL_MIN);
}

void stats_ratio(const double *numerator, const double *denominator, size_t n,
                 struct interval *ratio)
{
    double *logs = mem_alloc(n * sizeof *logs);
    for (size_t i = 0; i < n; i++)
        logs[i] = log_time(numerator[i]) - log_time(denominator[i]);
    qsort(logs, n, sizeof *logs, by_value);
    *ratio = (struct interval){exp(quantile_of(logs, n, 0.5)), 0, INFINITY, n};
    if (n >= ORDER_MIN)
        order_interval(logs, n, ratio);
    else if (n >= 2)
        t_interval(logs, n, ratio);
    mem_free(logs);
}

void stats_hold(struct interval *ratio, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    ratio->value = value;
    ratio->low = fmin(ratio->low, value);
    ratio->high = fmax(ratio->high, value);
}

/* Of logarithms of ratios, far from overflow: hypot of glibc 2.35 would ask for that glibc. */
static double root_of_squares(double a, double b)
{
    return sqrt(a * a + b * b);
}

void stats_widen(struct interval *ratio, double deviation)
{
    double half = 1.96 * deviation;
    ratio->low = ratio->value * exp(-root_of_squares(log(ratio->value / ratio->low), half));
    ratio->high = ratio->value * exp(root_of_squares(log(ratio->high / ratio->value), half));
}

bool stats_tight(const struct interval *interval, double target)
{
    return (interval->high - interval->low) / 2 <= target * interval->value;
}
