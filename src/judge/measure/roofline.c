#include "judge/measure/roofline.h"

/* Whether 16-bit arithmetic could do: some argument has no more. */
static bool is_narrow(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->argument_count; i++)
        if (dtype_facts(problem->arguments[i].dtype)->bytes < 4)
            return true;
    return false;
}

double roofline_floor_ms(const struct trials *trials, const struct size_set *sizes)
{
    const struct problem *problem = trials->job->problem;
    bool narrow = is_narrow(problem);
    double flops = 0;
    double bytes = 0;
    if (problem->format == PROBLEM_TORCH) { /* outputs must at least be written */
        for (uint32_t i = 0; i < trials->state->answer.count; i++)
            bytes += (double)trials->state->answer.reference[i].bytes;
    } else {
        flops = problem_flops(problem, sizes);
        bytes = problem_bytes(problem, sizes);
    }
    if (trials->unit)
        return gpu_peaks_floor_ms(&trials->unit->peaks, flops, bytes, narrow);
    if (!trials->peaks)
        return 0;
    return narrow ? peaks_floor_narrow_ms(trials->peaks, flops, bytes)
                  : peaks_floor_ms(trials->peaks, flops, bytes);
}
