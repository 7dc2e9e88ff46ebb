#include "judge/evaluate.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "judge/build/device_only.h"
#include "judge/fault_verdict.h"
#include "judge/measure/check.h"
#include "judge/measure/profile.h"
#include "judge/measure/reference_alone.h"
#include "judge/measure/timing.h"
#include "judge/open.h"
#include "judge/request/judge_settings.h"
#include "judge/request/signature_hint.h"
#include "judge/session_internal.h"
#include "sandbox/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CHARACTER_BYTES 4 /* of one, at most */
#define AGAIN_MOST 2      /* alone, and without an oracle */

static void identify_candidate(struct session *session)
{
    const struct candidate *text = session->job.candidate;
    session->job.language = language_of(&session->judge->languages, text->path, text->text);
    verdict_identify(session->verdict, session->job.problem, text, session->job.language);
}

/* An ending that no language has is refused here: a compiler would blame the text. */
static int admit_ending(struct session *session)
{
    const char *path = session->job.candidate->path;
    const char *ending = language_foreign_ending(session->job.language, path);
    char names[256], message[640];
    if (!ending)
        return 0;
    language_names(names, sizeof names);
    snprintf(message, sizeof message,
             "%.200s: no language here has files that end in %.32s; there are %s, and those of "
             "setting languages.path",
             path, ending, names);
    verdict_fail(session->verdict, STATUS_UNSUPPORTED, "format", message, NULL);
    return -1;
}

/* A source that no compiler should see, or one for another format. */
static int admit_candidate(struct session *session)
{
    struct verdict *verdict = session->verdict;
    const struct candidate *text = session->job.candidate;
    struct err err;
    char message[512], titles[128];
    if (admit_ending(session) < 0)
        return -1;
    if (candidate_check(text, &err) < 0) {
        verdict_fail(verdict, STATUS_COMPILE_ERROR, "source", err.text, NULL);
        return -1;
    }
    size_t replaced = utf8_replaced(text->text);
    if (replaced > 0)
        verdict_warning(verdict, "text", "the source holds %zu times " UTF8_REPLACED, replaced);
    const struct language *language = session->job.language;
    if (language->format == session->job.problem->format)
        return 0;
    bool torch = session->job.problem->format == PROBLEM_TORCH;
    language_titles(PROBLEM_NATIVE, titles, sizeof titles);
    snprintf(message, sizeof message,
             torch ? "problem %s takes a Python module with ModelNew, and %s is %s"
                   : "problem %s takes source with `solution`, and %s is Python, not %s",
             session->job.problem->id, text->path, torch ? language->title : titles);
    verdict_fail(verdict, STATUS_UNSUPPORTED, "format", message, NULL);
    return -1;
}

/* The least loaded one, unless an audit has left the session its own. */
static int use_gpu(struct session *session)
{
    struct verdict *verdict = session->verdict;
    struct device_lease *lease = &session->lease;
    struct err err;
    if (!lease->unit && device_lease_take_gpu(lease, &err) < 0)
        return fault_verdict_of_judge(session, &err);
    verdict->device = arena_printf(&verdict->arena, "cuda:%d %s", lease->unit->facts.ordinal,
                                   lease->unit->facts.name);
    return 0;
}

/* Whether such a candidate can run on a GPU: there is one, and the problem has a reference for it.
 */
static int find_native_gpu(struct judge *judge, const struct problem *problem,
                           const struct candidate *candidate, struct err *err)
{
    const struct toolchain *toolchain = &judge->toolchain;
    const char *reference = problem->cuda_text;
    int result = gpu_pool_list(&judge->gpus, err);
    if (result == 0)
        result = toolchain_has(toolchain, device_only_kind(problem, candidate->text), err);
    if (result == 0 && !reference)
        result = err_set(err, ERR_UNSUPPORTED,
                         "problem %s has no reference.cu to hold them against", problem->id);
    return result < 0 ? result
                      : toolchain_has(toolchain, device_only_kind(problem, reference), err);
}

