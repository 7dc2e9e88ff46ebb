#include "gym/reward/coverage.h"

#include <math.h>
#include <string.h>

const char *const coverage_names[] = {WORD_NAMES(COVERAGE_MEASURES)};

static double share_of(double part, double whole)
{
    return part >= 0 && whole >= 0 ? part / whole : NAN;
}

static bool is_named_own(const struct verdict *verdict, const char *name)
{
    for (uint32_t i = 0; i < verdict->kernel_count; i++) {
        const struct kernel_share *kernel = &verdict->kernels[i];
        if (kernel->own && kernel->name && *kernel->name && *name &&
            (strcasestr(name, kernel->name) || strcasestr(kernel->name, name)))
            return true;
    }
    return false;
}

/* Of the kernels that match by name. */
static void sum_named(const struct verdict *verdict, double *time_us, double *count)
{
    *time_us = *count = 0;
    for (uint32_t i = 0; i < verdict->kernel_count; i++) {
        const struct kernel_share *kernel = &verdict->kernels[i];
        if (!kernel->name || !is_named_own(verdict, kernel->name))
            continue;
        *time_us += kernel->time_us >= 0 ? kernel->time_us : NAN;
        *count += 1;
    }
}

double coverage_read(enum coverage_measure measure, const struct verdict *verdict)
{
    const struct launch_totals *all = &verdict->launched;
    double share = NAN, named_us, named;
    sum_named(verdict, &named_us, &named);
    if (measure == COVERAGE_TIME)
        share = share_of(verdict->own_time_fraction, 1);
    else if (all->calls > 0 && measure == COVERAGE_KERNELS)
        share = share_of(all->own_kernels, all->kernels);
    else if (all->calls > 0 && measure == COVERAGE_NAMED_TIME)
        share = share_of(named_us, all->time_us);
    else if (all->calls > 0)
        share = share_of(named, all->kernels);
    return isnan(share) ? NAN : fmin(share, 1);
}
