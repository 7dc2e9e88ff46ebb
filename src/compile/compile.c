#include "compile/compile.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "compile/cache.h"
#include "compile/diagnostics.h"
#include "compile/recipe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* More than is kept of it: errors may come behind a lot of warnings. */
#define OUTPUT_BYTES (16 * LIMIT_DIAGNOSTICS_BYTES)
#define MIB ((uint64_t)1 << 20)
#define SCRATCH_PREFIX "warpgym-cc-"
#define SCRATCH_STALE_S 86400

/* One call of compile_source. */
struct build {
    const struct compile_request *request;
    struct runner *runner;
    const char *cache_directory;
    struct recipe recipe;
    char *scratch; /* NULL once it is gone or the artifact's */
    struct artifact *artifact;
    bool cacheable; /* another run would give the same result */
    bool killed;    /* by SIGKILL: for lack of memory on this machine, or by its operator */
};

static void scratch_place(char place[PATH_MAX])
{
    const char *named = getenv("TMPDIR");
    if (!named || !realpath(named, place))
        snprintf(place, PATH_MAX, "/tmp");
}

static int scratch_make(struct build *build, struct err *err)
{
    char place[PATH_MAX];
    scratch_place(place);
    char *path = mem_printf("%s/" SCRATCH_PREFIX "XXXXXX", place);
    if (!mkdtemp(path)) {
        int result = err_sys(err, errno, "%s: cannot create the scratch directory", path);
        mem_free(path);
        return result;
    }
    build->scratch = path;
    return 0;
}

static void scratch_remove(struct build *build)
{
    if (build->scratch)
        file_remove_tree(build->scratch);
    mem_free(build->scratch);
    build->scratch = NULL;
}