static int choose_for_native(struct session *session)
{
    struct err err;
    if (!session->job.language->gpu)
        return 0;
    if (find_native_gpu(session->judge, session->job.problem, session->job.candidate, &err) == 0)
        return use_gpu(session);
    session->no_gpu = err;
    return 0;
}

/* The next session need not wait for the end of a context, but for that of a candidate that still
 * runs: what it does would be on the clock of others. */
static void unlock_early(struct session *session)
{
    struct sandboxed *process = &session->candidate.process;
    if (process->pid <= 0 || process->frozen || sandboxed_ended(process))
        device_lease_unlock(&session->lease);
}

/* Gives the device back. True: judge it again, because the GPU was at fault and another one may do,
 * or because there was too little memory beside other sessions and it is to have the GPU alone. */
static bool leave_device(struct session *session, bool alone)
{
    struct verdict *verdict = session->verdict;
    struct gpu_pool *gpus = &session->judge->gpus;
    struct err err;
    bool doubt = verdict->status == STATUS_INFRASTRUCTURE_ERROR ||
                 verdict->status == STATUS_RUNTIME_ERROR;
    session_cache_reference(session); /* before its slots and its GPU are another session's */
    session_release_device(session);
    session->lease.wanted = alone ? LEASE_ALONE : LEASE_SHARED;
    if (!session->lease.unit)
        return alone;
    bool bad = verdict->error_class && doubt && gpu_pool_suspect(gpus, session->lease.unit, &err);
    if (bad)
        (void)reference_cache_clear(&session->judge->references, session->lease.gpu);
    device_lease_return_gpu(&session->lease);
    bool again = alone || (bad && gpu_pool_any(gpus));
    if (bad) {
        verdict->status = STATUS_INFRASTRUCTURE_ERROR;
        verdict->error_class = "gpu";
        verdict->error_message = arena_printf(&verdict->arena, "%s (it showed as: %s)", err.text,
                                              verdict->error_message);
    }
    return again;
}

static int choose_for_torch(struct session *session)
{
    struct err err = {0};
    if (judge_torch_on_gpu(session->judge, session->job.settings, &err))
        return use_gpu(session);
    if (torch_settings(session->job.settings)->device != TORCH_CUDA)
        return 0;
    verdict_fail(session->verdict, STATUS_UNSUPPORTED, "unsupported", err.text, NULL);
    return -1;
}

static int choose_device(struct session *session)
{
    return session->job.problem->format == PROBLEM_NATIVE ? choose_for_native(session)
                                                          : choose_for_torch(session);
}

static int run_stage(struct session *session, enum verdict_stage stage,
                     int (*measure)(struct trials *trials), const struct peaks *peaks)
{
    struct trials trials = session_trials(session);
    trials.peaks = peaks;
    session_begin_stage(session);
    int result = measure(&trials);
    (void)fault_verdict(session);
    session_end_stage(session, stage);
    return result;
}

/* Peaks are measured once for each machine: 0.1 s. */
static int time_candidate(struct session *session)
{
    struct judge *judge = session->judge;
    struct device_lease *lease = &session->lease;
    struct peaks peaks;
    struct err ignored;
    bool known = false;
    if (session_lock_device_for_timing(session) < 0)
        return -1;
    if (lease->unit)
        gpu_unit_peaks(lease->unit, judge->installation.state);
    else
        known = judge_peaks(judge, &peaks, &ignored) == 0;
    int result = run_stage(session, STAGE_TIME, timing_stage, known ? &peaks : NULL);
    if (!lease->gpu) /* what a candidate has there would disturb others as long as it lives */
        device_lease_unlock(lease);
    return result;
}

