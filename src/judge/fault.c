#include "judge/fault.h"

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

static int fault_stop(struct session *session)
{
    if (session->job.cancelled && *session->job.cancelled == EVALUATION_OUT_OF_TIME)
        verdict_fail(session->verdict, STATUS_TIMEOUT, "evaluation",
                     "judging it took longer than it was given", NULL);
    else
        verdict_fail(session->verdict, STATUS_CANCELLED, err_name(ERR_CANCELLED), "cancelled",
                     NULL);
    return -1;
}

int fault_judge(struct session *session, const struct err *err)
{
    if (err->code == ERR_CANCELLED)
        return fault_stop(session);
    if (!candidate_hogs(session, err))
        verdict_fail(session->verdict, STATUS_INFRASTRUCTURE_ERROR, err_name(err->code), err->text,
                     NULL);
    return -1;
}

/* Its process was killed, which no reference causes, or none could be made. */
static bool blames_machine(struct session *session, const struct err *err)
{
    struct sandboxed *process = &session->reference.child.process;
    bool gone = err->code == ERR_CRASH && process->pid > 0 && sandboxed_ended(process);
    return err->code == ERR_IO || (gone && sandboxed_killed(process));
}

int fault_reference(struct session *session, const struct err *err)
{
    char text[ERR_TEXT_MAX + 64];
    if (err->code == ERR_CANCELLED)
        return fault_judge(session, err);
    if (candidate_hogs(session, err)) {
        reference_close(&session->reference);
        return -1;
    }
    snprintf(text, sizeof text, "the reference of problem %s failed: %s", session->job.problem->id,
             err->text);
    verdict_fail(session->verdict, STATUS_INFRASTRUCTURE_ERROR,
                 blames_machine(session, err) ? err_name(ERR_IO) : "reference", text,
                 session->reference.child.failed.failure ? session->reference.child.failed.text
                                                         : NULL);
    reference_close(&session->reference);
    return -1;
}

int fault_cases(struct session *session, const struct child *child, const struct err *err)
{
    char text[ERR_TEXT_MAX + 64];
    if (err->code == ERR_CANCELLED || err->code == ERR_IO)
        return fault_judge(session, err);
    bool own = strcmp(session->job.problem->cases_from, SIMPLE_OWN_CASES) == 0;
    bool reported = err->code == ERR_CRASH || err->code == ERR_TIMEOUT || child->failed.failure;
    if (own && reported) {
        session->candidate.failed = child->failed;
        return fault_candidate(session, err);
    }
    snprintf(text, sizeof text, "the cases cannot be judged: %.700s",
             child->failed.failure ? child->failed.text : err->text);
    verdict_fail(session->verdict, STATUS_UNSUPPORTED, "validation", text, NULL);
    return -1;
}

int fault_gpu_memory(struct session *session, const struct err *err)
{
    if (err->code != ERR_UNSUPPORTED)
        return fault_judge(session, err);
    verdict_fail(session->verdict, STATUS_UNSUPPORTED, "gpu_memory", err->text, NULL);
    return -1;
}

/* First line of a longer text. */
static void first_line(const char *text, char *line, size_t line_bytes)
{
    size_t length = strcspn(text, "\n");
    snprintf(line, line_bytes, "%.*s", (int)length, text);
}

int fault_candidate(struct session *session, const struct err *err)
{
    struct verdict *verdict = session->verdict;
    const struct wire_failed *failed = &session->candidate.failed;
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
        return fault_judge(session, err);
    }
    return -1;
}
