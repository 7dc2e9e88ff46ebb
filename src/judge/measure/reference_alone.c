#include "judge/measure/reference_alone.h"

#include "base/array.h"
#include "base/log.h"
#include "judge/measure/trial_gpu.h"
#include "judge/measure/trial_inputs.h"

#include <math.h>

#define ROUNDS 7
#define PART 0.08 /* of the time: that clocks go up and down */
#define LEAST_MS 4e-4

/* What it may have taken beside a candidate that did nothing meanwhile. Where issuing its work took
 * as long, this machine's processors were busy: a candidate that is stopped can't be why. */
static double most_ms(const struct reference_times *known)
{
    return fmax(known->alone_ms, known->issue_ms) * (1 + PART) + LEAST_MS;
}

/* Whether it was as fast as can be; faster than was known, that is known now. */
static bool is_confirmed(struct trials *trials)
{
    for (uint32_t at = 0; at < trials->verdict->case_count; at++) {
        struct reference_times *known = &trials->reference->times[at];
        if (known->alone_ms == 0 || known->own_ms > most_ms(known))
            return false;
        known->alone_ms = fmin(known->alone_ms, known->own_ms);
    }
    return true;
}

/* Intervals as they were timed, of the reference's own clock. */
static int call_alone(struct trials *trials, const struct trial *trial,
                      struct reference_times *known)
{
    double times[ROUNDS];
    struct summary summary;
    for (int i = -1; i < ROUNDS; i++) { /* the first is not the one that counts */
        struct child_time time;
        if (trial_prepare(trials, trial) < 0 || trial_reference(trials, trial, &time) < 0)
            return -1;
        if (i >= 0)
            times[i] = time.own_ms / trial->slots;
    }
    stats_summary(times, ROUNDS, &summary);
    known->alone_ms = summary.median;
    known->scatter_ms = summary.quartile3 - summary.quartile1;
    return 0;
}

static int time_alone(struct trials *trials, uint32_t at)
{
    struct trial trial = {.slots = trials->verdict->cases[at].calls,
                          .limit = time_limit_call(trials->job->settings)};
    double ignored;
    struct err err;
    if (trial_layout(trials, at, &trial.layout, &ignored, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    if (trial_map_reference(trials, &trial, false) < 0)
        return -1;
    trial.on_gpu = trial_gpu_begin(trials, &trial);
    return call_alone(trials, &trial, &trials->reference->times[at]);
}

/* Its time alone is what counts. Other work may have been on the GPU just then, so this is no
 * violation; but the candidate gains nothing by it. */
static void correct_case(struct trials *trials, uint32_t at)
{
    struct timed_case *timed = &trials->verdict->cases[at];
    const struct reference_times *known = &trials->reference->times[at];
    double alone_ms = fmax(known->alone_ms, known->issue_ms);
    double part = alone_ms / known->own_ms;
    double *times[] = {&timed->reference.median,    &timed->reference.quartile1,
                       &timed->reference.quartile3, &timed->reference.min,
                       &timed->reference.max,       &timed->speedup.value,
                       &timed->speedup.low,         &timed->speedup.high};
    for (size_t i = 0; i < COUNT(times); i++)
        *times[i] *= part;
    verdict_warning(trials->verdict, "H29",
                    "the GPU was busy with something else while the reference was timed: its call "
                    "took %.4g ms, and %.4g once the candidate was gone, which is what counts",
                    known->own_ms, alone_ms);
}

static bool was_slowed(const struct trials *trials, uint32_t at)
{
    const struct reference_times *known = &trials->reference->times[at];
    return known->own_ms > most_ms(known) + known->scatter_ms;
}

static int confirm_cases(struct trials *trials)
{
    int result = 0;
    struct device_lease *lease = trials->lease;
    for (uint32_t at = 0; result == 0 && at < trials->verdict->case_count; at++)
        result = time_alone(trials, at);
    for (uint32_t at = 0; result == 0 && at < trials->verdict->case_count; at++) {
        if (!was_slowed(trials, at))
            continue;
        correct_case(trials, at);
        if (lease->wanted == LEASE_ALONE)
            continue;
        lease->retry_alone = true;
        log_write(LOG_LEVEL_INFO, "judge", "others may have slowed the reference");
    }
    return result;
}

int reference_alone_stage(struct trials *trials)
{
    if (!trials->gpu || trials->job->problem->cases_from || is_confirmed(trials))
        return 0;
    trial_end_candidate(trials);
    trial_begin(trials, true);
    int result = confirm_cases(trials);
    trial_end(trials);
    return result;
}
