#include "judge/reference/native.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "judge/build/device_code.h"
#include "judge/build/native_build.h"
#include "judge/build/own_kernels.h"
#include "judge/fault.h"
#include "judge/gpu/memory_budget.h"
#include "judge/process/start.h"
#include "judge/reference/session_reference.h"
#include "judge/session_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The largest layout that this problem will map. */
static void find_largest(const struct problem *problem, struct layout *largest)
{
    struct layout layout;
    struct err ignored;
    *largest = (struct layout){0};
    for (uint32_t i = 0; i < problem->check_count + problem->time_count; i++) {
        const struct size_set *sizes = i < problem->check_count
                                           ? &problem->check[i]
                                           : &problem->time[i - problem->check_count];
        if (problem_layout(problem, sizes, &layout, &ignored) == 0 && layout.bytes > largest->bytes)
            *largest = layout;
    }
}

/* A reference in the making. Its thread writes nothing of the session but `reference`; the judging
 * thread writes the verdict, after that thread has ended. */
struct preparation {
    struct session *session;
    const char *job; /* in the log */
    pthread_t thread;
    bool threaded; /* `thread` is to be joined */
    int result;
    struct err err;
    int (*fault)(struct session *session, const struct err *err); /* whose it is */
    _Atomic bool slot_begun; /* by the thread that has nothing else to do */
    struct shared slot;      /* of the candidate */
    int slot_result;
    struct err slot_err;
};

/* A CUDA source may be device code alone. */
static enum compile_kind kind_of(const struct session *session, enum compile_kind kind,
                                 const char *text)
{
    bool device = kind == COMPILE_CUDA && device_only(session->job.problem, text);
    return device ? COMPILE_CUBIN : kind;
}

static int compile_part(struct preparation *preparation, enum compile_kind kind,
                        struct artifact *artifact)
{
    const struct problem *problem = preparation->session->job.problem;
    struct err *err = &preparation->err;
    bool cuda = kind == COMPILE_CUDA || kind == COMPILE_CUBIN;
    int result = 0;
    preparation->fault = fault_reference;
    if (kind == COMPILE_CUBIN)
        result = device_check(problem, problem->cuda_path, problem->cuda_text, err);
    if (result < 0)
        return result;
    preparation->fault = fault_judge;
    result = native_build(&preparation->session->builds.context, kind,
                          cuda ? "reference.cu" : "reference.c",
                          cuda ? problem->cuda_text : problem->reference_text,
                          cuda ? problem->cuda_bytes : problem->reference_bytes, artifact, err);
    if (result < 0 || artifact->ok)
        return result;
    preparation->fault = fault_reference;
    return err_set(err, ERR_INPUT, "%s does not compile: %.*s",
                   cuda ? problem->cuda_path : problem->reference_path,
                   (int)strcspn(artifact->diagnostics, "\n"), artifact->diagnostics);
}

/* The reference, twice: as candidates are compiled, and at double precision, always for the CPU. */
static int compile_reference(struct preparation *preparation)
{
    struct session *session = preparation->session;
    int result = compile_part(preparation,
                              session->lease.gpu
                                  ? kind_of(session, COMPILE_CUDA, session->job.problem->cuda_text)
                                  : COMPILE_C,
                              &session->reference.artifact);
    if (result == 0 && session->job.problem->oracle)
        result = compile_part(preparation, COMPILE_C_DOUBLE, &session->reference.oracle_artifact);
    return result;
}

/* The bytes of an artifact as sealed memory: they cannot change while they are loaded. */
static int artifact_memory(const struct artifact *artifact, struct err *err)
{
    char *bytes;
    size_t count;
    int result = file_read(artifact->path, LIMIT_ARTIFACT_BYTES + LIMIT_DIAGNOSTICS_BYTES, &bytes,
                           &count, err);
    if (result < 0)
        return result;
    result = file_memory_from("artifact", bytes, count, err);
    mem_free(bytes);
    return result;
}

