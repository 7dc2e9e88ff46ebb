#include "judge/extension.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "compile/cache.h"
#include "judge/context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUERY_TIMEOUT_MS 20000
#define OUTPUT_BYTES ((size_t)1 << 20)

/* Where PyTorch's headers and libraries are, as the Python of the standby server says. */
struct place {
    char *packages, *include, *version;
};

static void place_deinit(struct place *place)
{
    mem_free(place->packages);
    mem_free(place->include);
    mem_free(place->version);
}

/* Asks Python once for each judge: 60 ms. */
static int ask_place(struct judge *judge, struct err *err)
{
    static const char query[] =
        "import sysconfig, importlib.metadata as m\n"
        "p = sysconfig.get_paths()\n"
        "print(p['purelib'], p['include'], m.version('torch'), sep='\\n')\n";
    const char *argv[] = {judge->python, "-I", "-c", query, NULL};
    struct command command = {.argv = argv, .directory = "/", .timeout_ms = QUERY_TIMEOUT_MS};
    struct outcome outcome;
    outcome_init(&outcome, OUTPUT_BYTES);
    int result = process_runner.run(&process_runner, &command, &outcome, err);
    if (result == 0 && outcome.exit_code != 0)
        result = err_set(err, ERR_MISSING, "%s does not say where PyTorch is", judge->python);
    if (result == 0)
        judge->torch_place = mem_strdup(outcome.output.data);
    outcome_deinit(&outcome);
    return result;
}

static int find_place(struct judge *judge, struct place *place, struct err *err)
{
    char **lines[] = {&place->packages, &place->include, &place->version};
    pthread_mutex_lock(&judge->lock);
    int result = judge->torch_place ? 0 : ask_place(judge, err);
    pthread_mutex_unlock(&judge->lock);
    const char *at = judge->torch_place;
    for (size_t i = 0; result == 0 && i < sizeof lines / sizeof *lines; i++) {
        size_t length = strcspn(at, "\n");
        *lines[i] = mem_printf("%.*s", (int)length, at);
        at += length + (at[length] != '\0');
    }
    return result;
}

/* Names become file names and macro values: letters, digits, underscores. */
static bool plain_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_");
    return length > 0 && length < 100 && name[length] == '\0';
}

static void make_key(const struct judge *judge, const struct place *place, const char *name,
                     const char *source, char key[HASH_HEX_BYTES])
{
    struct hash *hash = hash_new();
    hash_update_string(hash, "torch extension 1");
    hash_update_string(hash, judge->toolchain.cc_version);
    hash_update_string(hash, judge->toolchain.cpu);
    hash_update_string(hash, place->version);
    hash_update_string(hash, place->packages);
    hash_update_string(hash, name);
    hash_update_string(hash, source);
    hash_finish(hash, key);
}

struct build {
    const struct place *place;
    const char *compiler, *name;
    char *scratch;
};

static int run_compiler(struct builds *builds, const struct build *build, struct outcome *outcome,
                        struct err *err)
{
    struct session *session = builds->session;
    const struct settings *settings = session->judge->options.settings;
    struct arena arena = {0};
    const char *packages = build->place->packages;
    const char *argv[] = {build->compiler,
                          "-std=c++20",
                          "-O3",
                          "-march=native",
                          "-fopenmp",
                          "-fPIC",
                          "-shared",
                          "-fno-diagnostics-color",
                          "-w",
                          "-D_GLIBCXX_USE_CXX11_ABI=1",
                          "-DTORCH_API_INCLUDE_EXTENSION_H",
                          arena_printf(&arena, "-DTORCH_EXTENSION_NAME=%s", build->name),
                          arena_printf(&arena, "-I%s/torch/include", packages),
                          arena_printf(&arena, "-I%s/torch/include/torch/csrc/api/include",
                                       packages),
                          arena_printf(&arena, "-I%s", build->place->include),
                          "-o",
                          "extension.so",
                          "extension.cpp",
                          arena_printf(&arena, "-L%s/torch/lib", packages),
                          "-ltorch",
                          "-ltorch_cpu",
                          "-ltorch_python",
                          "-lc10",
                          NULL};
    const char *readable[64];
    size_t count = 0;
    for (char **path = session->judge->toolchain.readable; path && *path && count < 56; path++)
        readable[count++] = *path;
    readable[count++] = arena_printf(&arena, "%s/torch/include", packages);
    readable[count++] = arena_printf(&arena, "%s/torch/lib", packages);
    readable[count++] = build->place->include;
    readable[count] = NULL;
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
    struct command command = {.argv = argv,
                              .environment = environment,
                              .directory = build->scratch,
                              .readable = readable,
                              .timeout_ms = settings->run_load_timeout_ms,
                              .memory_bytes = settings->compile_memory_bytes * 2,
                              .file_bytes = LIMIT_ARTIFACT_BYTES};
    int result = session->runner.runner.run(&session->runner.runner, &command, outcome, err);
    arena_deinit(&arena);
    return result;
}

