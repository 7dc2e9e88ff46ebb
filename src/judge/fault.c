/* fault: from an error to a status. The same error means different things on different sides: a
 * crash of the candidate is its own, a crash of the reference is the problem author's. */
#include "judge/context.h"

#include <stdio.h>
#include <string.h>

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

int fault_judge(struct session *session, const struct err *err)
{
    enum verdict_status status = err->code == ERR_CANCELLED ? STATUS_CANCELLED
                                                            : STATUS_INFRASTRUCTURE_ERROR;
    verdict_fail(session->verdict, status, err_name(err->code), err->text, NULL);
    return -1;
}

int fault_reference(struct session *session, const struct err *err)
{
    char text[ERR_TEXT_MAX + 64];
    if (err->code == ERR_CANCELLED)
        return fault_judge(session, err);
    snprintf(text, sizeof text, "the reference of problem %s failed: %s", session->problem->id,
             err->text);
    verdict_fail(session->verdict, STATUS_INFRASTRUCTURE_ERROR, "reference", text,
                 session->reference.failed.failure ? session->reference.failed.text : NULL);
    reference_forget(session);
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
        verdict_fail(verdict, STATUS_RUNTIME_ERROR, "crash", err->text, NULL);
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
