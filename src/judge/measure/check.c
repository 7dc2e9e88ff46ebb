#include "judge/measure/check.h"

#include "base/clock.h"
#include "judge/fault.h"
#include "judge/session_internal.h"

#define DRAWN_SIZES 2

/* `rows` trials at these sizes: the problem's own inputs, then (biased) those of input_shift.h. */
static int check_sizes(struct session *session, const struct size_set *sizes, bool shifted)
{
    struct trial trial = {.oracle = true,
                          .untouched = true,
                          .timeout_ms = session->job.settings->run_timeout_ms};
    struct err err;
    if (problem_layout(session->job.problem, sizes, &trial.layout, &err) < 0)
        return fault_judge(session, &err);
    if (trial_map(session, &trial, true) < 0)
        return -1;
    if (trial_run(session, &trial) == TRIAL_ENDED)
        return -1;
    trial.shifted = true;
    return shifted && trial_run(session, &trial) == TRIAL_ENDED ? -1 : 0;
}

static int check_native(struct session *session)
{
    const struct problem *problem = session->job.problem;
    for (uint32_t i = 0; i < problem->check_count; i++)
        if (check_sizes(session, &problem->check[i], i + 1 == problem->check_count) < 0)
            return -1;
    for (int i = 0; problem->has_draw && i < DRAWN_SIZES; i++) {
        struct size_set sizes;
        problem_draw_sizes(problem, clock_secret(), &sizes);
        if (check_sizes(session, &sizes, i == 0) < 0)
            return -1;
    }
    return 0;
}

/* There is one set of cases: nothing can be drawn anew. */
static int check_simple(struct session *session)
{
    struct verdict *verdict = session->verdict;
    const struct cases *cases = &session->reference.cases;
    struct trial trial = {.layout = session->reference.torch_layout,
                          .timeout_ms = session->job.settings->run_timeout_ms};
    verdict->case_total = cases->count;
    verdict->cases_compared = cases->compared;
    if (trial_map(session, &trial, true) < 0)
        return -1;
    return trial_run(session, &trial) == TRIAL_ENDED ? -1 : 0;
}

static int check_torch(struct session *session)
{
    const struct settings *settings = session->job.settings;
    struct trial trial = {.layout = session->reference.torch_layout,
                          .oracle = true,
                          .timeout_ms = settings->run_timeout_ms};
    if (trial_map(session, &trial, true) < 0)
        return -1;
    for (int64_t i = 0; i <= settings->check_trials; i++) {
        trial.shifted = i == settings->check_trials;
        if (trial_run(session, &trial) == TRIAL_ENDED)
            return -1;
    }
    return 0;
}

int check_stage(struct session *session)
{
    int64_t start_ns = clock_now_ns();
    trial_begin(session);
    int result = session->job.problem->format == PROBLEM_NATIVE ? check_native(session)
                 : session->job.problem->cases_from             ? check_simple(session)
                                                                : check_torch(session);
    trial_end(session);
    session_end_stage(session, STAGE_CHECK, start_ns);
    return result;
}
