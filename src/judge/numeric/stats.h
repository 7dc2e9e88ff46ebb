/* stats: what a handful of timings says, and how surely.
 *
 * Candidate and reference are timed in pairs, one right after the other, so that what slows both
 * (frequency, neighbours) cancels in the pair's ratio. The median of these ratios is found on a
 * logarithmic scale, where twice as fast and half as fast are equally far from even. What is
 * reported is the ratio of the two medians, which agrees with the times beside it; the interval is
 * stretched where needed to hold it (stats_hold). The 95 % interval:
 *
 *   n >= 6   order statistics of the log ratios, ranks from the binomial distribution with p = 1/2:
 *            covers at least 95 % for every distribution (Conover, Practical Nonparametric
 *            Statistics, section 3.2), because timing noise is anything but normal;
 *   2 to 5   mean and Student's t on the log ratios: order statistics cannot reach 95 % below 6
 *            pairs. It supposes roughly normal log ratios, so it is the best cheap guess, not a
 *   proof; n < 2    no interval: 0 to infinity.
 *
 * Stopping when the interval looks tight makes the real coverage a little smaller than 95 %; that
 * is why timing.min_samples exists. All functions are pure; arrays are not changed, but
 * by stats_level.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct summary {
    size_t n;
    double median, quartile1, quartile3; /* linear between order statistics; NaN when n == 0 */
    double min, max;
};

struct interval {
    double value;     /* NaN when n == 0 */
    double low, high; /* 95 %; 0 and INFINITY when nothing can be said */
    size_t n;
};

void stats_summary(const double *samples, size_t n, struct summary *summary);
double stats_median(const double *samples, size_t n);

/* Two groups of times that differ by a factor that is expected (the first and the second call of a
 * pair): each is moved so that both medians are where the medians' geometric mean was. Nothing is
 * done where a group is empty. */
void stats_level(double *times, const bool *group, size_t n);

/* The ratio numerator[i] / denominator[i]; both positive (a time of 0 counts as the smallest
 * positive double). Speedup: numerator = reference, denominator = candidate. */
void stats_ratio(const double *numerator, const double *denominator, size_t n,
                 struct interval *ratio);

/* Another estimate of the same ratio, in an interval that holds it. Nothing is done if `value` is
 * not positive and finite. */
void stats_hold(struct interval *ratio, double value);

/* Adds a source of error of its own: `deviation` is the standard deviation of the ratio's
 * logarithm. An end at 0 or INFINITY stays there. */
void stats_widen(struct interval *ratio, double deviation);

/* Whether half the interval's width is at most `target` of its value. */
bool stats_tight(const struct interval *interval, double target);