/* The object in scratch, opened so that a link planted there is not followed. */
static int open_object(const char *scratch)
{
    struct stat facts;
    char *path = mem_printf("%s/extension.so", scratch);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    mem_free(path);
    if (fd >= 0 && (fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode) ||
                    (uint64_t)facts.st_size > LIMIT_ARTIFACT_BYTES)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The bytes of a file as sealed memory. */
static int memory_of(int fd, struct err *err)
{
    char *bytes;
    size_t count;
    int result = file_read_fd(fd, "the extension", LIMIT_ARTIFACT_BYTES + OUTPUT_BYTES, &bytes,
                              &count, err);
    if (result < 0)
        return result;
    result = file_memory_from("extension", bytes, count, err);
    mem_free(bytes);
    return result;
}

/* What the compiler left: the object as memory, or why there is none. Kept where it may be. */
static int take_object(struct judge *judge, const struct build *build, const char *key,
                       const struct outcome *outcome, struct err *err)
{
    struct err ignored;
    char *kept = NULL;
    int object = outcome->exit_code == 0 ? open_object(build->scratch) : -1;
    bool certain = object >= 0 || outcome->exit_code > 0; /* a signal may not come again */
    if (judge->cache && certain &&
        cache_put(judge->cache, key, object, object >= 0 ? "" : outcome->output.data, &kept,
                  &ignored) == 0)
        mem_free(kept);
    if (object < 0)
        return err_set(err, ERR_INPUT, "%.700s",
                       outcome->output.len ? outcome->output.data : "the compiler was killed");
    lseek(object, 0, SEEK_SET);
    int result = memory_of(object, err);
    close(object);
    return result;
}

static int compile(struct builds *builds, const struct place *place, const char *name,
                   const char *source, const char *key, struct err *err)
{
    struct build build = {.place = place, .compiler = "/usr/bin/g++", .name = name};
    struct outcome outcome;
    if (!file_exists(build.compiler))
        return err_set(err, ERR_MISSING, "a C++ extension needs %s, which is not there",
                       build.compiler);
    build.scratch = mem_strdup("/tmp/warpgym-ext-XXXXXX");
    outcome_init(&outcome, OUTPUT_BYTES);
    int result = mkdtemp(build.scratch) ? 0
                                        : err_sys(err, errno, "%s: cannot create", build.scratch);
    char *path = mem_printf("%s/extension.cpp", build.scratch);
    if (result == 0)
        result = file_write_atomic(path, source, strlen(source), 0644, err);
    if (result == 0)
        result = run_compiler(builds, &build, &outcome, err);
    if (result == 0 && outcome.timed_out)
        result = err_set(err, ERR_TIMEOUT, "compiling the extension took longer than it may");
    if (result == 0)
        result = take_object(builds->session->judge, &build, key, &outcome, err);
    mem_free(path);
    outcome_deinit(&outcome);
    file_remove_tree(build.scratch);
    mem_free(build.scratch);
    return result;
}

static int from_cache(const struct cache_entry *entry, struct err *err)
{
    if (!entry->ok)
        return err_set(err, ERR_INPUT, "%.700s", entry->diagnostics);
    int fd = open(entry->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "%s: cannot open", entry->path);
    int result = memory_of(fd, err);
    close(fd);
    return result;
}

/* Sealed memory with the shared object, or negative. */
static int build_source(struct builds *builds, const char *name, const char *source,
                        struct err *err)
{
    struct judge *judge = builds->session->judge;
    struct place place = {0};
    struct cache_entry entry = {0};
    char key[HASH_HEX_BYTES];
    int result = find_place(judge, &place, err);
    if (result == 0) {
        make_key(judge, &place, name, source, key);
        result = judge->cache && cache_get(judge->cache, key, &entry)
                     ? from_cache(&entry, err)
                     : compile(builds, &place, name, source, key, err);
    }
    mem_free(entry.path);
    mem_free(entry.diagnostics);
    place_deinit(&place);
    return result;
}

int extension_build(struct builds *builds, const json_t *request, struct buf *text, struct err *err)
{
    const char *name = NULL;
    const char *source = NULL;
    (void)text;
    int result = json_get_string(request, "name", &name, err);
    if (result == 0)
        result = json_get_string(request, "source", &source, err);
    if (result == 0 && !plain_name(name))
        result = err_set(err, ERR_INPUT, "an extension's name is letters, digits and underscores");
    if (result == 0 && strlen(source) > LIMIT_SOURCE_BYTES)
        result = err_set(err, ERR_LIMIT, "the extension's source is longer than it may be");
    return result < 0 ? result : build_source(builds, name, source, err);
}
