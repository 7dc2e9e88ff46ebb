#include "judge/reference/external.h"

#include "judge/build/scratch.h"
#include "judge/fault.h"
#include "judge/process/external_program.h"
#include "judge/process/start.h"
#include "judge/reference/native.h"
#include "judge/request/external_language.h"
#include "judge/session_internal.h"

#include "base/file.h"
#include "compile/diagnostics.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARTIFACT "artifact"
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

struct external_backend {
    struct backend_ops ops; /* first */
    int built;              /* sealed memory; -1: it is not compiled beforehand */
    const char *name;
};

/* The candidate's own file name if every program can take it. */
static const char *file_name(const struct session *session)
{
    const char *path = session->job.candidate->path;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strspn(name, NAME_CHARACTERS);
    bool plain = length > 0 && name[length] == '\0' && length < LIMIT_NAME_BYTES &&
                 name[0] != '.' && name[0] != '-' && strcmp(name, ARTIFACT) != 0;
    return plain ? name : session->job.language->file;
}

static void make_key(const struct session *session, const char *name, char key[HASH_HEX_BYTES])
{
    struct hash *hash = hash_new();
    hash_update_string(hash, "external");
    hash_update_string(hash, session->job.language->external->hash);
    hash_update_string(hash, session->judge->toolchain.cpu ? session->judge->toolchain.cpu : "");
    hash_update_string(hash, name);
    hash_update(hash, session->job.candidate->text, session->job.candidate->bytes);
    hash_finish(hash, key);
}

static int refuse_source(struct session *session, const char *diagnostics)
{
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(diagnostics, "\n"), diagnostics);
    verdict_fail(session->verdict, STATUS_COMPILE_ERROR, "compile_error", line, diagnostics);
    return -1;
}

/* What it built, or why it did not: into the cache and the verdict. */
static int take_result(struct external_backend *backend, struct session *session,
                       const struct build_scratch *scratch, const struct outcome *outcome,
                       const char key[HASH_HEX_BYTES], struct err *err)
{
    char *bytes = NULL;
    size_t count = 0;
    int fd = outcome->exit_code == 0 && outcome->signal == 0
                 ? build_scratch_result(scratch, ARTIFACT)
                 : -1;
    if (fd >= 0) {
        build_scratch_keep(&session->builds.context, key, fd, "");
        int result = build_scratch_read(fd, LIMIT_ARTIFACT_BYTES, &bytes, &count, err);
        if (result == 0)
            result = backend->built = file_memory_from(ARTIFACT, bytes, count, err);
        mem_free(bytes);
        close(fd);
        return result < 0 ? fault_judge(session, err) : 0;
    }
    struct diagnostics diagnostics;
    struct diagnostics_context context = {.source = backend->name, .scratch = scratch->directory};
    diagnostics_init(&diagnostics, &context, outcome->output.data ? outcome->output.data : "",
                     outcome->output.len);
    char *said = diagnostics_named(diagnostics.text, backend->name);
    if (outcome->exit_code > 0)
        build_scratch_keep(&session->builds.context, key, -1, said);
    int result = refuse_source(session,
                               said[0] ? said : "its compiler refuses it and does not say why");
    mem_free(said);
    diagnostics_deinit(&diagnostics);
    return result;
}

