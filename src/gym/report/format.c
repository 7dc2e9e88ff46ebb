/* format: names and texts of figures, on a terminal and on a page. */
#include "gym/report/report.h"

#include "base/array.h"

#include <math.h>

struct plot_words report_label(const struct gym_measure *measure)
{
    const char *label = gym_measures[measure->kind].label;
    if (measure->kind == GYM_PASS && measure->p > 0)
        return plot_words("pass@%zu, fast_%g", measure->k, measure->p);
    if (measure->kind == GYM_PASS)
        return plot_words("pass@%zu", measure->k);
    if (label)
        return plot_words("%s", label);
    if (measure->kind == GYM_FAST_FIRST)
        return measure->p > 0 ? plot_words("fast_%g, sample 0", measure->p)
                              : plot_words("correct, sample 0");
    return measure->p > 0 ? plot_words("fast_%g", measure->p) : plot_words("correct");
}

struct plot_words report_value(double value, enum gym_scale scale, const char *times)
{
    return isnan(value)         ? plot_words("-")
           : scale == GYM_SHARE ? plot_words("%.1f %%", 100 * value)
           : scale == GYM_RATIO ? plot_words("%.2f%s", value, times)
                                : plot_words("%.3f", value);
}

struct plot_words report_interval(const struct gym_estimate *estimate, enum gym_scale scale,
                                  const char *times)
{
    if (isnan(estimate->low))
        return plot_words("%s", "");
    return plot_words("%s to %s", report_value(estimate->low, scale, times).text,
                      report_value(estimate->high, scale, times).text);
}

/* -0.04 is no change at all when it is written with one digit. */
static double rounded(double value, double step)
{
    double whole = round(value / step);
    return whole == 0 ? 0 : whole * step;
}

struct plot_words report_change(double value, enum gym_scale scale, const char *times)
{
    return isnan(value)         ? plot_words("-")
           : scale == GYM_SHARE ? plot_words("%+.1f", rounded(100 * value, 0.1))
           : scale == GYM_RATIO ? plot_words("%s%.2f", times, value)
                                : plot_words("%+.3f", rounded(value, 0.001));
}

struct plot_words report_change_interval(const struct gym_estimate *difference,
                                         enum gym_scale scale, const char *times)
{
    if (isnan(difference->low))
        return plot_words("%s", "");
    return plot_words("%s to %s", report_change(difference->low, scale, times).text,
                      report_change(difference->high, scale, times).text);
}

int report_verdict(const struct gym_measure *measure, const struct gym_estimate *difference)
{
    double none = gym_measures[measure->kind].scale == GYM_RATIO ? 1 : 0;
    int more = (difference->low > none) - (difference->high < none);
    return measure->kind == GYM_VIOLATION ? -more : more;
}

bool report_is_of_groups(const struct gym_measure *measure)
{
    static const enum gym_measure_kind kinds[] = {GYM_FAST_PROBLEMS, GYM_FAST_FIRST,
                                                  GYM_PASS,          GYM_SPEEDUP_SOLVED,
                                                  GYM_SPEEDUP_ALL,   GYM_SPEEDUP_FIRST,
                                                  GYM_RETURN};
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (measure->kind == kinds[i])
            return !measure->judged && !(measure->kind == GYM_PASS && measure->p > 0);
    return false;
}
