/* profile: whose work the time was.
 *
 * Native: all of it is the candidate's own, by construction: nothing else can be reached. Torch:
 * the candidate's own kernels (Triton) work on copies for one call on inputs that were
 * just answered correctly. If the answer stays right, the kernels do not make it: they are decoys
 * (catalogue H40, H42, H45). A machine without a GPU runs Triton in its interpreter, so only the
 * answer means something there, not the time.
 */
#include "judge/context.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

static int ablate(struct session *session)
{
    const struct settings *settings = session->judge->options.settings;
    struct verdict *verdict = session->verdict;
    struct trial trial = {.layout = session->torch_layout, .timeout_ms = settings->run_timeout_ms};
    struct side_time time;
    struct err err = {0};
    if (trial_prepare(session, &trial) < 0 || trial_reference(session, &trial, &time) < 0)
        return -1;
    int result = trial_ablated(session, &trial, &time, &err);
    /* Without its kernels a candidate may well raise or crash: they mattered. */
    if (result < 0)
        return err.code == ERR_CANCELLED ? fault_judge(session, &err) : 0;
    struct verdict scratch;
    verdict_init(&scratch);
    session->verdict = &scratch;
    enum trial_result same = trial_judge(session, &trial);
    session->verdict = verdict;
    verdict_deinit(&scratch);
    if (same != TRIAL_GOOD)
        return 0;
    verdict_violation(verdict, "H40",
                      "its answer is the same when its own kernels are replaced by nothing: they "
                      "do not compute it");
    return -1;
}

int profile_stage(struct session *session)
{
    struct verdict *verdict = session->verdict;
    int64_t start_ns = clock_now_ns();
    int result = 0;
    if (session->problem->format == PROBLEM_NATIVE) {
        verdict->kernels[0] = (struct kernel_share){
            .name = "solution",
            .launches = 1,
            .time_us = verdict->case_count ? verdict->cases[0].candidate.median * 1e3 : NAN,
            .own = true,
        };
        verdict->kernel_count = 1;
        verdict->own_time_fraction = verdict->own_launch_fraction = 1;
    } else if (strcmp(verdict->candidate_language, "triton") == 0) {
        result = ablate(session);
    } else {
        verdict->own_time_fraction = verdict->own_launch_fraction = 0;
        verdict_warning(verdict, "H41",
                        "it brings no kernel of its own: library operators do all of the work");
    }
    verdict->stages_ms[STAGE_PROFILE] = clock_ms_since(start_ns);
    return result;
}
