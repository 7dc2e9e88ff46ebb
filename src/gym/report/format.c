/* format: names and texts of figures, on a terminal and on a page. */
#include "gym/report/report.h"

#include <math.h>
#include <stdio.h>

void report_label(const struct gym_measure *measure, char *text, size_t size)
{
    static const char *const labels[GYM_MEASURE_COUNT] = {
        [GYM_SPEEDUP_SOLVED] = "speedup, solved",
        [GYM_SPEEDUP_ALL] = "speedup, all",
        [GYM_RETURN] = "return",
        [GYM_REWARD] = "reward",
        [GYM_FORMAT] = "format",
        [GYM_COMPILED] = "compiled",
        [GYM_CORRECT] = "correct",
        [GYM_VIOLATION] = "violation",
    };
    if (measure->kind == GYM_PASS && measure->p > 0)
        snprintf(text, size, "pass@%zu, fast_%g", measure->k, measure->p);
    else if (measure->kind == GYM_PASS)
        snprintf(text, size, "pass@%zu", measure->k);
    else if (labels[measure->kind])
        snprintf(text, size, "%s", labels[measure->kind]);
    else if (measure->p > 0)
        snprintf(text, size, "fast_%g", measure->p);
    else
        snprintf(text, size, "correct");
}

const char *report_unit(enum gym_measure_kind kind)
{
    static const char *const units[] = {
        [GYM_FAST_PROBLEMS] = "problems", [GYM_FAST_SAMPLES] = "samples",
        [GYM_PASS] = "problems",          [GYM_SPEEDUP_SOLVED] = "problems",
        [GYM_SPEEDUP_ALL] = "problems",   [GYM_RETURN] = "samples",
        [GYM_REWARD] = "turns",           [GYM_FORMAT] = "turns",
        [GYM_COMPILED] = "turns",         [GYM_CORRECT] = "turns",
        [GYM_VIOLATION] = "turns",        [GYM_AT_TURN] = "samples",
        [GYM_BY_TURN] = "samples",
    };
    return units[kind];
}

void report_value(double value, enum gym_scale scale, const char *times, char *text, size_t size)
{
    if (isnan(value))
        snprintf(text, size, "-");
    else if (scale == GYM_SHARE)
        snprintf(text, size, "%.1f %%", 100 * value);
    else if (scale == GYM_RATIO)
        snprintf(text, size, "%.2f%s", value, times);
    else
        snprintf(text, size, "%.3f", value);
}

/* -0.04 is no change at all when it is written with one digit. */
static double rounded(double value, double step)
{
    double whole = round(value / step);
    return whole == 0 ? 0 : whole * step;
}

void report_change(double value, enum gym_scale scale, const char *times, char *text, size_t size)
{
    if (isnan(value))
        snprintf(text, size, "-");
    else if (scale == GYM_SHARE)
        snprintf(text, size, "%+.1f", rounded(100 * value, 0.1));
    else if (scale == GYM_RATIO)
        snprintf(text, size, "%s%.2f", times, value);
    else
        snprintf(text, size, "%+.3f", rounded(value, 0.001));
}

int report_verdict(const struct gym_measure *measure, const struct gym_estimate *difference)
{
    double none = gym_measure_scale(measure->kind) == GYM_RATIO ? 1 : 0;
    int more = (difference->low > none) - (difference->high < none);
    return measure->kind == GYM_VIOLATION ? -more : more;
}
