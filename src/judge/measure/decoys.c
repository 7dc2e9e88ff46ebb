#include "judge/measure/decoys.h"

#include "base/array.h"
#include "base/clock.h"
#include "judge/measure/trial_compare.h"
#include "judge/measure/trial_inputs.h"

#include <math.h>

#define SHARE_ROUNDS 12
#define SHARE_ROUNDS_LEAST 3
#define SHARE_MS 500
#define SHARE_LONG_MS 2000 /* of long calls one round says enough */

/* Whether there is a right answer to compare with. */
static bool is_known(const struct trials *trials)
{
    return !trials->job->problem->cases_from || trials->reference->cases.compared > 0;
}

int decoys_call(struct trials *trials, bool *same)
{
    const struct settings *settings = trials->job->settings;
    struct trial trial = {.layout = trials->reference->torch_layout,
                          .limit = time_limit_call(settings)};
    struct child_time time;
    struct err err = {0};
    *same = false;
    if (!is_known(trials))
        return 0;
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

/* Calls with its extensions, without, and of nothing at all, by turns: the quickest of each. The
 * first without replaces them, too. A call drops on the clock what the last one answered: one of
 * nothing lies before either, and before one that is of nothing itself. */
enum { WITH, WITHOUT, NOTHING, SHARES };

static const struct {
    uint32_t mode;
    size_t share;
} share_turns[] = {{WIRE_RUN, WITH},
                   {WIRE_NOTHING, NOTHING},
                   {WIRE_LEAVE_OUT, WITHOUT},
                   {WIRE_NOTHING, NOTHING},
                   {WIRE_NOTHING, NOTHING}};

static int time_calls(struct trials *trials, double least_ms[SHARES], struct err *err)
{
    const struct trial trial = {.layout = trials->reference->torch_layout,
                                .limit = time_limit_call(trials->job->settings)};
    const int64_t begun_ns = clock_now_ns();
    struct child_time time = {0};
    int result = 0;
    for (size_t share = 0; share < SHARES; share++)
        least_ms[share] = INFINITY;
    for (int round = 0; round < SHARE_ROUNDS && result == 0; round++) {
        double most_ms = round < SHARE_ROUNDS_LEAST ? SHARE_LONG_MS : SHARE_MS;
        if (round > 0 && clock_ms_since(begun_ns) > most_ms)
            break;
        for (size_t i = 0; i < COUNT(share_turns) && result == 0; i++) {
            result = trial_in(trials, &trial, trials->candidate, share_turns[i].mode, &time, err);
            double *least = &least_ms[share_turns[i].share];
            *least = result == 0 ? fmin(*least, time.ms) : *least;
        }
    }
    return result;
}

int decoys_share(struct trials *trials, double *share)
{
    double least_ms[SHARES];
    struct err err = {0};
    *share = NAN;
    if (!is_known(trials))
        return 0;
    trial_begin(trials, true);
    int result = time_calls(trials, least_ms, &err);
    trial_end(trials);
    if (result < 0)
        return err.code == ERR_CANCELLED ? fault_set(trials->fault, FAULT_JUDGE, &err) : 0;
    double own_ms = fmax(least_ms[WITH] - least_ms[WITHOUT], 0);
    double rest_ms = fmax(least_ms[WITHOUT] - least_ms[NOTHING], 0);
    if (own_ms + rest_ms > 0)
        *share = own_ms / (own_ms + rest_ms);
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
