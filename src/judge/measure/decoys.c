#include "judge/measure/decoys.h"

#include "judge/measure/trial_compare.h"
#include "judge/measure/trial_inputs.h"

int decoys_call(struct trials *trials, bool *same)
{
    const struct settings *settings = trials->job->settings;
    struct trial trial = {.layout = trials->reference->torch_layout,
                          .limit = time_limit_call(settings)};
    struct child_time time;
    struct err err = {0};
    *same = false;
    if (trials->job->problem->cases_from && trials->reference->cases.compared == 0)
        return 0; /* its right answer is unknown */
    if (trial_map(trials, &trial, false) < 0 || trial_prepare(trials, &trial) < 0 ||
        trial_reference(trials, &trial, &time) < 0)
        return -1;
    int result = trial_in(trials, &trial, trials->candidate, WIRE_ABLATE, &time, &err);
    /* Without its kernels a candidate may well raise or crash: they mattered. */
    if (result < 0)
        return err.code == ERR_CANCELLED ? fault_set(trials->fault, FAULT_JUDGE, &err) : 0;
    struct verdict scratch;
    struct fault ignored = {0};
    struct trials unseen = *trials;
    verdict_init(&scratch);
    unseen.verdict = &scratch;
    unseen.fault = &ignored;
    *same = trial_judge(&unseen, &trial) == TRIAL_GOOD;
    verdict_deinit(&scratch);
    return 0;
}

int decoys_find(struct trials *trials)
{
    bool same;
    int result = decoys_call(trials, &same);
    if (result < 0 || !same)
        return result;
    verdict_violation(trials->verdict, "H40",
                      "its answer is the same when its own kernels are replaced by nothing: they "
                      "do not compute it");
    return -1;
}
