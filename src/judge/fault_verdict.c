#include "judge/fault_verdict.h"

#include "judge/session_internal.h"
#include "problem/simple.h"

#include <stdio.h>
#include <string.h>

#define HOG_PART 4 /* of a GPU's memory: a candidate that has more caused the lack */

static const struct {
    enum verdict_status status;
    const char *name;
} failures[] = {
    [FAILED_NONE] = {STATUS_RUNTIME_ERROR, "runtime_error"},
    [FAILED_LOAD] = {STATUS_LOAD_ERROR, "load_error"},
    [FAILED_RUN] = {STATUS_RUNTIME_ERROR, "runtime_error"},
    [FAILED_MEMORY] = {STATUS_OUT_OF_MEMORY, "out_of_memory"},
    [FAILED_UNSUPPORTED] = {STATUS_UNSUPPORTED, "unsupported"},
    [FAILED_COMPILE] = {STATUS_COMPILE_ERROR, "compile_error"},
};

/* Whether a lack of memory on the GPU was the candidate's doing, which had taken most of it: its
 * process and its memory are gone when this returns. */
static bool candidate_hogs(struct session *session, const struct err *err)
{
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    if (err->code != ERR_LIMIT || !session->lease.gpu)
        return false;
    session->lease.crowded = true;
    if (session->candidate.process.pid <= 0)
        return false;
    const struct cuda *cuda = &session->lease.gpu->cuda;
    bool known = cuda->memory_info(&before, &total) == 0;
    session->verdict->layers = session->candidate.process.layers;
    child_close(&session->candidate);
    known &= cuda->memory_info(&after, &total) == 0;
    if (!known || after < before || after - before < total / HOG_PART)
        return false;
    verdict_fail(
        session->verdict, STATUS_OUT_OF_MEMORY, "out_of_memory",
        arena_printf(&session->verdict->arena,
                     "it took %.1f GiB of the GPU's memory and left too little for its own "
                     "arguments and the reference",
                     (double)(after - before) / (1 << 30)),
        NULL);
    return true;
}

static void stop_evaluation(struct session *session)
{
    if (session->job.cancelled && *session->job.cancelled == EVALUATION_OUT_OF_TIME)
        verdict_fail(session->verdict, STATUS_TIMEOUT, "evaluation",
                     "judging it took longer than it was given", NULL);
    else
        verdict_fail(session->verdict, STATUS_CANCELLED, err_name(ERR_CANCELLED), "cancelled",
                     NULL);
}

static void blame_judge(struct session *session, const struct err *err)
{
    if (err->code == ERR_CANCELLED)
        stop_evaluation(session);
    else if (!candidate_hogs(session, err))
        verdict_fail(session->verdict, STATUS_INFRASTRUCTURE_ERROR, err_name(err->code), err->text,
                     NULL);
}

/* Its process was killed, which no reference causes, or none could be made. */
static bool blames_machine(struct session *session, const struct err *err)
{
    struct sandboxed *process = &session->reference.child.process;
    bool gone = err->code == ERR_CRASH && process->pid > 0 && sandboxed_ended(process);
    return err->code == ERR_IO || (gone && sandboxed_killed(process));
}

static void blame_reference(struct session *session, const struct err *err)
{
    const struct wire_failed *failed = &session->reference.child.failed;
    char text[ERR_TEXT_MAX + 64];
    if (err->code == ERR_CANCELLED) {
        stop_evaluation(session);
        return;
    }
    snprintf(text, sizeof text, "the reference of problem %s failed: %s", session->job.problem->id,
             err->text);
    if (!candidate_hogs(session, err))
        verdict_fail(session->verdict, STATUS_INFRASTRUCTURE_ERROR,
                     blames_machine(session, err) ? err_name(ERR_IO) : "reference", text,
                     failed->failure ? failed->text : NULL);
    reference_close(&session->reference);
}

