#include "judge/open/native.h"

#include "base/file.h"
#include "base/log.h"
#include "judge/build/device_only.h"
#include "judge/build/judge_kernels.h"
#include "judge/build/native_build.h"
#include "judge/process/memory_budget.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum compile_kind candidate_kind(const struct opening *opening)
{
    const struct evaluation_job *job = opening->job;
    return job->language->compile == COMPILE_CUDA
               ? device_only_kind(job->problem, job->candidate->text)
               : job->language->compile;
}

static int compile_part(struct native_opening *native, enum compile_kind kind,
                        struct artifact *artifact)
{
    const struct problem *problem = native->opening->job->problem;
    struct err *err = &native->err;
    bool cuda = kind == COMPILE_CUDA || kind == COMPILE_CUBIN;
    int result = 0;
    native->whose = FAULT_REFERENCE;
    if (kind == COMPILE_CUBIN)
        result = device_only_check(problem, problem->cuda_path, problem->cuda_text, err);
    if (result < 0)
        return result;
    native->whose = FAULT_JUDGE;
    result = native_build(native->opening->build, NATIVE_TRUSTED, kind,
                          cuda ? "reference.cu" : "reference.c",
                          cuda ? problem->cuda_text : problem->reference_text,
                          cuda ? problem->cuda_bytes : problem->reference_bytes, artifact, err);
    if (result < 0 || artifact->ok)
        return result;
    native->whose = FAULT_REFERENCE;
    return err_set(err, ERR_INPUT, "%s does not compile: %.*s",
                   cuda ? problem->cuda_path : problem->reference_path,
                   (int)strcspn(artifact->diagnostics, "\n"), artifact->diagnostics);
}