/* Puts a file into scratch. Its time is a constant, for __TIMESTAMP__. */
static int scratch_write(const struct build *build, const char *name, const char *bytes,
                         size_t count, struct err *err)
{
    static const struct timespec times[2] = {{.tv_sec = 0}, {.tv_sec = 0}};
    char *path = mem_printf("%s/%s", build->scratch, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    int result = fd < 0 ? err_sys(err, errno, "%s: cannot create", path)
                        : file_write_fd(fd, path, bytes, count, err);
    if (fd >= 0) {
        (void)!fchmod(fd,
                      0644); /* a sandbox may run as another user, so the umask must not apply */
        futimens(fd, times);
        if (close(fd) < 0 && result == 0)
            result = err_sys(err, errno, "%s: cannot write", path);
    }
    mem_free(path);
    return result;
}

static int run_compiler(struct build *build, const char *text, size_t text_bytes,
                        struct outcome *outcome, struct err *err)
{
    const struct recipe *recipe = &build->recipe;
    struct command command = {
        .argv = recipe->argv,
        .environment = recipe->environment,
        .directory = build->scratch,
        .readable = recipe->readable,
        .timeout_ms = build->request->timeout_ms,
        .memory_bytes = build->request->memory_bytes,
        .file_bytes = LIMIT_ARTIFACT_BYTES,
        .resident = recipe->resident,
    };
    int result = scratch_write(build, recipe->source, text, text_bytes, err);
    if (result == 0 && recipe->prelude)
        result = scratch_write(build, RECIPE_PRELUDE, recipe->prelude, strlen(recipe->prelude),
                               err);
    if (result == 0)
        result = build->runner->run(build->runner, &command, outcome, err);
    build->artifact->waited_ms += outcome->waited_ms;
    return result;
}

/* Where the cause of a failure is unclear, the same command must compile a trivial source: only
 * then the candidate's source is to blame. Nothing that a source makes a compiler print can forge
 * this. */
static int check_toolchain(struct build *build, struct err *err)
{
    static const char probe[] =
        "#include <math.h>\n#include <stdint.h>\n#ifdef __cplusplus\n#include <vector>\n#endif\n"
        "typedef int warpgym_probe;\n";
    struct outcome outcome;
    outcome_init(&outcome, LIMIT_DIAGNOSTICS_BYTES);
    int result = run_compiler(build, probe, sizeof probe - 1, &outcome, err);
    if (result == 0 && outcome.timed_out) {
        result = err_set(err, ERR_IO, "%s: does not compile a trivial file in %lld ms",
                         build->recipe.argv[0], (long long)build->request->timeout_ms);
    } else if (result == 0 && outcome.exit_code != 0) {
        size_t length = strcspn(outcome.output.data, "\n");
        result = err_set(err, ERR_MISSING,
                         "%s: does not work here: it fails on a trivial file%s%.*s",
                         build->recipe.argv[0], length ? ": " : "",
                         (int)(length < 400 ? length : 400), outcome.output.data);
    }
    outcome_deinit(&outcome);
    return result;
}

static void set_diagnostics(struct build *build, char *text)
{
    mem_free(build->artifact->diagnostics);
    build->artifact->diagnostics = text;
}

static int explain_failure(struct build *build, const struct outcome *outcome,
                           struct diagnostics *found, struct err *err)
{
    const struct compile_request *request = build->request;
    if (outcome->timed_out) {
        build->artifact->timed_out = true;
        set_diagnostics(build, mem_printf("%s: error: compiling takes longer than %lld ms\n",
                                          DIAGNOSTICS_NAME, (long long)request->timeout_ms));
        return 0;
    }
    build->killed = outcome->signal == SIGKILL || (found->killed && !found->blames_source);
    if (build->killed)
        return err_set(err, ERR_IO, "%s was killed while it compiled", build->recipe.argv[0]);
    if (found->out_of_memory) {
        set_diagnostics(build,
                        mem_printf("%s: error: the compiler needs more than %llu MiB of memory\n",
                                   DIAGNOSTICS_NAME,
                                   (unsigned long long)(request->memory_bytes / MIB)));
        return 0;
    }
    if (found->too_large || outcome->signal == SIGXFSZ) {
        set_diagnostics(build, mem_printf("%s: error: the program is larger than %llu MiB\n",
                                          DIAGNOSTICS_NAME,
                                          (unsigned long long)(LIMIT_ARTIFACT_BYTES / MIB)));
        return 0;
    }
    if (!found->blames_source || found->blames_tools) {
        int result = check_toolchain(build, err);
        if (result < 0)
            return result;
    }
    build->cacheable = found->blames_source && !found->blames_tools && outcome->exit_code > 0;
    if (!found->error) {
        char *how = outcome->signal ? mem_printf("signal %d", outcome->signal)
                                    : mem_printf("exit status %d", outcome->exit_code);
        set_diagnostics(build, mem_printf("%s: error: the compiler ended with %s\n%s",
                                          DIAGNOSTICS_NAME, how, found->text));
        mem_free(how);
    }
    return 0;
}

/* Opens the object that the compiler left in scratch; *object_fd is -1 where it is not acceptable,
 * which the diagnostics then say. */
static int open_object(struct build *build, int *object_fd, struct err *err)
{
    struct stat facts;
    int result = 0;
    char *path = mem_printf("%s/%s", build->scratch, build->recipe.object);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *object_fd = -1;
    if (fd < 0 || fstat(fd, &facts) < 0) {
        result = err_sys(err, errno, "%s: the compiler reported success, but", path);
    } else if (!S_ISREG(facts.st_mode) || facts.st_size <= 0) {
        result = err_set(err, ERR_IO, "%s: the compiler reported success and left no object", path);
    } else if ((uint64_t)facts.st_size > LIMIT_ARTIFACT_BYTES) {
        build->artifact->ok = false;
        set_diagnostics(build, mem_printf("%s: error: the program is larger than %llu MiB\n",
                                          DIAGNOSTICS_NAME,
                                          (unsigned long long)(LIMIT_ARTIFACT_BYTES / MIB)));
    } else {
        *object_fd = fd;
    }
    if (fd >= 0 && *object_fd < 0)
        close(fd);
    mem_free(path);
    return result;
}

/* Into the cache, or, where that cannot be, to the caller in scratch. */
static int deliver_artifact(struct build *build, struct err *err)
{
    struct artifact *artifact = build->artifact;
    int fd = -1;
    if (artifact->ok) {
        int result = open_object(build, &fd, err);
        if (result < 0 || fd < 0)
            return result;
    }
    if (build->cache_directory && build->cacheable) {
        struct err problem;
        char *path = NULL;
        if (cache_put(build->cache_directory, artifact->key, fd, artifact->diagnostics, &path,
                      &problem) < 0)
            artifact->cache_problem = mem_strdup(problem.text);
        else if (artifact->ok)
            artifact->path = path;
        else
            mem_free(path);
    }
    if (fd >= 0)
        close(fd);
    if (artifact->ok && !artifact->path) {
        artifact->path = mem_printf("%s/%s", build->scratch, build->recipe.object);
        artifact->owned = true;
        mem_free(build->scratch);
        build->scratch = NULL;
    }
    return 0;
}

static int build_now(struct build *build, struct err *err)
{
    struct outcome outcome;
    struct diagnostics found;
    const struct compile_request *request = build->request;
    struct diagnostics_context context = {
        .source = build->recipe.source,
        .root = build->recipe.root,
        .quoted = build->recipe.quoted,
    };
    int result = scratch_make(build, err);
    if (result < 0)
        return result;
    outcome_init(&outcome, OUTPUT_BYTES);
    result = run_compiler(build, request->text, request->text_bytes, &outcome, err);
    if (result == 0) {
        context.scratch = build->scratch;
        context.cut = outcome.output.cut;
        diagnostics_init(&found, &context, outcome.output.data, outcome.output.len);
        set_diagnostics(build, mem_strdup(found.text));
        build->artifact->ok = !outcome.timed_out && outcome.exit_code == 0;
        build->cacheable = build->artifact->ok;
        if (!build->artifact->ok)
            result = explain_failure(build, &outcome, &found, err);
        diagnostics_deinit(&found);
    }
    if (result == 0)
        result = deliver_artifact(build, err);
    outcome_deinit(&outcome);
    scratch_remove(build);
    return result;
}

/* A killed process leaves its scratch behind; after a day it is unused. */
static void remove_stale_scratch(void)
{
    char place[PATH_MAX];
    struct dirent *item;
    scratch_place(place);
    DIR *stream = opendir(place);
    while (stream && (item = readdir(stream))) {
        struct stat facts;
        if (strncmp(item->d_name, SCRATCH_PREFIX, strlen(SCRATCH_PREFIX)) != 0 ||
            fstatat(dirfd(stream), item->d_name, &facts, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() ||
            time(NULL) - facts.st_mtim.tv_sec < SCRATCH_STALE_S)
            continue;
        char *path = mem_printf("%s/%s", place, item->d_name);
        file_remove_tree(path);
        mem_free(path);
    }
    if (stream)
        closedir(stream);
}

static void tend_cache(const struct build *build)
{
    uint64_t max_bytes = build->request->cache_max_bytes;
    if (cache_tend(build->cache_directory, max_bytes ? max_bytes : CACHE_DEFAULT_MAX_BYTES))
        remove_stale_scratch();
}

static bool find_cached(struct build *build)
{
    struct cache_entry entry;
    struct artifact *artifact = build->artifact;
    if (!build->cache_directory || !cache_get(build->cache_directory, artifact->key, &entry))
        return false;
    artifact->ok = entry.ok;
    artifact->cached = true;
    set_diagnostics(build, entry.diagnostics);
    if (entry.ok)
        artifact->path = entry.path;
    else
        mem_free(entry.path);
    return true;
}

int compile_source(const struct toolchain *toolchain, struct runner *runner,
                   const char *cache_directory, const struct compile_request *request,
                   struct artifact *artifact, struct err *err)
{
    int64_t start_ns = clock_now_ns();
    struct build build = {
        .request = request,
        .runner = runner,
        .cache_directory = cache_directory && *cache_directory ? cache_directory : NULL,
        .artifact = artifact,
    };
    *artifact = (struct artifact){0};
    int result = recipe_init(&build.recipe, toolchain, request->kind, request->architecture,
                             runner->own_root, err);
    if (result < 0)
        goto out;
    recipe_key(&build.recipe, request->text, request->text_bytes, artifact->key);
    if (request->text_bytes > LIMIT_SOURCE_BYTES) {
        set_diagnostics(&build,
                        mem_printf("%s: error: %zu bytes of source, more than the %zu "
                                   "allowed\n",
                                   DIAGNOSTICS_NAME, request->text_bytes, LIMIT_SOURCE_BYTES));
    } else if (!find_cached(&build)) {
        result = build_now(&build, err);
        if (result == ERR_IO && build.killed)
            result = build_now(&build, err);
        if (build.cache_directory && result == 0)
            tend_cache(&build);
    }
out:
    if (artifact->diagnostics)
        set_diagnostics(&build, diagnostics_named(artifact->diagnostics, request->name));
    else
        artifact->diagnostics = mem_strdup("");
    artifact->elapsed_ms = clock_ms_since(start_ns);
    recipe_deinit(&build.recipe);
    if (result < 0)
        artifact_deinit(artifact);
    return result;
}

void artifact_deinit(struct artifact *artifact)
{
    if (artifact->owned && artifact->path) {
        char *slash = strrchr(artifact->path, '/');
        *slash = '\0';
        file_remove_tree(artifact->path);
    }
    mem_free(artifact->path);
    mem_free(artifact->diagnostics);
    mem_free(artifact->cache_problem);
    *artifact = (struct artifact){0};
}