/* `source` is the text of the artifact. */
static int open_child(struct session *session, struct child *child, uint32_t role,
                      const char *source, const struct artifact *artifact,
                      const struct artifact *oracle, struct err *err)
{
    bool device = session->lease.gpu && device_only(session->job.problem, source);
    uint32_t count = 0;
    struct wire_open open = {.type = WIRE_OPEN,
                             .role = role,
                             .threads = (uint32_t)session_threads(session)};
    open.gpu = judge_wire_gpu(session->judge,
                              session->lease.gpu ? &session->lease.gpu->facts : NULL);
    int descriptors[3] = {-1, -1, -1};
    struct child_start start = {.message = &open,
                                .descriptors = descriptors,
                                .timeout_ms = session->job.settings->run_load_timeout_ms,
                                .cancelled = session->job.cancelled,
                                .gpu = session->lease.gpu,
                                .kind = CHILD_NATIVE};
    int result = descriptors[count++] = artifact_memory(artifact, err);
    if (result >= 0 && oracle)
        result = descriptors[count++] = artifact_memory(oracle, err);
    if (result >= 0 && device) {
        open.launch = count;
        result = descriptors[count++] = device_lines(session->job.problem, source, err);
    }
    start.descriptor_count = count;
    if (result >= 0)
        start.process = device_lease_next_process(&session->lease);
    if (result >= 0)
        result = judge_start_child(session->judge, session->lease.unit,
                                   session->lease.gpu ? SANDBOX_CUDA : SANDBOX_NATIVE,
                                   session->job.largest.bytes, child, &start, NULL, NULL, err);
    for (int i = 0; i < 3; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    return result < 0 ? result : 0;
}

static int open_reference(struct preparation *preparation)
{
    struct session *session = preparation->session;
    struct err *err = &preparation->err;
    const struct artifact *oracle = session->job.problem->oracle
                                        ? &session->reference.oracle_artifact
                                        : NULL;
    preparation->fault = fault_reference;
    session->reference.open = true;
    session->reference.oracle = oracle != NULL;
    const struct problem *problem = session->job.problem;
    int result = open_child(session, &session->reference.child, WIRE_REFERENCE,
                            session->lease.gpu ? problem->cuda_text : problem->reference_text,
                            &session->reference.artifact, oracle, err);
    if (result == 0)
        result = child_map(&session->reference.child, &session->job.largest, &session->job.largest,
                           1, oracle, session->job.settings->run_load_timeout_ms, err);
    if (result == 0)
        result = sandboxed_freeze(&session->reference.child.process, err);
    if (result == 0)
        memcpy(session->reference.hash, session->job.reference_hash,
               sizeof session->reference.hash);
    return result;
}

static void prepare_slot(struct preparation *preparation)
{
    if (!atomic_exchange(&preparation->slot_begun, true))
        preparation->slot_result = shared_make(&preparation->slot, "slot",
                                               preparation->session->job.largest.bytes,
                                               !preparation->session->lease.gpu,
                                               &preparation->slot_err);
}

static int make_reference(struct preparation *preparation)
{
    struct session *session = preparation->session;
    if (session_reference_ready(session))
        return 0;
    if (session->reference.open) /* it has died */
        reference_close(&session->reference);
    int result = session->reference.artifact.ok ? 0 : compile_reference(preparation);
    return result < 0 ? result : open_reference(preparation);
}

/* On a GPU the reference is opened after the candidate was compiled: until then other sessions may
 * use the cached one. Here only the build cache is filled. */
static int prepare_reference(struct preparation *preparation)
{
    struct session *session = preparation->session;
    if (!session->lease.gpu)
        return make_reference(preparation);
    if (reference_cache_has(&session->judge->references, session->job.problem->hash,
                            session->lease.gpu))
        return 0;
    preparation->fault = fault_gpu_memory;
    int result = memory_budget_check(session->lease.gpu, session->job.problem->id,
                                     session->job.largest.bytes, &preparation->err);
    return result < 0 ? result : compile_reference(preparation);
}

static void *prepare_in_thread(void *argument)
{
    struct preparation *preparation = argument;
    const char *before = log_set_job(preparation->job);
    preparation->result = prepare_reference(preparation);
    prepare_slot(preparation);
    log_set_job(before);
    return NULL;
}

/* Begins to prepare it, or does it here and now if no thread can be started. */
static void prepare_begin(struct preparation *preparation, struct session *session)
{
    *preparation = (struct preparation){.session = session, .job = log_job()};
    find_largest(session->job.problem, &session->job.largest);
    preparation->threaded = pthread_create(&preparation->thread, NULL, prepare_in_thread,
                                           preparation) == 0;
    if (!preparation->threaded)
        prepare_in_thread(preparation);
}

static int prepare_end(struct preparation *preparation)
{
    if (preparation->threaded)
        pthread_join(preparation->thread, NULL);
    preparation->threaded = false;
    return preparation->result;
}

static int compile_candidate(struct session *session, struct artifact *artifact)
{
    struct verdict *verdict = session->verdict;
    const struct candidate *text = session->job.candidate;
    struct err err = {0};
    const char *slash = strrchr(text->path, '/');
    const char *name = slash ? slash + 1 : text->path;
    enum compile_kind kind = kind_of(session, session->job.language->compile, text->text);
    if (kind == COMPILE_CUBIN && device_check(session->job.problem, name, text->text, &err) < 0) {
        verdict_fail(verdict, STATUS_COMPILE_ERROR, "launch_line", err.text, err.text);
        return -1;
    }
    if (native_build(&session->builds.context, kind, name, text->text, text->bytes, artifact,
                     &err) < 0) {
        if (kind != COMPILE_CPP || err.code != ERR_MISSING)
            return fault_judge(session, &err);
        verdict_fail(verdict, STATUS_UNSUPPORTED, "unsupported", err.text, NULL);
        return -1;
    }
    verdict->build_cached = artifact->cached;
    if (!artifact->ok) {
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(artifact->diagnostics, "\n"),
                 artifact->diagnostics);
        verdict_fail(verdict, artifact->timed_out ? STATUS_TIMEOUT : STATUS_COMPILE_ERROR,
                     artifact->timed_out ? "compile_timeout" : "compile_error",
                     artifact->timed_out ? "compiling took longer than it may" : line,
                     artifact->diagnostics);
        return -1;
    }
    verdict->compiled = true;
    return 0;
}

