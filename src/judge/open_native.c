/* open_native: from a C source to two sides with loaded shared objects. */
#include "judge/context.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
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

static int compile(struct session *session, enum compile_kind kind, const char *name,
                   const char *text, size_t bytes, struct artifact *artifact, struct err *err)
{
    const struct settings *settings = session->judge->options.settings;
    struct compile_request request = {.kind = kind,
                                      .name = name,
                                      .text = text,
                                      .text_bytes = bytes,
                                      .timeout_ms = settings->compile_timeout_ms,
                                      .memory_bytes = settings->compile_memory_bytes,
                                      .cache_max_bytes = settings->cache_max_bytes};
    const char *cache = settings->cache_max_bytes ? session->judge->cache : NULL;
    int result = compile_source(&session->judge->toolchain, &session->runner.runner, cache,
                                &request, artifact, err);
    if (result == 0 && artifact->cache_problem)
        log_write(LOG_LEVEL_WARN, "compile", "the build is not kept: %s", artifact->cache_problem);
    return result;
}

/* The reference, twice: as candidates are compiled, and at double precision. */
static int compile_reference(struct session *session)
{
    const struct problem *problem = session->problem;
    struct err err = {0};
    if (compile(session, COMPILE_C, "reference.c", problem->reference_text,
                problem->reference_bytes, &session->reference_artifact, &err) < 0)
        return fault_judge(session, &err);
    struct artifact *bad = session->reference_artifact.ok ? NULL : &session->reference_artifact;
    if (!bad && problem->oracle) {
        if (compile(session, COMPILE_C_DOUBLE, "reference.c", problem->reference_text,
                    problem->reference_bytes, &session->oracle_artifact, &err) < 0)
            return fault_judge(session, &err);
        if (!session->oracle_artifact.ok)
            bad = &session->oracle_artifact;
    }
    if (bad) {
        err_set(&err, ERR_INPUT, "%s does not compile: %.*s", problem->reference_path,
                (int)strcspn(bad->diagnostics, "\n"), bad->diagnostics);
        return fault_reference(session, &err);
    }
    return 0;
}

/* The bytes of an artifact as sealed memory: nobody can change them while they are loaded. */
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

static int open_side(struct session *session, struct side *side, uint32_t role,
                     const struct artifact *artifact, const struct artifact *oracle,
                     struct err *err)
{
    struct wire_open open = {.type = WIRE_OPEN,
                             .role = role,
                             .threads = (uint32_t)session_threads(session)};
    int descriptors[2] = {-1, -1};
    struct side_start start = {.message = &open,
                               .descriptors = descriptors,
                               .descriptor_count = oracle ? 2 : 1};
    int result = descriptors[0] = artifact_memory(artifact, err);
    if (result >= 0 && oracle)
        result = descriptors[1] = artifact_memory(oracle, err);
    if (result >= 0)
        result = judge_start(session->judge, BOX_NATIVE, session->largest.bytes, side, &start, NULL,
                             NULL, err);
    side->slot_outputs = true;
    for (int i = 0; i < 2; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    return result < 0 ? result : 0;
}

static int open_reference(struct session *session)
{
    struct err err = {0};
    const struct artifact *oracle = session->problem->oracle ? &session->oracle_artifact : NULL;
    session->reference_open = true;
    session->reference_oracle = oracle != NULL;
    if (open_side(session, &session->reference, WIRE_REFERENCE, &session->reference_artifact,
                  oracle, &err) < 0)
        return fault_reference(session, &err);
    memcpy(session->problem_hash, session->problem->hash, sizeof session->problem_hash);
    return 0;
}

static int compile_candidate(struct session *session, struct artifact *artifact)
{
    struct verdict *verdict = session->verdict;
    struct err err = {0};
    const char *slash = strrchr(session->text->path, '/');
    bool cuda = strcmp(verdict->candidate_language, "cuda") == 0;
    if (cuda && !session->judge->toolchain.nvcc) {
        verdict_fail(verdict, STATUS_UNSUPPORTED, "unsupported",
                     "CUDA candidates need a GPU, and this machine has neither one nor nvcc to "
                     "compile it",
                     NULL);
        return -1;
    }
    if (compile(session, cuda ? COMPILE_CUDA : COMPILE_C, slash ? slash + 1 : session->text->path,
                session->text->text, session->text->bytes, artifact, &err) < 0)
        return fault_judge(session, &err);
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
    if (cuda) {
        verdict_fail(verdict, STATUS_UNSUPPORTED, "unsupported",
                     "it compiles, but running CUDA needs a GPU, and this machine has none", NULL);
        return -1;
    }
    return 0;
}

int native_reference(struct session *session)
{
    if (reference_ready(session))
        return 0;
    reference_forget(session);
    find_largest(session->problem, &session->largest);
    return compile_reference(session) < 0 ? -1 : open_reference(session);
}

int open_native(struct session *session)
{
    struct verdict *verdict = session->verdict;
    struct artifact artifact = {0};
    struct err err = {0};
    int64_t start_ns = clock_now_ns();
    find_largest(session->problem, &session->largest);
    int result = compile_candidate(session, &artifact);
    verdict->stages_ms[STAGE_COMPILE] = clock_ms_since(start_ns);
    start_ns = clock_now_ns();
    if (result == 0)
        result = native_reference(session);
    if (result == 0 &&
        open_side(session, &session->candidate, WIRE_CANDIDATE, &artifact, NULL, &err) < 0)
        result = fault_candidate(session, &err);
    verdict->stages_ms[STAGE_LOAD] = clock_ms_since(start_ns);
    artifact_deinit(&artifact);
    return result;
}
