#include "judge/measure/roofline.h"

#define ABOVE_FLOOR 3 /* times the floor: as long takes a PyTorch reference that writes outputs */

/* Whether 16-bit arithmetic could do: some argument has no more. */
static bool is_narrow(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->argument_count; i++)
        if (dtype_facts(problem->arguments[i].dtype)->bytes < 4)
            return true;
    return false;
}

/* All that is known of a PyTorch problem: that its outputs must be written. */
static double output_bytes(const struct trials *trials)
{
    double bytes = 0;
    for (uint32_t i = 0; i < trials->state->answer.count; i++)
        bytes += (double)trials->state->answer.reference[i].bytes;
    return bytes;
}

static double floor_ms(const struct trials *trials, double flops, double bytes)
{
    bool narrow = is_narrow(trials->job->problem);
    if (trials->unit)
        return gpu_peaks_floor_ms(&trials->unit->peaks, flops, bytes, narrow);
    if (!trials->peaks)
        return 0;
    return narrow ? peaks_floor_narrow_ms(trials->peaks, flops, bytes)
                  : peaks_floor_ms(trials->peaks, flops, bytes);
}

double roofline_floor_ms(const struct trials *trials, const struct size_set *sizes,
                         double reference_ms)
{
    const struct problem *problem = trials->job->problem;
    if (problem->format == PROBLEM_NATIVE)
        return floor_ms(trials, problem_flops(problem, sizes), problem_bytes(problem, sizes));
    double least_ms = floor_ms(trials, 0, output_bytes(trials));
    return reference_ms < least_ms * ABOVE_FLOOR ? 0 : least_ms;
}
