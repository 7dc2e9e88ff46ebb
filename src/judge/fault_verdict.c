#include "judge/fault_verdict.h"

#include "device/machine_load.h"
#include "judge/request/judge_settings.h"
#include "judge/session_internal.h"
#include "problem/simple.h"
#include "sandbox/memory_use.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_SHOWN 511 /* characters of a message's first line */
#define GIB ((double)(1 << 30))
#define HOG_PART 4  /* of a GPU's memory: a candidate that has more caused the lack */
#define WIDE_PART 4 /* a problem that takes more may do without an oracle */

static const struct {
    enum verdict_status status;
    const char *name;
} failures[FAILED_COUNT] = {
    [FAILED_NONE] = {STATUS_RUNTIME_ERROR, "runtime_error"},
    [FAILED_LOAD] = {STATUS_LOAD_ERROR, "load_error"},
    [FAILED_RUN] = {STATUS_RUNTIME_ERROR, "runtime_error"},
    [FAILED_MEMORY] = {STATUS_OUT_OF_MEMORY, "out_of_memory"},
    [FAILED_UNSUPPORTED] = {STATUS_UNSUPPORTED, "unsupported"},
    [FAILED_COMPILE] = {STATUS_COMPILE_ERROR, "compile_error"},
    [FAILED_NO_GPU] = {STATUS_UNSUPPORTED, "unsupported"},
    [FAILED_NO_COMPILER] = {STATUS_UNSUPPORTED, "unsupported"},
    [FAILED_PROBLEM] = {STATUS_UNSUPPORTED, "unsupported"},
};

/* How an evaluation ends. */
struct ending {
    enum verdict_status status;
    const char *name;    /* the error's class; of STATUS_VIOLATION, the finding's code */
    const char *excerpt; /* NULL: none */
    bool killed;         /* whose fault it is: its process, by SIGKILL */
    char text[ERR_TEXT_MAX + 128];
};