/* A CUDA candidate where it cannot run: is it at least well formed? */
static int compile_only(struct session *session)
{
    struct artifact artifact = {0};
    char text[ERR_TEXT_MAX + 64];
    struct verdict *verdict = session->verdict;
    struct err ignored;
    bool compiler = device_compiler(session->judge,
                                    device_only(session->job.problem, session->job.candidate->text),
                                    &ignored) == 0;
    int64_t start_ns = clock_now_ns();
    int result = compiler ? compile_candidate(session, &artifact) : 0;
    verdict->stages_ms[STAGE_COMPILE] = clock_ms_since(start_ns);
    artifact_deinit(&artifact);
    if (result < 0)
        return result;
    snprintf(text, sizeof text, "%sCUDA cannot run here: %s", compiler ? "it compiles, but " : "",
             session->lease.no_gpu.text);
    verdict_fail(verdict, STATUS_UNSUPPORTED, "unsupported", text, NULL);
    return -1;
}

int native_open_reference(struct session *session)
{
    struct preparation preparation = {.session = session};
    find_largest(session->job.problem, &session->job.largest);
    return make_reference(&preparation) < 0 ? preparation.fault(session, &preparation.err) : 0;
}

int native_open_with(struct session *session, struct backend_ops *backend)
{
    struct verdict *verdict = session->verdict;
    struct preparation preparation;
    struct err err = {0};
    int64_t start_ns = clock_now_ns();
    prepare_begin(&preparation, session);
    int result = backend->compile(backend, session);
    verdict->stages_ms[STAGE_COMPILE] = clock_ms_since(start_ns);
    if (session->lease.gpu) {
        (void)!prepare_end(&preparation);
        result = result == 0 ? session_enter_device(session, SANDBOX_CUDA) : result;
        if (result == 0 && preparation.result == 0)
            preparation.result = make_reference(&preparation);
    }
    start_ns = clock_now_ns();
    if (result == 0 && backend->open(backend, session, &err) < 0)
        result = fault_candidate(session, &err);
    (void)own_kernels_get(&session->builds.context, session->lease.unit);
    prepare_slot(&preparation);
    if (prepare_end(&preparation) < 0 && result == 0)
        result = preparation.fault(session, &preparation.err);
    else if (preparation.result < 0)
        reference_close(&session->reference); /* the verdict has the candidate's own end */
    if (result == 0 && preparation.slot_result < 0)
        result = fault_judge(session, &preparation.slot_err);
    if (result == 0)
        session->candidate.slot = preparation.slot;
    else
        shared_free(&preparation.slot);
    verdict->stages_ms[STAGE_LOAD] = clock_ms_since(start_ns);
    return result;
}

/* Languages with a compile kind. */
struct native_backend {
    struct backend_ops ops; /* first */
    struct artifact artifact;
};

static int native_compile(struct backend_ops *self, struct session *session)
{
    struct native_backend *backend = (struct native_backend *)(void *)self;
    return compile_candidate(session, &backend->artifact);
}

static int native_start(struct backend_ops *self, struct session *session, struct err *err)
{
    struct native_backend *backend = (struct native_backend *)(void *)self;
    return open_child(session, &session->candidate, WIRE_CANDIDATE, session->job.candidate->text,
                      &backend->artifact, NULL, err);
}

int native_open(struct session *session)
{
    struct native_backend backend = {.ops = {native_compile, native_start}};
    if (session->job.language->gpu && !session->lease.gpu)
        return compile_only(session);
    int result = native_open_with(session, &backend.ops);
    artifact_deinit(&backend.artifact);
    return result;
}
