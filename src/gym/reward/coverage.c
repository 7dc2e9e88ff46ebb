#include "gym/reward/coverage.h"

#include "base/json.h"
#include "base/nearest.h"
#include "judge/verdict.h"

#include <math.h>
#include <string.h>

static const char *const measures[COVERAGE_MEASURES] = {"time", "kernels", "named_time",
                                                        "named_kernels"};

int coverage_measure_named(const char *name, enum coverage_measure *measure, struct err *err)
{
    for (size_t i = 0; i < COVERAGE_MEASURES; i++)
        if (strcmp(measures[i], name) == 0) {
            *measure = (enum coverage_measure)i;
            return 0;
        }
    return err_unknown(err, "coverage", name, measures, COVERAGE_MEASURES);
}

/* NAN: missing or negative. */
static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) && json_number_value(value) >= 0 ? json_number_value(value) : NAN;
}

/* As many as this judge's verdicts name; a server's may have any number. */
static size_t kernel_count(const json_t *kernels)
{
    size_t count = json_array_size(kernels);
    return count < VERDICT_KERNELS ? count : VERDICT_KERNELS;
}

static bool is_named_own(const json_t *kernels, const char *name)
{
    for (size_t i = 0; i < kernel_count(kernels); i++) {
        const json_t *kernel = json_array_get(kernels, i);
        const char *own = json_text_at(kernel, "name");
        if (json_is_true(json_object_get(kernel, "own")) && *own && *name &&
            (strcasestr(name, own) || strcasestr(own, name)))
            return true;
    }
    return false;
}

/* Kernels that match by name; `key`: the value to sum, NULL: count. */
static double named_sum(const json_t *kernels, const char *key)
{
    double sum = 0;
    for (size_t i = 0; i < kernel_count(kernels); i++) {
        const json_t *kernel = json_array_get(kernels, i);
        if (is_named_own(kernels, json_text_at(kernel, "name")))
            sum += key ? number_of(kernel, key) : 1;
    }
    return sum;
}

double coverage_read(enum coverage_measure measure, const json_t *verdict)
{
    const json_t *profile = json_object_get(verdict, "profile");
    const json_t *totals = json_object_get(profile, "kernelgym");
    const json_t *kernels = json_object_get(profile, "kernels");
    double share = NAN;
    switch (measure) {
    case COVERAGE_TIME:
        share = number_of(profile, "own_time_fraction");
        break;
    case COVERAGE_KERNELS:
        share = number_of(totals, "num_custom_kernels") / number_of(totals, "num_total_kernels");
        break;
    case COVERAGE_NAMED_TIME:
        share = named_sum(kernels, "time_us") / number_of(profile, "time_us");
        break;
    case COVERAGE_NAMED_KERNELS:
        share = named_sum(kernels, NULL) / number_of(totals, "num_total_kernels");
        break;
    }
    return isnan(share) ? NAN : fmin(share, 1);
}