/* What it printed until now. While it is timed it prints the same, many times over. */
static void keep_output(struct session *session)
{
    uint64_t written;
    size_t most = (size_t)check_settings(session->job.settings)->output_bytes;
    size_t capacity = most + CHARACTER_BYTES;
    char *bytes = mem_alloc(capacity);
    size_t count = sandbox_output_read(session->candidate.process.output, bytes, capacity,
                                       &written);
    verdict_output(session->verdict, bytes, count, most, written);
    mem_free(bytes);
}

static int run_stages(struct session *session)
{
    struct verdict *verdict = session->verdict;
    bool interpreted = !session->lease.gpu && session->job.language->interpreted;
    int result = open_children(session);
    if (result == 0)
        result = run_stage(session, STAGE_CHECK, check_stage, NULL);
    keep_output(session);
    if (session->reference.child.state == CHILD_READY)
        session_learn_memory(session);
    if (result == 0 && interpreted) /* before it is timed: a decoy's time means nothing */
        result = run_stage(session, STAGE_PROFILE, profile_stage, NULL);
    if (result < 0)
        return result;
    verdict->correct = true;
    if (interpreted) {
        verdict->timing_meaningful = false;
        verdict->timing_note = "Triton ran in its interpreter on the CPU: only the answer counts";
    } else if (session->job.no_timing) {
        verdict->timing_note = VERDICT_NOT_TIMED;
    } else {
        result = time_candidate(session);
        if (result == 0)
            result = run_stage(session, STAGE_PROFILE, profile_stage, NULL);
        if (result == 0)
            result = run_stage(session, STAGE_TIME, reference_alone_stage, NULL);
    }
    verdict->correct = result == 0;
    return result;
}

/* cuDNN and others choose by the memory that they get: a process that was refused some is slower,
 * or rounds otherwise. Of a candidate that was found wrong nothing that it says counts. */
static void look_for_missing_memory(struct session *session)
{
    struct device_lease *lease = &session->lease;
    enum verdict_status status = session->verdict->status;
    uint64_t missing = session->reference.child.requests.lack.bytes;
    if (status == STATUS_PASSED && missing == 0)
        missing = session->candidate.requests.lack.bytes;
    if (missing == 0 || !lease->gpu || lease->wanted == LEASE_ALONE ||
        (status != STATUS_PASSED && status != STATUS_WRONG))
        return;
    lease->retry_alone = true;
    log_write(LOG_LEVEL_INFO, "judge", "%llu bytes of GPU memory were not there beside others",
              (unsigned long long)missing);
}

/* True: it is worth another attempt. */
static bool attempt_evaluation(struct session *session)
{
    struct verdict *verdict = session->verdict;
    struct standby *standby;
    struct err err = {0};
    verdict_init(verdict);
    log_set_job(session->job.name ? session->job.name : verdict->id);
    identify_candidate(session);
    session->lease.retry_alone = false;
    session->lease.waited_ms = 0;
    memset(session->lease.turn.held_ms, 0, sizeof session->lease.turn.held_ms);
    int result = admit_candidate(session);
    if (result == 0 &&
        (spawner_standby(&session->judge->spawner, SANDBOX_NATIVE, &standby, &err) < 0 ||
         spawner_probe(&session->judge->spawner, standby, &err) < 0))
        result = fault_verdict_of_judge(session, &err);
    if (result == 0)
        result = choose_device(session);
    if (result == 0) {
        session_prepare_builds(session, standby);
        result = run_stages(session);
    }
    verdict->correct &= !verdict->error_class; /* it may not have got its device again */
    if (result == 0 && !verdict->error_class)
        verdict->status = STATUS_PASSED;
    look_for_missing_memory(session);
    unlock_early(session);
    struct trials trials = session_trials(session);
    trial_end_candidate(&trials);
    trial_state_rest(&session->trials);
    bool alone = session->lease.retry_alone;
    verdict->stages_ms[STAGE_QUEUE] += session->lease.waited_ms;
    return leave_device(session, alone);
}

