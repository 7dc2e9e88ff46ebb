#include "judge/measure/check.h"

#include "base/clock.h"
#include "judge/measure/trial_inputs.h"
#include "judge/request/judge_settings.h"

#include <string.h>

#define DRAWN_SIZES 2

static enum trial_result run_trial(struct trials *trials, const struct trial *trial)
{
    return trial_make_way(trials) < 0 ? TRIAL_ENDED : trial_run(trials, trial);
}

/* Trials at these sizes: the problem's own inputs, then (biased) those of input_shift.h. */
static int check_sizes(struct trials *trials, const struct size_set *sizes, bool shifted)
{
    struct trial trial = {.oracle = true,
                          .untouched = true,
                          .limit = time_limit_call(trials->job->settings)};
    struct err err;
    if (problem_layout(trials->job->problem, sizes, &trial.layout, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    if (trial_map(trials, &trial, true) < 0)
        return -1;
    if (run_trial(trials, &trial) == TRIAL_ENDED)
        return -1;
    trial.shifted = true;
    return shifted && run_trial(trials, &trial) == TRIAL_ENDED ? -1 : 0;
}

static int check_native(struct trials *trials)
{
    const struct problem *problem = trials->job->problem;
    for (uint32_t i = 0; i < problem->check_count; i++)
        if (check_sizes(trials, &problem->check[i], i + 1 == problem->check_count) < 0)
            return -1;
    for (int i = 0; problem->has_draw && i < DRAWN_SIZES; i++) {
        struct size_set sizes;
        problem_draw_sizes(problem, clock_secret(), &sizes);
        if (check_sizes(trials, &sizes, i == 0) < 0)
            return -1;
    }
    return 0;
}

/* There is one set of cases: nothing can be drawn anew. */
static int check_simple(struct trials *trials)
{
    struct verdict *verdict = trials->verdict;
    const struct cases *cases = &trials->reference->cases;
    struct trial trial = {.layout = trials->reference->torch_layout,
                          .poison = true,
                          .limit = time_limit_first_call(trials->job->settings)};
    verdict->case_total = cases->count;
    verdict->cases_compared = cases->compared;
    if (trial_map(trials, &trial, true) < 0)
        return -1;
    return trial_run(trials, &trial) == TRIAL_ENDED ? -1 : 0;
}

static int check_torch(struct trials *trials)
{
    const struct settings *settings = trials->job->settings;
    const struct check_settings *check = check_settings(settings);
    struct trial trial = {.layout = trials->reference->torch_layout,
                          .oracle = true,
                          .poison = true,
                          .limit = time_limit_first_call(trials->job->settings)};
    if (trial_map(trials, &trial, true) < 0)
        return -1;
    for (int64_t i = 0; i <= check->trials; i++) {
        trial.shifted = i == check->trials;
        if (run_trial(trials, &trial) == TRIAL_ENDED)
            return -1;
        trial.limit = time_limit_call(settings);
    }
    return 0;
}

int check_stage(struct trials *trials)
{
    trials->state->most_ms = 0;
    memset(trials->state->answer.noise, 0, sizeof trials->state->answer.noise);
    trials->state->answer.noise_most = 0;
    trial_begin(trials, false);
    int result = trials->job->problem->format == PROBLEM_NATIVE ? check_native(trials)
                 : trials->job->problem->cases_from             ? check_simple(trials)
                                                                : check_torch(trials);
    trial_end(trials);
    return result;
}
