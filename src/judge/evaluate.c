/* evaluate: one candidate, from its text to its verdict: the stages in their order, on the device
 * that suits, and once more where that was at fault. Declared in judge.h.
 */
#include "judge/context.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void identify(struct session *session)
{
    struct verdict *verdict = session->verdict;
    const struct problem *problem = session->problem;
    const struct candidate *text = session->text;
    verdict->problem_id = arena_strdup(&verdict->arena, problem->id);
    verdict->problem_format = problem_format_name(problem);
    verdict->cases_from = problem->cases_from ? arena_strdup(&verdict->arena, problem->cases_from)
                                              : NULL;
    verdict->problem_hash = arena_strdup(&verdict->arena, problem->hash);
    verdict->candidate_path = arena_strdup(&verdict->arena, text->path);
    session->language = language_of(&session->judge->languages, text->path, text->text);
    verdict->candidate_language = session->language->name;
    hash_bytes(text->text, text->bytes, verdict->candidate_hash);
}

/* What only its name tells is not for a compiler to find out: it would blame the text. */
static int admit_ending(struct session *session)
{
    const char *path = session->text->path;
    const char *ending = language_foreign_ending(session->language, path);
    char names[128], message[512];
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
static int admit(struct session *session)
{
    struct verdict *verdict = session->verdict;
    const struct candidate *text = session->text;
    struct err err;
    char message[512];
    if (admit_ending(session) < 0)
        return -1;
    if (candidate_check(text, &err) < 0) {
        verdict_fail(verdict, STATUS_COMPILE_ERROR, "source", err.text, NULL);
        return -1;
    }
    const struct language *language = session->language;
    if (language->format == session->problem->format)
        return 0;
    bool torch = session->problem->format == PROBLEM_TORCH;
    snprintf(message, sizeof message, "problem %s takes %s, and %s is %s", session->problem->id,
             torch ? "a Python module with ModelNew" : "C or CUDA source with `solution`",
             text->path, language->family);
    verdict_fail(verdict, STATUS_UNSUPPORTED, "format", message, NULL);
    return -1;
}

/* The least loaded one. */
static int use_gpu(struct session *session)
{
    struct verdict *verdict = session->verdict;
    if (gpu_pool_take(&session->judge->gpus, session->before, &session->unit, &session->no_gpu) < 0)
        return fault_judge(session, &session->no_gpu);
    session->gpu = gpu_unit_context(session->unit);
    verdict->device = arena_printf(&verdict->arena, "cuda:%d %s", session->unit->facts.ordinal,
                                   session->unit->facts.name);
    return 0;
}

/* Languages for a GPU run on one, where there is one and the problem has a reference for it. */
static int choose_for_native(struct session *session)
{
    const struct problem *problem = session->problem;
    const char *reference = problem->cuda_text;
    if (!session->language->gpu || gpu_pool_list(&session->judge->gpus, &session->no_gpu) < 0 ||
        device_compiler(session->judge, device_only(problem, session->text->text),
                        &session->no_gpu) < 0)
        return 0;
    if (!reference) {
        err_set(&session->no_gpu, ERR_UNSUPPORTED,
                "problem %s has no reference.cu to hold them against", problem->id);
        return 0;
    }
    if (device_compiler(session->judge, device_only(problem, reference), &session->no_gpu) < 0)
        return 0;
    return use_gpu(session);
}

/* Whether there would be more memory another time: others have some, or references had. */
static bool make_room(struct session *session)
{
    bool shared = gpu_pool_shared(&session->judge->gpus, session->unit);
    return reference_cache_clear(&session->judge->references, session->gpu) > 0 || shared;
}

/* Whether memory that others had may have been what was missing. */
static bool was_crowded(struct session *session)
{
    bool lacked = session->wants_alone || session->verdict->status == STATUS_OUT_OF_MEMORY;
    return session->unit && lacked && !session->alone && make_room(session);
}

/* Who is next need not wait for the end of a context, but for that of a candidate that still runs:
 * what it does would be on the clock of others. */
static void let_go_early(struct session *session)
{
    struct sandboxed *process = &session->candidate.process;
    if (process->pid <= 0 || process->frozen || sandboxed_ended(process))
        session_let_go(session);
}

/* Gives the GPU back. True: judge it again: the GPU was at fault, not who ran there, and another
 * one may do; or there was no room among others, and it shall have the GPU alone. */
static bool leave_device(struct session *session, bool crowded)
{
    struct verdict *verdict = session->verdict;
    struct gpu_pool *gpus = &session->judge->gpus;
    struct err err;
    bool doubt = verdict->status == STATUS_INFRASTRUCTURE_ERROR ||
                 verdict->status == STATUS_RUNTIME_ERROR;
    if (!session->unit)
        return false;
    session->alone = crowded;
    bool bad = verdict->error_class && doubt && gpu_pool_suspect(gpus, session->unit, &err);
    if (bad) {
        verdict->status = STATUS_INFRASTRUCTURE_ERROR;
        verdict->error_class = "gpu";
        verdict->error_message = arena_printf(&verdict->arena, "%s (it showed as: %s)", err.text,
                                              verdict->error_message);
        (void)reference_cache_clear(&session->judge->references, session->gpu);
    }
    gpu_pool_give_back(gpus, session->unit);
    session->before = session->unit;
    session->unit = NULL;
    session->gpu = NULL;
    return crowded || (bad && gpu_pool_any(gpus));
}

static int choose_for_torch(struct session *session)
{
    struct err err = {0};
    if (judge_torch_on_gpu(session->judge, session->settings, &err))
        return use_gpu(session);
    if (strcmp(session->settings->torch_device, "cuda") != 0)
        return 0;
    verdict_fail(session->verdict, STATUS_UNSUPPORTED, "unsupported", err.text, NULL);
    return -1;
}

static int choose_device(struct session *session)
{
    return session->problem->format == PROBLEM_NATIVE ? choose_for_native(session)
                                                      : choose_for_torch(session);
}

static int evaluate(struct session *session)
{
    struct verdict *verdict = session->verdict;
    bool interpreted = !session->gpu && session->language->interpreted;
    int result = session->language->open(session);
    if (result == 0 && session->gpu)
        session->reference.child.work = session->candidate.work = session_work(session);
    if (result == 0)
        result = check_stage(session);
    if (result == 0 && interpreted)
        result = profile_stage(session); /* before it is timed: a decoy's time means nothing */
    if (result < 0)
        return result;
    verdict->correct = true;
    if (interpreted) {
        verdict->timing_meaningful = false;
        verdict->timing_note = "Triton ran in its interpreter on the CPU: only the answer counts";
    } else if (session->no_timing) {
        verdict->timing_note = VERDICT_NOT_TIMED;
    } else {
        result = timing_stage(session);
        if (result == 0)
            result = profile_stage(session);
        if (result == 0)
            result = confirm_stage(session);
    }
    verdict->correct = result == 0;
    return result;
}

/* True: it is worth another attempt, elsewhere. */
static bool attempt(struct session *session)
{
    struct verdict *verdict = session->verdict;
    struct standby *standby;
    struct err err = {0};
    verdict_init(verdict);
    log_set_job(session->job ? session->job : verdict->id);
    identify(session);
    session->wants_alone = false;
    int result = admit(session);
    if (result == 0 && (judge_standby(session->judge, SANDBOX_NATIVE, &standby, &err) < 0 ||
                        judge_probe_sandbox(session->judge, standby, &err) < 0))
        result = fault_judge(session, &err);
    if (result == 0)
        result = choose_device(session);
    if (result == 0 && !session->gpu)
        result = session_share(session);
    if (result == 0) {
        builds_init(&session->builds, session);
        sandbox_runner_init(&session->runner, standby, !session->judge->no_own_root,
                            session->judge->toolchain.root, session->cancelled);
        result = evaluate(session);
    }
    verdict->correct &= !verdict->error_class; /* it may not have got its device again */
    if (result == 0 && !verdict->error_class)
        verdict->status = STATUS_PASSED;
    let_go_early(session);
    session_end_candidate(session);
    session_free_there(session);
    bool crowded = was_crowded(session);
    session_rest_reference(session); /* before its place and its GPU are another's */
    session_leave(session);
    return leave_device(session, crowded);
}

/* The stages and what lies between them take as long as the whole. */
static void add_up(struct verdict *verdict, double whole_ms)
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
    session->settings = terms && terms->settings ? terms->settings : options->settings;
    session->cancelled = terms && terms->stopped ? terms->stopped : options->cancelled;
    session->no_timing = options->no_timing || (terms && terms->no_timing);
    session_take_problem(session, problem);
    session->text = candidate;
    session->bias_makes_sense = session->alone = false;
    session->verdict = verdict;
    int64_t start_ns = clock_now_ns();
    session->job = log_job();
    if (attempt(session)) {
        verdict_deinit(verdict);
        (void)attempt(session);
    }
    add_up(verdict, clock_ms_since(start_ns));
    log_set_job(session->job);
}
