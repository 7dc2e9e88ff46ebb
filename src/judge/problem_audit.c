#include "judge/problem_audit.h"

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "judge/fault_verdict.h"
#include "judge/measure/trial_inputs.h"
#include "judge/open.h"
#include "judge/problem_attempts.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define TORCH_TRIALS 3
#define PRECISION_CODE "H13" /* of attempts that do all of the work */
#define PASSES 3             /* of PASSES_OF trials: all of fewer than four */
#define PASSES_OF 4
#define DESCRIPTION_BYTES ((size_t)16 << 20)

static int probe_sizes(struct probe *probe, const struct size_set *sizes)
{
    struct session *session = probe->session;
    const struct problem *problem = session->job.problem;
    struct err err;
    if (problem_layout(problem, sizes, &probe->trial.layout, &err) < 0)
        return fault_set(&session->fault, FAULT_JUDGE, &err);
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        probe->dimensions[i] = problem->arguments[i].dimensions;
        for (uint32_t d = 0; d < probe->dimensions[i]; d++)
            probe->shapes[i][d] = (int64_t)expression_value(problem->arguments[i].shape[d],
                                                            sizes->value);
    }
    if (child_map(&session->reference.child, &probe->trial.layout, &session->job.largest, 1,
                  session->reference.oracle, probe->trial.limit, &err) < 0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    return probe_run(probe);
}

static int probe_native(struct probe *probe)
{
    const struct problem *problem = probe->session->job.problem;
    for (uint32_t i = 0; i < problem->check_count; i++)
        if (probe_sizes(probe, &problem->check[i]) < 0)
            return -1;
    return problem->time_count && !probe_is_settled(probe) ? probe_sizes(probe, &problem->time[0])
                                                           : 0;
}

/* Shapes and the number of parameters, from the description that the reference child wrote. */
static int read_description(struct probe *probe, struct err *err)
{
    char *text;
    size_t bytes;
    json_t *object = NULL;
    json_t *shapes;
    int64_t parameters;
    int fd = dup(probe->session->reference.description);
    lseek(fd, 0, SEEK_SET);
    int result = file_read_fd(fd, "description", DESCRIPTION_BYTES, &text, &bytes, err);
    close(fd);
    if (result < 0)
        return result;
    result = json_parse("description", text, bytes, &object, err);
    mem_free(text);
    if (result == 0)
        result = json_get_array(object, "shapes", &shapes, err);
    if (result == 0)
        result = json_get_int(object, "parameters", &parameters, err);
    for (size_t i = 0; result == 0 && i < json_array_size(shapes) && i < LIMIT_ARGUMENTS; i++) {
        json_t *shape = json_array_get(shapes, i);
        probe->dimensions[i] = (uint32_t)json_array_size(shape);
        if (probe->dimensions[i] > LIMIT_DIMENSIONS)
            result = err_set(err, ERR_LIMIT, "input %zu has too many dimensions", i);
        for (uint32_t d = 0; result == 0 && d < probe->dimensions[i]; d++)
            probe->shapes[i][d] = json_integer_value(json_array_get(shape, d));
    }
    if (result == 0)
        probe->parameters = (uint32_t)parameters;
    json_decref(object);
    return result;
}

/* Memory for its inputs; on a GPU for their image, too. */
static int map_torch(struct probe *probe)
{
    struct session *session = probe->session;
    struct err err;
    if (trial_map_reference(&probe->trials, &probe->trial, false) < 0)
        return -1;
    if (!session->trials.gpu.image_on_host)
        return 0;
    (void)!err_set(&err, ERR_LIMIT, "%llu bytes of inputs are too many to be there several times",
                   (unsigned long long)probe->trial.layout.bytes);
    return fault_set(&session->fault, FAULT_JUDGE, &err);
}