static void end_with(struct ending *ending, enum verdict_status status, const char *name,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

static void end_with(struct ending *ending, enum verdict_status status, const char *name,
                     const char *format, ...)
{
    va_list args;
    ending->status = status;
    ending->name = name;
    va_start(args, format);
    vsnprintf(ending->text, sizeof ending->text, format, args);
    va_end(args);
}

/* Whether memory was missing, a GPU's or this machine's: the process at fault, or the judge, was
 * refused some, or the kernel killed the process. */
static bool lacked_memory(const struct session *session, const struct fault *fault, bool killed)
{
    const struct child *child = fault->source == FAULT_REFERENCE ? &session->reference.child
                                                                 : &session->candidate;
    const struct wire_failed *failed = fault->source == FAULT_CASES ? &fault->failed
                                                                    : &child->failed;
    switch (fault->source) {
    case FAULT_REFERENCE:
    case FAULT_CASES:
    case FAULT_CANDIDATE:
        if (failed->failure == FAILED_MEMORY || (killed && !session->lease.gpu))
            return true;
        __attribute__((fallthrough));
    case FAULT_JUDGE:
        return session->lease.gpu && fault->err.code == ERR_LIMIT;
    case FAULT_MEMORY:
        return !session->lease.gpu;
    case FAULT_NONE:
    case FAULT_LEFT_WORK:
    case FAULT_BUSY_GPU:
        break;
    }
    return false;
}

/* Whether others may have had it, or cached references, which it closes: then another attempt,
 * alone, is worth it. On a GPU the others may be of another process. */
static bool memory_was_crowded(struct session *session)
{
    struct device_lease *lease = &session->lease;
    if (lease->wanted == LEASE_ALONE)
        return false;
    bool closed = reference_cache_clear(&session->judge->references, lease->gpu) > 0;
    return closed || lease->gpu || memory_gate_was_shared(lease->memory, &lease->pass);
}

/* It lacked memory although it had the GPU to itself, or all that this machine has available. */
static void end_as_too_large(struct session *session, const char *why, struct ending *ending)
{
    const struct gpu_context *gpu = session->lease.gpu;
    uint64_t bytes = gpu ? gpu->facts.memory_bytes : load_available_bytes();
    end_with(
        ending, STATUS_UNSUPPORTED, gpu ? "gpu_memory" : "memory",
        "problem %s needs more memory than %s has%s, %.1f GiB%s: it takes a larger %s or smaller "
        "sizes (%.*s)",
        session->job.problem->id, gpu ? gpu->facts.name : "this machine", gpu ? "" : " available",
        (double)bytes / GIB,
        session->candidate.process.pid > 0 ? " for its reference and a candidate" : "",
        gpu ? "GPU" : "machine", (int)strcspn(why, "\n"), why);
}

/* Which limit it met, as this machine's own memory has one. */
static void name_limit(struct session *session, struct ending *ending)
{
    size_t used = strlen(ending->text);
    uint64_t own = run_settings(session->job.settings)->memory_bytes;
    if (!session->lease.gpu)
        snprintf(ending->text + used, sizeof ending->text - used,
                 " (beyond its program and what the problem takes it may have %.2f GiB: the "
                 "setting run.memory_bytes)",
                 (double)own / GIB);
}

/* Whether a lack of memory on the GPU was the candidate's doing, which had taken most of it: its
 * process and its memory are gone when this returns. */
static bool candidate_hogs(struct session *session, const struct err *err, struct ending *ending)
{
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    if (err->code != ERR_LIMIT || !session->lease.gpu)
        return false;
    if (session->candidate.process.pid <= 0)
        return false;
    const struct cuda *cuda = &session->lease.gpu->cuda;
    bool known = cuda->memory_info(&before, &total) == 0;
    session->verdict->layers = session->candidate.process.layers;
    child_close(&session->candidate);
    known &= cuda->memory_info(&after, &total) == 0;
    if (!known || after < before || after - before < total / HOG_PART)
        return false;
    end_with(ending, STATUS_OUT_OF_MEMORY, "out_of_memory",
             "it took %.1f GiB of the GPU's memory and left too little for its own arguments and "
             "the reference",
             (double)(after - before) / GIB);
    return true;
}

static void blame_judge(struct session *session, const struct err *err, struct ending *ending)
{
    const _Atomic int *cancelled = session->job.cancelled;
    if (err->code == ERR_CANCELLED && cancelled && *cancelled == EVALUATION_OUT_OF_TIME)
        end_with(ending, STATUS_TIMEOUT, "evaluation", "judging it took longer than it was given");
    else if (err->code == ERR_CANCELLED)
        end_with(ending, STATUS_CANCELLED, err_name(ERR_CANCELLED), "cancelled");
    else if (candidate_hogs(session, err, ending))
        return;
    else if (err->code == ERR_LIMIT && session->lease.gpu && !session->lease.retry_alone)
        end_as_too_large(session, err->text, ending);
    else
        end_with(ending, STATUS_INFRASTRUCTURE_ERROR, err_name(err->code), "%s", err->text);
}

/* Whether the system kills processes because memory is missing: it takes a large one, whosever
 * doing that is. */
static bool was_for_memory(const struct session *session, const struct ending *ending)
{
    return ending->killed && !session->lease.gpu && load_memory_kills() > session->memory_kills;
}

/* Whether the candidate has had more than its reference, and half of what it may have beyond that:
 * the kernel may take the other one for it. */
static bool candidate_crowds(const struct session *session, struct ending *ending)
{
    uint64_t reference = session->trials.reference_bytes;
    uint64_t own = run_settings(session->job.settings)->memory_bytes;
    uint64_t took = memory_use_peak_bytes(session->candidate.process.pid);
    if (reference == 0 || took <= reference + own / 2)
        return false;
    end_with(ending, STATUS_OUT_OF_MEMORY, "out_of_memory",
             "it took %.1f GiB where the reference takes %.1f, and this machine's memory ran out",
             (double)took / GIB, (double)reference / GIB);
    return true;
}

static void blame_memory(struct session *session, struct ending *ending)
{
    if (!candidate_crowds(session, ending))
        end_as_too_large(session, "the system ended a process because memory ran out", ending);
}

/* A reference causes neither that its process is killed nor that none can be made. */
static void blame_reference(struct session *session, const struct err *err, struct ending *ending)
{
    const struct wire_failed *failed = &session->reference.child.failed;
    bool machine = err->code == ERR_IO || ending->killed;
    blame_judge(session, err, ending);
    if (ending->status != STATUS_INFRASTRUCTURE_ERROR)
        return;
    if (failed->failure == FAILED_MEMORY && !session->lease.retry_alone)
        end_as_too_large(session, failed->text, ending);
    else if (was_for_memory(session, ending) && !session->lease.retry_alone)
        blame_memory(session, ending);
    else if (failed->failure == FAILED_PROBLEM)
        end_with(ending, STATUS_UNSUPPORTED, "problem", "problem %s cannot be judged: %s",
                 session->job.problem->id, err->text);
    else
        end_with(ending, STATUS_INFRASTRUCTURE_ERROR, machine ? err_name(ERR_IO) : "reference",
                 "the reference of problem %s failed: %s", session->job.problem->id, err->text);
    ending->excerpt = failed->failure ? failed->text : NULL;
}

/* A GPU may stand still for seconds while its driver ends a context of another session's in which
 * something still computes. So a candidate that was quick enough until it was timed, on a GPU that
 * others use, is judged again, alone. */
static bool may_have_stood_still(const struct session *session)
{
    const struct device_lease *lease = &session->lease;
    return lease->gpu && lease->held == LEASE_TIMED && device_lease_has_company(lease);
}

static void blame_candidate(struct session *session, const struct err *err,
                            const struct wire_failed *failed, struct ending *ending)
{
    size_t line = strcspn(failed->text, "\n");
    switch (err->code) {
    case ERR_INPUT:
        end_with(ending, failures[failed->failure].status, failures[failed->failure].name, "%.*s",
                 (int)(line < LINE_SHOWN ? line : LINE_SHOWN), failed->text);
        ending->excerpt = failed->text;
        if (failed->failure == FAILED_MEMORY)
            name_limit(session, ending);
        break;
    case ERR_CRASH:
        if (was_for_memory(session, ending))
            end_with(ending, STATUS_OUT_OF_MEMORY, VERDICT_KILLED,
                     "the system ended it because this machine's memory ran out, and it was large");
        else
            end_with(ending, STATUS_RUNTIME_ERROR, ending->killed ? VERDICT_KILLED : "crash", "%s",
                     err->text);
        break;
    case ERR_TIMEOUT:
        session->lease.retry_alone |= may_have_stood_still(session);
        end_with(ending, STATUS_TIMEOUT, "timeout", "%s", err->text);
        break;
    case ERR_PROTOCOL:
        end_with(ending, STATUS_VIOLATION, "H50", "%s", err->text);
        break;
    default:
        blame_judge(session, err, ending);
    }
}

/* The cases are the candidate's own, or the problem's. */
static void blame_cases(struct session *session, const struct err *err,
                        const struct wire_failed *failed, struct ending *ending)
{
    bool own = strcmp(session->job.problem->cases_from, SIMPLE_OWN_CASES) == 0;
    bool reported = err->code == ERR_CRASH || err->code == ERR_TIMEOUT || failed->failure;
    if (err->code == ERR_CANCELLED || err->code == ERR_IO)
        blame_judge(session, err, ending);
    else if (own && reported)
        blame_candidate(session, err, failed, ending);
    else
        end_with(ending, STATUS_UNSUPPORTED, "validation", "the cases cannot be judged: %.700s",
                 failed->failure ? failed->text : err->text);
}

/* The first time it is judged again, alone: the work may belong to another session that is still
 * ending, or to a program that is none of ours. */
static void blame_left_work(struct session *session, const struct err *err, struct ending *ending)
{
    struct device_lease *lease = &session->lease;
    if (lease->wanted == LEASE_ALONE) {
        end_with(ending, STATUS_VIOLATION, "H29",
                 "it left work on the GPU that went on while it was stopped: %s", err->text);
        return;
    }
    lease->retry_alone = true;
    end_with(ending, STATUS_INFRASTRUCTURE_ERROR, err_name(ERR_IO),
             "something else was busy on this GPU while it was timed: %s", err->text);
}

/* The candidate was ended meanwhile. Another session's large context takes seconds to end. */
static void blame_neighbour(struct session *session, const struct err *err, struct ending *ending)
{
    session->lease.retry_alone = session->lease.wanted != LEASE_ALONE;
    end_with(ending, STATUS_INFRASTRUCTURE_ERROR, err_name(err->code), "%s", err->text);
}

/* Of a large problem an oracle takes more than the evaluation itself. True: nothing else has the
 * memory, and another attempt without one is worth it. */
static bool drop_oracle(struct session *session)
{
    const struct device_lease *lease = &session->lease;
    if (!session->reference.oracle)
        return false;
    uint64_t planned = memory_plans_find(&session->judge->plans, session->job.reference_hash);
    uint64_t all = lease->gpu ? lease->gpu->facts.memory_bytes : load_available_bytes();
    session->job.without_oracle = planned > all / WIDE_PART;
    return session->job.without_oracle;
}

static void find_ending(struct session *session, const struct fault *fault, struct ending *ending)
{
    const struct err *err = &fault->err;
    switch (fault->source) {
    case FAULT_NONE:
        break;
    case FAULT_JUDGE:
        blame_judge(session, err, ending);
        break;
    case FAULT_REFERENCE:
        blame_reference(session, err, ending);
        break;
    case FAULT_CASES:
        blame_cases(session, err, &fault->failed, ending);
        break;
    case FAULT_MEMORY:
        if (err->code == ERR_UNSUPPORTED)
            end_with(ending, STATUS_UNSUPPORTED, session->lease.gpu ? "gpu_memory" : "memory", "%s",
                     err->text);
        else
            blame_judge(session, err, ending);
        break;
    case FAULT_CANDIDATE:
        blame_candidate(session, err, &session->candidate.failed, ending);
        break;
    case FAULT_LEFT_WORK:
        blame_left_work(session, err, ending);
        break;
    case FAULT_BUSY_GPU:
        blame_neighbour(session, err, ending);
        break;
    }
}

/* That a reference has ended may not have been seen yet. */
static bool was_killed(struct session *session, enum fault_source source)
{
    bool reference = source == FAULT_REFERENCE;
    struct sandboxed *process = reference ? &session->reference.child.process
                                          : &session->candidate.process;
    return (!reference || sandboxed_ended(process)) && sandboxed_killed(process);
}

int fault_verdict(struct session *session)
{
    struct fault *fault = &session->fault;
    struct ending ending = {0};
    if (fault->source == FAULT_NONE)
        return 0;
    if (fault->err.code == ERR_CRASH)
        ending.killed = was_killed(session, fault->source);
    bool dropped = false;
    if (lacked_memory(session, fault, ending.killed)) {
        bool crowded = memory_was_crowded(session);
        dropped = !crowded && drop_oracle(session);
        session->lease.retry_alone = crowded || dropped;
    }
    find_ending(session, fault, &ending);
    if (ending.status == STATUS_VIOLATION)
        verdict_violation(session->verdict, ending.name, "%s", ending.text);
    else
        verdict_fail(session->verdict, ending.status, ending.name, ending.text, ending.excerpt);
    if (dropped || (fault->source == FAULT_REFERENCE && fault->err.code != ERR_CANCELLED))
        reference_close(&session->reference);
    fault->source = FAULT_NONE;
    return -1;
}

int fault_verdict_of_judge(struct session *session, const struct err *err)
{
    (void)fault_set(&session->fault, FAULT_JUDGE, err);
    return fault_verdict(session);
}