/* The reference, twice: as candidates are compiled, and at double precision, always for the CPU. */
static int compile_reference(struct native_opening *native)
{
    struct opening *opening = native->opening;
    int result = compile_part(native,
                              opening->gpu ? device_only_kind(opening->job->problem,
                                                              opening->job->problem->cuda_text)
                                           : COMPILE_C,
                              &opening->reference->artifact);
    if (result == 0 && opening->job->problem->oracle)
        result = compile_part(native, COMPILE_C_DOUBLE, &opening->reference->oracle_artifact);
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
static int open_child(struct opening *opening, struct child *child, uint32_t role,
                      const char *source, const struct artifact *artifact,
                      const struct artifact *oracle, struct err *err)
{
    bool device = opening->gpu && device_only(opening->job->problem, source);
    uint32_t count = 0;
    struct wire_open open = {.type = WIRE_OPEN, .role = role, .threads = opening->threads};
    open.gpu = spawner_wire_gpu(opening->spawner, opening->gpu ? &opening->gpu->facts : NULL);
    int descriptors[3] = {-1, -1, -1};
    struct child_start start = {.message = &open,
                                .descriptors = descriptors,
                                .limit = time_limit_load(opening->job->settings),
                                .cancelled = opening->job->cancelled,
                                .gpu = opening->gpu,
                                .work = opening->work,
                                .lease = role == WIRE_CANDIDATE ? opening->lease : NULL,
                                .kind = CHILD_NATIVE};
    int result = descriptors[count++] = artifact_memory(artifact, err);
    if (result >= 0 && oracle)
        result = descriptors[count++] = artifact_memory(oracle, err);
    if (result >= 0 && device) {
        open.launch = count;
        result = descriptors[count++] = device_only_lines(opening->job->problem, source, err);
    }
    start.descriptor_count = count;
    if (result >= 0)
        start.process = spawner_take_reserved(opening->reserve);
    if (result >= 0)
        result = spawner_start(opening->spawner, opening->unit,
                               opening->gpu ? SANDBOX_CUDA : SANDBOX_NATIVE,
                               OPENING_COPIES * opening->job->largest.bytes, child, &start, NULL,
                               err);
    for (int i = 0; i < 3; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    return result < 0 ? result : 0;
}

static int open_reference(struct native_opening *native)
{
    struct opening *opening = native->opening;
    struct err *err = &native->err;
    const struct artifact *oracle = opening->job->problem->oracle
                                        ? &opening->reference->oracle_artifact
                                        : NULL;
    native->whose = FAULT_REFERENCE;
    opening->reference->open = true;
    opening->reference->oracle = oracle != NULL;
    const struct problem *problem = opening->job->problem;
    int result = open_child(opening, &opening->reference->child, WIRE_REFERENCE,
                            opening->gpu ? problem->cuda_text : problem->reference_text,
                            &opening->reference->artifact, oracle, err);
    if (result == 0)
        result = child_map(&opening->reference->child, &opening->job->largest,
                           &opening->job->largest, 1, oracle,
                           time_limit_load(opening->job->settings), err);
    if (result == 0)
        result = sandboxed_freeze(&opening->reference->child.process, err);
    if (result == 0)
        memcpy(opening->reference->hash, opening->job->reference_hash,
               sizeof opening->reference->hash);
    return result;
}

static void prepare_slot(struct native_opening *native)
{
    if (!atomic_exchange(&native->slot_begun, true))
        native->slot_result = shared_make(&native->slot, "slot",
                                          native->opening->job->largest.bytes,
                                          !native->opening->gpu, &native->slot_err);
}

static int make_reference(struct native_opening *native)
{
    struct opening *opening = native->opening;
    if (opening_has_reference(opening))
        return 0;
    if (opening->reference->open) /* it has died */
        reference_close(opening->reference);
    int result = opening->reference->artifact.ok ? 0 : compile_reference(native);
    return result < 0 ? result : open_reference(native);
}

/* On a GPU the reference is opened after the candidate was compiled: until then other sessions may
 * use the cached one. Here only the build cache is filled. */
static int prepare_reference(struct native_opening *native)
{
    struct opening *opening = native->opening;
    if (!opening->gpu)
        return make_reference(native);
    if (reference_cache_has(opening->references, opening->job->problem->hash, opening->gpu))
        return 0;
    native->whose = FAULT_MEMORY;
    int result = memory_budget_check(opening->gpu, opening->job->problem->id,
                                     opening->job->largest.bytes, 0, &native->err);
    return result < 0 ? result : compile_reference(native);
}

static void *prepare_in_thread(void *argument)
{
    struct native_opening *native = argument;
    const char *before = log_set_job(native->job);
    native->result = prepare_reference(native);
    prepare_slot(native);
    log_set_job(before);
    return NULL;
}

static int compile_candidate(struct opening *opening, struct artifact *artifact)
{
    struct verdict *verdict = opening->verdict;
    const struct candidate *text = opening->job->candidate;
    struct err err = {0};
    const char *slash = strrchr(text->path, '/');
    const char *name = slash ? slash + 1 : text->path;
    enum compile_kind kind = candidate_kind(opening);
    if (kind == COMPILE_CUBIN &&
        device_only_check(opening->job->problem, name, text->text, &err) < 0) {
        verdict_fail(verdict, STATUS_COMPILE_ERROR, "launch_line", err.text, err.text);
        return -1;
    }
    if (native_build(opening->build, NATIVE_CANDIDATE, kind, name, text->text, text->bytes,
                     artifact, &err) < 0) {
        if (compile_needs_cc(kind) || err.code != ERR_MISSING)
            return fault_set(opening->fault, FAULT_JUDGE, &err);
        verdict_fail(verdict, STATUS_UNSUPPORTED, "unsupported", err.text, NULL);
        return -1;
    }
    verdict->build_cached = artifact->cached;
    if (!artifact->ok) {
        if (artifact->timed_out)
            verdict_fail(verdict, STATUS_TIMEOUT, "compile_timeout",
                         "compiling took longer than it may", artifact->diagnostics);
        else
            verdict_fail_text(verdict, STATUS_COMPILE_ERROR, "compile_error",
                              artifact->diagnostics);
        return -1;
    }
    verdict->compiled = true;
    return 0;
}

int native_compile_only(struct opening *opening)
{
    struct artifact artifact = {0};
    char text[ERR_TEXT_MAX + 64];
    struct verdict *verdict = opening->verdict;
    struct err ignored;
    bool compiler = toolchain_has(opening->spawner->toolchain, candidate_kind(opening), &ignored) ==
                    0;
    int result = compiler ? compile_candidate(opening, &artifact) : 0;
    artifact_deinit(&artifact);
    if (result < 0)
        return result;
    snprintf(text, sizeof text, "%sCUDA cannot run here: %s", compiler ? "it compiles, but " : "",
             opening->no_gpu->text);
    verdict_fail(verdict, STATUS_UNSUPPORTED, "unsupported", text, NULL);
    return -1;
}

int native_open_reference(struct opening *opening)
{
    struct native_opening native = {.opening = opening};
    return make_reference(&native) < 0 ? fault_set(opening->fault, native.whose, &native.err) : 0;
}

int native_opening_compile(struct native_opening *native, struct opening *opening,
                           struct native_backend *backend)
{
    *native = (struct native_opening){.opening = opening, .backend = backend, .job = log_job()};
    native->threaded = pthread_create(&native->thread, NULL, prepare_in_thread, native) == 0;
    if (!native->threaded)
        prepare_in_thread(native);
    return backend->compile(backend, opening);
}

void native_opening_wait(struct native_opening *native)
{
    if (native->threaded)
        pthread_join(native->thread, NULL);
    native->threaded = false;
}

void native_opening_make_reference(struct native_opening *native)
{
    if (native->result == 0)
        native->result = make_reference(native);
}

int native_opening_load(struct native_opening *native, int result)
{
    struct opening *opening = native->opening;
    struct err err = {0};
    if (result == 0 && native->backend->open(native->backend, opening, &err) < 0)
        result = fault_set(opening->fault, FAULT_CANDIDATE, &err);
    if (opening->unit)
        (void)judge_kernels_get(opening->build, opening->unit, &err);
    prepare_slot(native);
    native_opening_wait(native);
    if (native->result < 0 && result == 0)
        result = fault_set(opening->fault, native->whose, &native->err);
    else if (native->result < 0)
        reference_close(opening->reference); /* the verdict has the candidate's own end */
    if (result == 0 && native->slot_result < 0)
        result = fault_set(opening->fault, FAULT_JUDGE, &native->slot_err);
    if (result == 0)
        opening->candidate->slot = native->slot;
    else
        shared_free(&native->slot);
    return result;
}

static int native_compile_own(struct native_backend *backend, struct opening *opening)
{
    return compile_candidate(opening, &backend->artifact);
}

static int native_open_own(struct native_backend *backend, struct opening *opening, struct err *err)
{
    return open_child(opening, opening->candidate, WIRE_CANDIDATE, opening->job->candidate->text,
                      &backend->artifact, NULL, err);
}

const struct native_backend native_backend = {.compile = native_compile_own,
                                              .open = native_open_own,
                                              .built = -1};

void native_backend_close(struct native_backend *backend)
{
    artifact_deinit(&backend->artifact);
    if (backend->built >= 0)
        close(backend->built);
}
