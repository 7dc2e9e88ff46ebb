#include "judge/open/external.h"

#include "judge/build/scratch.h"
#include "judge/open/native.h"
#include "judge/process/external_program.h"
#include "judge/request/external_language.h"

#include "base/file.h"
#include "compile/diagnostics.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARTIFACT "artifact"
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* The candidate's own file name if every program can take it. */
static const char *file_name(const struct opening *opening)
{
    const char *path = opening->job->candidate->path;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strspn(name, NAME_CHARACTERS);
    bool plain = length > 0 && name[length] == '\0' && length < LIMIT_NAME_BYTES &&
                 name[0] != '.' && name[0] != '-' && strcmp(name, ARTIFACT) != 0;
    return plain ? name : opening->job->language->file;
}

static void make_key(const struct opening *opening, const char *name, char key[HASH_HEX_BYTES])
{
    struct hash *hash = hash_new();
    hash_update_string(hash, "external");
    hash_update_string(hash, opening->job->language->external->hash);
    hash_update_string(hash,
                       opening->spawner->toolchain->cpu ? opening->spawner->toolchain->cpu : "");
    hash_update_string(hash, name);
    hash_update(hash, opening->job->candidate->text, opening->job->candidate->bytes);
    hash_finish(hash, key);
}

static int refuse_source(struct opening *opening, const char *diagnostics)
{
    verdict_fail_text(opening->verdict, STATUS_COMPILE_ERROR, "compile_error", diagnostics);
    return -1;
}

/* What it built, or why it did not: into the cache and the verdict. */
static int take_result(struct native_backend *backend, struct opening *opening,
                       const struct build_scratch *scratch, const struct outcome *outcome,
                       const char key[HASH_HEX_BYTES], struct err *err)
{
    char *bytes = NULL;
    size_t count = 0;
    int fd = outcome->exit_code == 0 && outcome->signal == 0
                 ? build_scratch_result(scratch, ARTIFACT)
                 : -1;
    if (fd >= 0) {
        build_scratch_keep(opening->build, key, fd, "");
        int result = build_scratch_read(fd, LIMIT_ARTIFACT_BYTES, &bytes, &count, err);
        if (result == 0)
            result = backend->built = file_memory_from(ARTIFACT, bytes, count, err);
        mem_free(bytes);
        close(fd);
        return result < 0 ? fault_set(opening->fault, FAULT_JUDGE, err) : 0;
    }
    struct diagnostics diagnostics;
    struct diagnostics_context context = {.source = backend->name, .scratch = scratch->directory};
    diagnostics_init(&diagnostics, &context, outcome->output.data ? outcome->output.data : "",
                     outcome->output.len);
    char *said = diagnostics_named(diagnostics.text, backend->name);
    if (outcome->exit_code > 0)
        build_scratch_keep(opening->build, key, -1, said);
    int result = refuse_source(opening,
                               said[0] ? said : "its compiler refuses it and does not say why");
    mem_free(said);
    diagnostics_deinit(&diagnostics);
    return result;
}

static int run_compiler(struct native_backend *backend, struct opening *opening,
                        const char key[HASH_HEX_BYTES], struct err *err)
{
    const struct external *external = opening->job->language->external;
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
    int result = build_scratch_open(&scratch, opening->build, err);
    if (result == 0)
        result = build_scratch_write(&scratch, backend->name, opening->job->candidate->text,
                                     opening->job->candidate->bytes, err);
    if (result == 0)
        result = build_scratch_command(&scratch, argv, external->environment, external->readable,
                                       &outcome, err);
    if (result < 0) {
        result = fault_set(opening->fault, FAULT_JUDGE, err);
    } else if (outcome.timed_out) {
        verdict_fail(opening->verdict, STATUS_TIMEOUT, "compile_timeout",
                     "compiling took longer than it may", NULL);
        result = -1;
    } else {
        result = take_result(backend, opening, &scratch, &outcome, key, err);
    }
    build_scratch_close(&scratch);
    outcome_deinit(&outcome);
    return result;
}

static int take_cached(struct native_backend *backend, struct opening *opening,
                       struct cache_entry *entry, struct err *err)
{
    char *bytes = NULL;
    size_t count = 0;
    int result = 0;
    opening->verdict->build_cached = true;
    if (entry->ok)
        result = file_read(entry->path, LIMIT_ARTIFACT_BYTES + LIMIT_DIAGNOSTICS_BYTES, &bytes,
                           &count, err);
    if (entry->ok && result == 0)
        result = backend->built = file_memory_from(
            ARTIFACT, bytes, count < entry->object_bytes ? count : entry->object_bytes, err);
    mem_free(bytes);
    if (result < 0)
        return fault_set(opening->fault, FAULT_JUDGE, err);
    return entry->ok ? 0 : refuse_source(opening, entry->diagnostics);
}

static int external_compile(struct native_backend *backend, struct opening *opening)
{
    char key[HASH_HEX_BYTES];
    struct cache_entry entry = {0};
    struct err err = {0};
    if (!opening->job->language->external->compile)
        return 0;
    make_key(opening, backend->name, key);
    bool cached = build_scratch_find(opening->build, key, &entry);
    int result = cached ? take_cached(backend, opening, &entry, &err)
                        : run_compiler(backend, opening, key, &err);
    if (cached) {
        mem_free(entry.path);
        mem_free(entry.diagnostics);
    }
    opening->verdict->compiled = result == 0;
    return result;
}

static int external_start(struct native_backend *backend, struct opening *opening, struct err *err)
{
    const struct external *external = opening->job->language->external;
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
                                      .limit = time_limit_load(opening->job->settings),
                                      .cancelled = opening->job->cancelled,
                                      .lease = opening->lease,
                                      .kind = CHILD_PROGRAM};
    external_program_open(opening->job->problem, backend->name, opening->threads, &open);
    int result = descriptors[0] = file_memory_from("source", opening->job->candidate->text,
                                                   opening->job->candidate->bytes, err);
    if (result < 0)
        return result;
    result = spawner_start(opening->spawner, NULL, SANDBOX_PROGRAM,
                           OPENING_COPIES * opening->job->largest.bytes, opening->candidate,
                           &child_start, NULL, err);
    close(descriptors[0]);
    opening->verdict->compiled |= result == 0;
    return result;
}

struct native_backend external_backend(const struct opening *opening)
{
    return (struct native_backend){.compile = external_compile,
                                   .open = external_start,
                                   .built = -1,
                                   .name = file_name(opening)};
}