/* First line of a longer text. */
static void first_line(const char *text, char *line, size_t line_bytes)
{
    size_t length = strcspn(text, "\n");
    snprintf(line, line_bytes, "%.*s", (int)length, text);
}

static void blame_candidate(struct session *session, const struct err *err,
                            const struct wire_failed *failed)
{
    struct verdict *verdict = session->verdict;
    char line[512];
    switch (err->code) {
    case ERR_INPUT:
        first_line(failed->text, line, sizeof line);
        verdict_fail(verdict, failures[failed->failure].status, failures[failed->failure].name,
                     line, failed->text);
        break;
    case ERR_CRASH:
        verdict_fail(verdict, STATUS_RUNTIME_ERROR,
                     sandboxed_killed(&session->candidate.process) ? VERDICT_KILLED : "crash",
                     err->text, NULL);
        break;
    case ERR_TIMEOUT:
        verdict_fail(verdict, STATUS_TIMEOUT, "timeout", err->text, NULL);
        break;
    case ERR_PROTOCOL:
        verdict_violation(verdict, "H50", "%s", err->text);
        break;
    default:
        blame_judge(session, err);
    }
}

/* The cases are the candidate's own, or the problem's. */
static void blame_cases(struct session *session, const struct err *err,
                        const struct wire_failed *failed)
{
    char text[ERR_TEXT_MAX + 64];
    bool own = strcmp(session->job.problem->cases_from, SIMPLE_OWN_CASES) == 0;
    bool reported = err->code == ERR_CRASH || err->code == ERR_TIMEOUT || failed->failure;
    if (err->code == ERR_CANCELLED || err->code == ERR_IO) {
        blame_judge(session, err);
    } else if (own && reported) {
        blame_candidate(session, err, failed);
    } else {
        snprintf(text, sizeof text, "the cases cannot be judged: %.700s",
                 failed->failure ? failed->text : err->text);
        verdict_fail(session->verdict, STATUS_UNSUPPORTED, "validation", text, NULL);
    }
}

static void blame_gpu_memory(struct session *session, const struct err *err)
{
    if (err->code == ERR_UNSUPPORTED)
        verdict_fail(session->verdict, STATUS_UNSUPPORTED, "gpu_memory", err->text, NULL);
    else
        blame_judge(session, err);
}

/* If the GPU is shared, the candidate is judged again, alone: the work may belong to another
 * session that is still ending. */
static void blame_left_work(struct session *session, const struct err *err)
{
    const struct device_lease *lease = &session->lease;
    if (lease->wanted == LEASE_ALONE || !gpu_pool_shared(lease->gpus, lease->unit)) {
        verdict_violation(session->verdict, "H29",
                          "it left work on the GPU that went on while it was stopped: %s",
                          err->text);
        return;
    }
    session->lease.crowded = true;
    verdict_fail(session->verdict, STATUS_INFRASTRUCTURE_ERROR, err_name(ERR_IO),
                 arena_printf(&session->verdict->arena,
                              "something else was busy on this GPU while it was timed: %s",
                              err->text),
                 NULL);
}

int fault_verdict(struct session *session)
{
    struct fault *fault = &session->fault;
    const struct err *err = &fault->err;
    switch (fault->source) {
    case FAULT_NONE:
        return 0;
    case FAULT_JUDGE:
        blame_judge(session, err);
        break;
    case FAULT_REFERENCE:
        blame_reference(session, err);
        break;
    case FAULT_CASES:
        blame_cases(session, err, &fault->failed);
        break;
    case FAULT_GPU_MEMORY:
        blame_gpu_memory(session, err);
        break;
    case FAULT_CANDIDATE:
        blame_candidate(session, err, &session->candidate.failed);
        break;
    case FAULT_LEFT_WORK:
        blame_left_work(session, err);
        break;
    }
    fault->source = FAULT_NONE;
    return -1;
}

int fault_verdict_of_judge(struct session *session, const struct err *err)
{
    (void)fault_set(&session->fault, FAULT_JUDGE, err);
    return fault_verdict(session);
}
