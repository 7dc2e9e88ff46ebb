#include "judge/open.h"

#include "base/clock.h"
#include "base/log.h"
#include "judge/build/judge_kernels.h"
#include "judge/fault_verdict.h"
#include "judge/open/external.h"
#include "judge/open/torch.h"
#include "judge/session_internal.h"

#define GIB ((double)(1 << 30))

/* The judge's own kernels, before a candidate can have taken the GPU's memory. A native evaluation
 * can do without them. */
static int load_kernels(struct session *session, struct opening *opening)
{
    struct err err = {0};
    opening->work = opening->gpu ? judge_kernels_get(opening->build, opening->unit, &err) : NULL;
    if (opening->work || !opening->gpu || session->job.problem->format != PROBLEM_TORCH)
        return 0;
    if (err.code == ERR_LIMIT && session->lease.wanted == LEASE_ALONE)
        err.code = ERR_IO; /* what the problem takes is not to blame, but another process */
    err_prefix(&err, "PyTorch on a GPU needs the judge's own kernels");
    return fault_set(opening->fault, FAULT_JUDGE, &err);
}

/* While something compiles no device is held. */
static int open_native(struct session *session, struct opening *opening,
                       struct native_backend *backend)
{
    struct native_opening native;
    int64_t start_ns = clock_now_ns();
    int result = native_opening_compile(&native, opening, backend);
    double waited_ms = backend->artifact.waited_ms + session->builds.use.waited_ms;
    session->lease.waited_ms += waited_ms;
    session->verdict->stages_ms[STAGE_COMPILE] = clock_ms_since(start_ns) - waited_ms;
    native_opening_wait(&native);
    result = result == 0 ? session_enter_device(session, SANDBOX_CUDA, true) : result;
    result = result == 0 ? load_kernels(session, opening) : result;
    if (result == 0)
        native_opening_make_reference(&native);
    session_begin_stage(session);
    result = native_opening_load(&native, result);
    session_end_stage(session, STAGE_LOAD);
    native_backend_close(backend);
    return result;
}

static int compile_only(struct session *session, struct opening *opening)
{
    int64_t start_ns = clock_now_ns();
    int result = native_compile_only(opening);
    session->verdict->stages_ms[STAGE_COMPILE] = clock_ms_since(start_ns);
    return result;
}

/* Before anything of a new problem is made: else several large ones are opened at once. */
static void find_sizes(struct session *session, struct opening *opening)
{
    const struct evaluation_job *job = &session->job;
    int64_t start_ns = clock_now_ns();
    if (job->problem->cases_from || session_is_sized(session) || !torch_find_sizes(opening))
        return;
    session_keep_sizes(session);
    log_write(LOG_LEVEL_DEBUG, "judge", "arguments take %.3f GiB, weights %.3f: found in %.0f ms",
              (double)job->argument_bytes / GIB, (double)job->weight_bytes / GIB,
              clock_ms_since(start_ns));
}

/* How much a new problem takes beside that shows only now. The session lets go of what it has, so
 * that nothing is held while it waits for more; on the CPU that is the reference's memory, too. */
static int lease_more(struct session *session, struct opening *opening, bool candidate)
{
    if (session->lease.gpu)
        session_cache_reference(session);
    else
        reference_close(&session->reference);
    session_release_device(session);
    int result = session_enter_device(session, SANDBOX_TORCH_CUDA, candidate);
    return result < 0 ? result : torch_open_reference(opening);
}

/* By the judge's kernels is seen whether its process may be stopped. What fails of them is said
 * once PyTorch is known to have a GPU. */
static int open_torch_reference(struct session *session, struct opening *opening, bool candidate)
{
    struct err ignored;
    if (opening->gpu)
        opening->work = judge_kernels_get(opening->build, opening->unit, &ignored);
    int result = torch_open_reference(opening);
    return result == 0 && session_outgrew_slots(session) ? lease_more(session, opening, candidate)
                                                         : result;
}

static int open_torch(struct session *session, struct opening *opening)
{
    session_begin_stage(session);
    find_sizes(session, opening);
    session_end_stage(session, STAGE_LOAD);
    int result = session_enter_device(session, SANDBOX_TORCH_CUDA, true);
    session_begin_stage(session);
    if (result == 0)
        result = open_torch_reference(session, opening, true);
    if (result == 0)
        result = load_kernels(session, opening);
    if (result == 0)
        result = torch_open_candidate(opening);
    if (result == 0) /* if it compiled something, another session may have taken the reference */
        result = torch_open_reference(opening);
    session_end_stage(session, STAGE_LOAD);
    return result;
}

int open_children(struct session *session)
{
    const struct language *language = session->job.language;
    struct opening opening = session_opening(session);
    struct native_backend backend = language->external ? external_backend(&opening)
                                                       : native_backend;
    int result = language->format == PROBLEM_TORCH ? open_torch(session, &opening)
                 : language->gpu && !opening.gpu   ? compile_only(session, &opening)
                                                   : open_native(session, &opening, &backend);
    session->reference.child.work = session->candidate.work = opening.work;
    (void)fault_verdict(session);
    if (result == 0)
        session->reference.child.lease = session->candidate.lease = &session->lease;
    return result;
}

/* A GPU is entered before it is opened there; on the CPU it is opened beside other sessions. */
static int open_on_device(struct session *session, struct opening *opening)
{
    if (session->job.problem->format == PROBLEM_NATIVE)
        return native_open_reference(opening);
    find_sizes(session, opening);
    int result = opening->gpu ? session_enter_device(session, SANDBOX_TORCH_CUDA, false)
                              : session_take_share(session);
    if (result == 0)
        result = open_torch_reference(session, opening, false);
    if (result == 0)
        result = load_kernels(session, opening);
    session->reference.child.work = opening->work;
    return result;
}

int open_only_reference(struct session *session)
{
    struct opening opening = session_opening(session);
    int result = open_on_device(session, &opening);
    (void)fault_verdict(session);
    if (result == 0 && session->lease.held == LEASE_NONE)
        result = session_lock_device(session);
    if (result == 0)
        session->reference.child.lease = &session->lease;
    return result;
}