static int probe_torch(struct probe *probe)
{
    struct session *session = probe->session;
    struct err err;
    probe->trial.layout = session->reference.torch_layout;
    if (read_description(probe, &err) < 0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    if (map_torch(probe) < 0)
        return -1;
    for (int i = 0; i < TORCH_TRIALS; i++)
        if ((probe_is_settled(probe) ? probe_draw(probe) : probe_run(probe)) < 0)
            return -1;
    return probe_draw_many(probe);
}

/* With a reference that is open. Others are timed between two of its calls only. */
static int probe_all(struct session *session, const struct problem_audit_terms *terms,
                     struct problem_audit *audit)
{
    struct probe probe = {
        .session = session,
        .audit = audit,
        .trials = session_trials(session),
        .trial = {.oracle = true, .limit = time_limit_load(session->job.settings)},
        .terms = terms,
    };
    struct err err;
    const struct gpu_work *work = session->lease.gpu ? session->reference.child.work : NULL;
    int result = tensor_work_open(&probe.work, work, &err);
    if (result < 0)
        (void)fault_set(&session->fault, FAULT_JUDGE, &err);
    else
        result = session->job.problem->format == PROBLEM_NATIVE ? probe_native(&probe)
                                                                : probe_torch(&probe);
    if (result == 0)
        result = probe_confirm(&probe);
    if (result == 0)
        probe_finish(&probe);
    probe_deinit(&probe);
    return result;
}

bool problem_audit_on_gpu(struct judge *judge, const struct problem *problem,
                          const struct settings *settings)
{
    struct err ignored;
    return problem->format == PROBLEM_TORCH && judge_torch_on_gpu(judge, settings, &ignored);
}

static int take_device(struct session *session)
{
    struct err err;
    if (!problem_audit_on_gpu(session->judge, session->job.problem, session->job.settings) ||
        device_lease_take_gpu(&session->lease, &err) == 0)
        return 0;
    return fault_verdict_of_judge(session, &err);
}

/* What the audit lacks there says nothing of the problem, and ends no cached reference. Beside
 * others, it is made again without them. */
static void explain_memory(struct session *session)
{
    struct fault *fault = &session->fault;
    if (!session->lease.gpu || fault->source == FAULT_NONE || fault->err.code != ERR_LIMIT)
        return;
    session->lease.retry_alone = session->lease.wanted != LEASE_ALONE;
    err_prefix(&fault->err, "too little GPU memory for the audit");
    fault->err.code = ERR_IO;
    fault->source = FAULT_JUDGE;
}

/* On a GPU, where memory may not do for another reference meanwhile. An audit that is made again,
 * alone, takes all of the GPU: the next session may have none of it then. */
static bool hand_over(struct session *session, struct session *next)
{
    struct opening opening = session_opening(next);
    if (!session->lease.gpu || session->lease.retry_alone || !session_rest_reference(session))
        return false;
    opening_take_reference(&opening, &session->reference);
    device_lease_hand_over(&session->lease, &next->lease);
    return true;
}

static void leave_device(struct session *session, struct session *next)
{
    if (!next)
        reference_close(&session->reference);
    else if (!hand_over(session, next))
        session_cache_reference(session);
    session_release_device(session);
    if (!session->lease.unit)
        return;
    device_lease_return_gpu(&session->lease);
    if (next)
        next->lease.before = session->lease.before;
}

/* On the session's device, which nothing is left on but a reference for the next one. */
static int audit_on_device(struct session *session, const struct problem_audit_terms *terms,
                           struct problem_audit *audit)
{
    int result = open_only_reference(session);
    if (result == 0 && terms->runs)
        terms->runs(terms->context, true);
    if (result == 0)
        result = probe_all(session, terms, audit);
    explain_memory(session);
    (void)fault_verdict(session);
    if (session->reference.child.state == CHILD_READY)
        session_learn_memory(session);
    trial_state_rest(&session->trials);
    leave_device(session, terms->next);
    return result;
}

static const struct problem_audit no_audit = {.own_error = NAN, .deterministic = true};

static int audit_once(struct session *session, struct standby *standby,
                      const struct problem_audit_terms *terms, struct problem_audit *audit)
{
    session->lease.retry_alone = false;
    int result = take_device(session);
    session_prepare_builds(session, standby);
    return result < 0 ? result : audit_on_device(session, terms, audit);
}

/* The evaluation takes its own share afterwards: what the audit has then is all of the GPU. */
static int audit_alone(struct session *session, struct standby *standby,
                       const struct problem_audit_terms *terms, struct problem_audit *audit)
{
    struct problem_audit_terms alone = *terms;
    alone.next = NULL;
    if (terms->runs)
        terms->runs(terms->context, false);
    log_write(LOG_LEVEL_INFO, "judge", "audited once more, alone: %s",
              session->verdict->error_message);
    verdict_deinit(session->verdict);
    verdict_init(session->verdict);
    problem_audit_deinit(audit);
    *audit = no_audit;
    session->lease.wanted = LEASE_ALONE;
    return audit_once(session, standby, &alone, audit);
}

int problem_audit_run(struct judge *judge, const struct problem *problem,
                      const struct problem_audit_terms *terms, struct problem_audit *audit,
                      struct err *err)
{
    static const struct problem_audit_terms whole = {0};
    struct session *session = session_new(judge);
    struct verdict verdict;
    struct standby *standby;
    terms = terms ? terms : &whole;
    verdict_init(&verdict);
    *audit = no_audit;
    session->job.settings = terms->settings ? terms->settings : session->job.settings;
    session->job.cancelled = terms->cancelled ? terms->cancelled : session->job.cancelled;
    session->lease.cancelled = session->job.cancelled;
    session->lease.wanted = LEASE_SHARED;
    session->lease.before = terms->next ? terms->next->lease.before : NULL;
    session_take_problem(session, problem);
    session->verdict = &verdict;
    int result = spawner_standby(&judge->spawner, SANDBOX_NATIVE, &standby, err);
    if (result == 0)
        result = spawner_probe(&judge->spawner, standby, err);
    if (result == 0) {
        result = audit_once(session, standby, terms, audit);
        if (result < 0 && session->lease.retry_alone)
            result = audit_alone(session, standby, terms, audit);
        if (result < 0)
            result = err_set(err, verdict.status == STATUS_CANCELLED ? ERR_CANCELLED : ERR_INPUT,
                             "%.700s", verdict.error_message ? verdict.error_message : "failed");
    }
    verdict_deinit(&verdict);
    session_free(session);
    return result;
}

bool problem_audit_passed(const struct attempt *attempt)
{
    return attempt->trials > 0 && attempt->passed * PASSES_OF >= attempt->trials * PASSES;
}

bool problem_audit_worthless(const struct attempt *attempt)
{
    return problem_audit_passed(attempt) && strcmp(attempt->code, PRECISION_CODE) != 0;
}

bool problem_audit_gamed(const struct problem_audit *audit)
{
    for (size_t i = 0; i < audit->count; i++)
        if (problem_audit_passed(&audit->attempts[i]))
            return true;
    return !audit->deterministic || audit->own_error > 1;
}

void problem_audit_verdict(const struct problem_audit *audit, struct verdict *verdict)
{
    struct verdict_audit *into = &verdict->audit;
    into->outcome = AUDIT_SOUND;
    if (!audit->deterministic || audit->own_error > 1) {
        into->outcome = AUDIT_UNKNOWN;
        into->reason = audit->deterministic
                           ? "the reference itself is outside the tolerance of its oracle"
                           : "two runs of the reference differ";
    }
    for (size_t i = 0; i < audit->count; i++) {
        const struct attempt *attempt = &audit->attempts[i];
        if (!problem_audit_passed(attempt))
            continue;
        if (problem_audit_worthless(attempt))
            into->outcome = AUDIT_GAMEABLE;
        if (into->count < VERDICT_ATTEMPTS)
            into->attempts[into->count++] =
                (struct verdict_attempt){.code = arena_strdup(&verdict->arena, attempt->code),
                                         .name = arena_strdup(&verdict->arena, attempt->name),
                                         .gain = attempt->gain};
    }
    if (into->outcome == AUDIT_GAMEABLE)
        into->reason = NULL;
}

void problem_audit_deinit(struct problem_audit *audit)
{
    mem_free(audit->attempts);
    arena_deinit(&audit->arena);
}