static int run_compiler(struct external_backend *backend, struct session *session,
                        const char key[HASH_HEX_BYTES], struct err *err)
{
    const struct external *external = session->job.language->external;
    const char *argv[LIMIT_LANGUAGE_WORDS + 3];
    size_t count = 0;
    struct build_scratch scratch = {0};
    struct outcome outcome;
    outcome_init(&outcome, LIMIT_DIAGNOSTICS_BYTES);
    while (external->compile[count]) {
        argv[count] = external->compile[count];
        count++;
    }
    argv[count] = backend->name;
    argv[count + 1] = ARTIFACT;
    argv[count + 2] = NULL;
    int result = build_scratch_open(&scratch, &session->builds.context, err);
    if (result == 0)
        result = build_scratch_write(&scratch, backend->name, session->job.candidate->text,
                                     session->job.candidate->bytes, err);
    if (result == 0)
        result = build_scratch_command(&scratch, argv, external->environment, external->readable,
                                       &outcome, err);
    if (result < 0) {
        result = fault_judge(session, err);
    } else if (outcome.timed_out) {
        verdict_fail(session->verdict, STATUS_TIMEOUT, "compile_timeout",
                     "compiling took longer than it may", NULL);
        result = -1;
    } else {
        result = take_result(backend, session, &scratch, &outcome, key, err);
    }
    build_scratch_close(&scratch);
    outcome_deinit(&outcome);
    return result;
}

static int take_cached(struct external_backend *backend, struct session *session,
                       struct cache_entry *entry, struct err *err)
{
    char *bytes = NULL;
    size_t count = 0;
    int result = 0;
    session->verdict->build_cached = true;
    if (entry->ok)
        result = file_read(entry->path, LIMIT_ARTIFACT_BYTES + LIMIT_DIAGNOSTICS_BYTES, &bytes,
                           &count, err);
    if (entry->ok && result == 0)
        result = backend->built = file_memory_from(
            ARTIFACT, bytes, count < entry->object_bytes ? count : entry->object_bytes, err);
    mem_free(bytes);
    if (result < 0)
        return fault_judge(session, err);
    return entry->ok ? 0 : refuse_source(session, entry->diagnostics);
}

static int external_compile(struct backend_ops *self, struct session *session)
{
    struct external_backend *backend = (struct external_backend *)(void *)self;
    char key[HASH_HEX_BYTES];
    struct cache_entry entry = {0};
    struct err err = {0};
    if (!session->job.language->external->compile)
        return 0;
    make_key(session, backend->name, key);
    bool cached = build_scratch_find(&session->builds.context, key, &entry);
    int result = cached ? take_cached(backend, session, &entry, &err)
                        : run_compiler(backend, session, key, &err);
    if (cached) {
        mem_free(entry.path);
        mem_free(entry.diagnostics);
    }
    session->verdict->compiled = result == 0;
    return result;
}

static int external_start(struct backend_ops *self, struct session *session, struct err *err)
{
    struct external_backend *backend = (struct external_backend *)(void *)self;
    const struct external *external = session->job.language->external;
    struct warpgym_child_open open;
    struct child_program program = {.argv = external->run,
                                    .environment = external->environment,
                                    .readable = external->readable,
                                    .open = &open};
    struct wire_open role = {.type = WIRE_OPEN, .role = WIRE_CANDIDATE};
    int descriptors[2] = {-1, backend->built};
    struct child_start child_start = {.message = &role,
                                      .program = &program,
                                      .descriptors = descriptors,
                                      .descriptor_count = backend->built >= 0 ? 2 : 1,
                                      .timeout_ms = session->job.settings->run_load_timeout_ms,
                                      .cancelled = session->job.cancelled,
                                      .kind = CHILD_PROGRAM};
    external_program_open(session->job.problem, backend->name, (uint32_t)session_threads(session),
                          &open);
    int result = descriptors[0] = file_memory_from("source", session->job.candidate->text,
                                                   session->job.candidate->bytes, err);
    if (result < 0)
        return result;
    result = judge_start_child(session->judge, NULL, SANDBOX_PROGRAM, session->job.largest.bytes,
                               &session->candidate, &child_start, NULL, NULL, err);
    close(descriptors[0]);
    session->verdict->compiled |= result == 0;
    return result;
}

int external_open(struct session *session)
{
    struct external_backend backend = {.ops = {external_compile, external_start},
                                       .built = -1,
                                       .name = file_name(session)};
    int result = native_open_with(session, &backend.ops);
    if (backend.built >= 0)
        close(backend.built);
    return result;
}