/* Before the candidate is looked at: it is not made for its sake, and not on its time. */
static void audit_problem(struct session *session, struct verdict *audited)
{
    const struct evaluation_job *job = &session->job;
    const struct audit_request request = {.problem = job->problem,
                                          .reference_hash = job->reference_hash,
                                          .settings = job->settings,
                                          .cancelled = job->cancelled,
                                          .next = session};
    audits_get(session->judge, &request, audited);
}

/* Setting audit.gameable. True: the verdict is made. */
static bool refuse_gameable(struct session *session, const struct verdict *audited)
{
    struct verdict *verdict = session->verdict;
    char message[512];
    if (audited->audit.outcome != AUDIT_GAMEABLE ||
        audit_settings(session->job.settings)->gameable != AUDIT_REFUSE)
        return false;
    verdict_init(verdict);
    identify_candidate(session);
    snprintf(message, sizeof message,
             "problem %s can be gamed (%s: %s), and audit.gameable is refuse",
             session->job.problem->id, audited->audit.attempts[0].code,
             audited->audit.attempts[0].name);
    verdict_fail(verdict, STATUS_UNSUPPORTED, "gameable", message, NULL);
    (void)leave_device(session, false); /* the audit's */
    return true;
}

/* A C candidate with another signature fails in many ways, none of which names the cause. */
static void explain_signature(struct session *session)
{
    struct verdict *verdict = session->verdict;
    const struct problem *problem = session->job.problem;
    bool ran = verdict->compiled && verdict->status != STATUS_INFRASTRUCTURE_ERROR &&
               verdict->status != STATUS_UNSUPPORTED && verdict->status != STATUS_CANCELLED;
    if (!problem->signature || !verdict->error_message || !ran)
        return;
    const char *hint = signature_hint(&verdict->arena, problem->signature,
                                      session->job.candidate->text);
    if (hint)
        verdict->error_message = arena_printf(&verdict->arena, "%s (it showed as: %s)", hint,
                                              verdict->error_message);
}

/* What the stages do not account for is STAGE_OTHER. */
static void add_other_stage(struct verdict *verdict, double whole_ms)
{
    double sum_ms = 0;
    for (int i = 0; i < STAGE_COUNT; i++)
        sum_ms += verdict->stages_ms[i];
    verdict->stages_ms[STAGE_OTHER] += fmax(whole_ms - sum_ms, 0);
}

void session_evaluate(struct session *session, const struct problem *problem,
                      const struct candidate *candidate, const struct evaluation_terms *terms,
                      struct verdict *verdict)
{
    const struct judge_options *options = &session->judge->options;
    session->job.settings = terms && terms->settings ? terms->settings : options->settings;
    session->job.cancelled = terms && terms->stopped ? terms->stopped : options->cancelled;
    session->job.without_oracle = false;
    session->job.no_timing = options->no_timing || (terms && terms->no_timing);
    session_take_problem(session, problem);
    session->job.candidate = candidate;
    session->trials.shift_passed = false;
    session->trials.reference_bytes = 0;
    session->lease.wanted = LEASE_SHARED;
    session->lease.cancelled = session->job.cancelled;
    session->verdict = verdict;
    int64_t start_ns = clock_now_ns();
    session->job.name = log_job();
    struct verdict audited;
    verdict_init(&audited);
    audit_problem(session, &audited);
    if (!refuse_gameable(session, &audited))
        for (int again = 0; attempt_evaluation(session) && again < AGAIN_MOST; again++) {
            log_write(LOG_LEVEL_INFO, "judge", "judged once more: %s",
                      verdict->error_message ? verdict->error_message : "");
            verdict_deinit(verdict);
        }
    explain_signature(session);
    verdict->audit = audited.audit;
    arena_take(&verdict->arena, &audited.arena);
    add_other_stage(verdict, clock_ms_since(start_ns));
    log_set_job(session->job.name);
}
