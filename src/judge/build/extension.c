#include "judge/build/extension.h"

#include "base/file.h"
#include "compile/diagnostics.h"
#include "judge/build/extension_certain.h"
#include "judge/build/extension_script.h"
#include "judge/build/scratch.h"
#include "judge/build/slim_headers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_BYTES ((size_t)1 << 20)
#define BUILT_SLIM "slim" /* noted beside an object in the cache */
#define BUILT_STOCK "stock"

/* One request on its way. */
struct work {
    const struct build_context *context;
    struct extension_request request;
    struct extension_tools tools;
    struct slim_headers slim;
    struct arena arena;
    char architecture[16];
    const char *readable[5]; /* of PyTorch, Python, and ours */
    struct buf *text;        /* why it does not compile */
    bool used_slim;
};

/* The toolkit that nvcc belongs to: among what it needs to read, the one with the headers. What is
 * called nvcc may be a script somewhere else. */
static const char *find_toolkit(struct work *work)
{
    char *const *path = work->context->tools->toolchain->readable;
    for (; path && *path; path++) {
        const char *header = arena_printf(&work->arena, "%s/include/cuda_runtime_api.h", *path);
        if (file_exists(header))
            return *path;
    }
    return NULL;
}

/* nvcc and the GPU that it compiles for, where the request needs them. */
static int find_cuda(struct work *work, struct err *err)
{
    const struct build_context *context = work->context;
    struct extension_tools *tools = &work->tools;
    if (!work->request.cuda)
        return 0;
    if (!context->gpu)
        return err_set(err, ERR_UNSUPPORTED,
                       "a CUDA extension needs a GPU, and this machine has none");
    tools->nvcc = context->tools->toolchain->nvcc;
    if (!tools->nvcc)
        return err_set(err, ERR_UNSUPPORTED, "a CUDA extension needs nvcc, which is not there");
    /* 90 and later have instructions of their own only under an `a`. */
    const struct gpu *gpu = &context->gpu->facts;
    snprintf(work->architecture, sizeof work->architecture, "%d%d%s", gpu->major, gpu->minor,
             gpu->major >= 9 ? "a" : "");
    tools->architecture = work->architecture;
    tools->cuda = find_toolkit(work);
    return tools->cuda ? 0
                       : err_set(err, ERR_UNSUPPORTED,
                                 "a CUDA extension needs CUDA's headers, which are not with nvcc");
}

static int find_tools(struct work *work, struct err *err)
{
    struct build_tools *shared = work->context->tools;
    struct extension_tools *tools = &work->tools;
    tools->gcc = "/usr/bin/g++";
    int result = find_cuda(work, err);
    if (result == 0 && !file_exists(tools->gcc))
        result = err_set(err, ERR_MISSING, "a C++ extension needs %s, which is not there",
                         tools->gcc);
    if (result == 0)
        result = torch_paths_init(&tools->place, shared, err);
    if (result == 0)
        result = slim_headers_open(&work->slim, shared->installation->python_package, err);
    if (result < 0)
        return result;
    const char *packages = tools->place.packages;
    tools->slim = work->slim.directory;
    work->readable[0] = arena_printf(&work->arena, "%s/torch/include", packages);
    work->readable[1] = arena_printf(&work->arena, "%s/torch/lib", packages);
    work->readable[2] = tools->place.include;
    work->readable[3] = tools->slim;
    return 0;
}

static void hash_flags(struct hash *hash, const struct extension_flags *flags)
{
    for (size_t i = 0; i < flags->count; i++)
        hash_update_string(hash, flags->words[i]);
    hash_update_string(hash, flags->standard ? flags->standard : "");
}

/* What every object here depends on. */
static void hash_tools(const struct work *work, struct hash *hash)
{
    const struct toolchain *toolchain = work->context->tools->toolchain;
    const struct extension_tools *tools = &work->tools;
    hash_update_string(hash, "torch extension 2");
    hash_update_string(hash, toolchain->cc_version);
    hash_update_string(hash, toolchain->cpu);
    hash_update_string(hash, tools->place.version);
    hash_update_string(hash, tools->place.packages);
    hash_update_string(hash, tools->place.include);
    hash_update_string(hash, work->slim.text);
}

static void request_key(const struct work *work, char key[HASH_HEX_BYTES])
{
    const struct extension_request *request = &work->request;
    struct hash *hash = hash_new();
    hash_tools(work, hash);
    hash_update_string(hash, request->name);
    hash_update_string(hash, request->headers ? "headers" : "");
    if (request->cuda) {
        hash_update_string(hash, work->tools.nvcc);
        hash_update_string(hash, work->context->tools->toolchain->nvcc_version);
        hash_update_string(hash, work->architecture);
    }
    for (size_t i = 0; i < request->count; i++) {
        hash_update_string(hash, request->files[i].name);
        hash_update_string(hash, request->files[i].text);
    }
    hash_flags(hash, &request->cxx);
    hash_flags(hash, &request->cuda_flags);
    hash_flags(hash, &request->link);
    hash_finish(hash, key);
}

static int run_script(const struct work *work, const struct build_scratch *scratch,
                      const char *script, struct outcome *outcome, struct err *err)
{
    if (!script)
        return err_set(err, ERR_LIMIT, "the extension has too many files or flags");
    return build_scratch_script(scratch, script, work->readable, outcome, err);
}

/* The object goes into the cache, and to its requester as sealed memory. */
static int take_object(const struct work *work, const char *key, int object, const char *words,
                       struct err *err)
{
    char *bytes;
    size_t count;
    build_scratch_keep(work->context, key, object, words);
    int result = build_scratch_read(object, LIMIT_ARTIFACT_BYTES, &bytes, &count, err);
    if (result < 0)
        return result;
    result = file_memory_from("extension", bytes, count, err);
    mem_free(bytes);
    return result;
}

static int from_cache(struct work *work, const struct cache_entry *entry, struct err *err)
{
    char *bytes;
    size_t count;
    if (!entry->ok) {
        buf_puts(work->text, entry->diagnostics);
        return err_set(err, ERR_INPUT, "the extension does not compile");
    }
    int fd = open(entry->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "%s: cannot open", entry->path);
    int result = build_scratch_read(fd, entry->object_bytes, &bytes, &count, err);
    close(fd);
    if (result < 0)
        return result;
    result = file_memory_from("extension", bytes, count, err);
    mem_free(bytes);
    work->used_slim = strcmp(entry->diagnostics, BUILT_SLIM) == 0;
    return result;
}

static int compile_glue(struct work *work, const char *key, struct err *err)
{
    struct build_scratch scratch;
    struct outcome outcome;
    outcome_init(&outcome, OUTPUT_BYTES);
    int result = build_scratch_open(&scratch, work->context, err);
    if (result == 0)
        result = run_script(work, &scratch, extension_glue_script(&work->arena, &work->tools),
                            &outcome, err);
    int object = result == 0 ? build_scratch_result(&scratch, EXTENSION_OBJECT) : -1;
    if (result == 0 && object < 0)
        result = err_set(err, ERR_MISSING, "the slim headers' glue does not compile: %.400s",
                         outcome.output.len ? outcome.output.data : "");
    if (object >= 0) {
        result = take_object(work, key, object, "", err);
        close(object);
    }
    outcome_deinit(&outcome);
    build_scratch_close(&scratch);
    return result;
}

static int put_glue(struct work *work, const struct build_scratch *scratch, struct err *err)
{
    struct cache_entry entry = {0};
    char key[HASH_HEX_BYTES];
    char *bytes = NULL;
    size_t count = 0;
    struct hash *hash = hash_new();
    hash_tools(work, hash);
    hash_update_string(hash, "glue");
    hash_finish(hash, key);
    bool cached = build_scratch_find(work->context, key, &entry);
    int object = cached && entry.ok ? from_cache(work, &entry, err) : compile_glue(work, key, err);
    int result = object < 0 ? object
                            : build_scratch_read(object, LIMIT_ARTIFACT_BYTES, &bytes, &count, err);
    if (result == 0)
        result = build_scratch_write(scratch, EXTENSION_GLUE, bytes, count, err);
    if (object >= 0)
        close(object);
    mem_free(bytes);
    mem_free(entry.path);
    mem_free(entry.diagnostics);
    return result;
}

/* What one file's compiler said, fit to be shown; the caller's. NULL: nothing is about it. */
static char *unit_words(const struct work *work, const struct build_scratch *scratch,
                        const char *output, size_t index)
{
    static const char ends[] = {EXTENSION_MARK, '\0'};
    const char *quoted[] = {"/usr/include",   "/usr/lib",       work->tools.place.packages,
                            work->tools.slim, work->tools.cuda, NULL};
    char mark[24];
    snprintf(mark, sizeof mark, "%c%zu\n", EXTENSION_MARK, index);
    const char *begin = strstr(output, mark);
    if (!begin)
        return NULL;
    begin += strlen(mark);
    struct diagnostics_context context = {.source = work->request.files[index].name,
                                          .scratch = scratch->directory,
                                          .quoted = quoted};
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, &context, begin, strcspn(begin, ends));
    char *words = mem_strdup(diagnostics.text);
    diagnostics_deinit(&diagnostics);
    return words;
}

/* All of them, under their own names. */
static void collect_words(struct work *work, const struct build_scratch *scratch,
                          const char *output)
{
    buf_reset(work->text);
    for (size_t i = 0; i < work->request.count; i++) {
        char *words = unit_words(work, scratch, output, i);
        char *named = words ? diagnostics_named(words, work->request.files[i].name) : NULL;
        buf_puts(work->text, named ? named : "");
        mem_free(named);
        mem_free(words);
    }
    if (work->text->len == 0) /* the linker, or the process was killed */
        buf_printf(work->text, "%.700s", output[0] ? output : "the compiler was killed");
}

/* Whether any of the headers that a stock build reads holds the name. */
static bool is_known(struct work *work, const struct build_scratch *scratch, const char *name)
{
    const struct extension_tools *tools = &work->tools;
    struct outcome outcome;
    struct err ignored;
    struct arena *arena = &work->arena;
    const char *cuda = tools->cuda ? arena_printf(arena, "'%s/include'", tools->cuda) : "";
    const char *script = arena_printf(
        arena, "exec /usr/bin/grep -rqswF -e '%s' '%s/torch/include' '%s' /usr/include %s", name,
        tools->place.packages, tools->place.include, cuda);
    outcome_init(&outcome, OUTPUT_BYTES);
    bool unknown = run_script(work, scratch, script, &outcome, &ignored) == 0 &&
                   outcome.exit_code == 1;
    outcome_deinit(&outcome);
    return !unknown;
}

/* Whether a stock build would fail as well. */
static bool fails_for_certain(struct work *work, const struct build_scratch *scratch,
                              const char *output)
{
    char name[CERTAIN_NAME_BYTES];
    bool certain = false;
    for (size_t i = 0; i < work->request.count && !certain; i++) {
        char *words = unit_words(work, scratch, output, i);
        enum certainty found = words
                                   ? extension_certain(&work->request, work->slim.text, words, name)
                                   : CERTAIN_NOT;
        certain = found == CERTAIN ||
                  (found == CERTAIN_UNLESS_KNOWN && !is_known(work, scratch, name));
        mem_free(words);
    }
    return certain;
}

static int run_build(struct work *work, const struct build_scratch *scratch, bool slim,
                     struct outcome *outcome, struct err *err)
{
    const struct extension_request *request = &work->request;
    int result = 0;
    for (size_t i = 0; result == 0 && i < request->count; i++)
        result = build_scratch_write(scratch, request->files[i].name, request->files[i].text,
                                     strlen(request->files[i].text), err);
    if (result == 0 && slim)
        result = put_glue(work, scratch, err);
    if (result == 0)
        result = run_script(work, scratch,
                            extension_script(&work->arena, request, &work->tools, slim), outcome,
                            err);
    return result;
}

/* Nothing was built. *settled: nor would the other headers change that. */
static int take_failure(struct work *work, const struct build_scratch *scratch, bool slim,
                        const char *key, const struct outcome *outcome, bool *settled,
                        struct err *err)
{
    const char *output = outcome->output.len ? outcome->output.data : "";
    *settled = !slim || fails_for_certain(work, scratch, output);
    if (*settled)
        collect_words(work, scratch, output);
    if (*settled && outcome->exit_code > 0) /* a signal may not come again */
        build_scratch_keep(work->context, key, -1, work->text->data);
    return err_set(err, ERR_INPUT, "the extension does not compile");
}

static int try_headers(struct work *work, bool slim, const char *key, bool *settled,
                       struct err *err)
{
    struct build_scratch scratch;
    struct outcome outcome;
    outcome_init(&outcome, OUTPUT_BYTES);
    *settled = false;
    int result = build_scratch_open(&scratch, work->context, err);
    if (result == 0)
        result = run_build(work, &scratch, slim, &outcome, err);
    int object = result == 0 && outcome.exit_code == 0
                     ? build_scratch_result(&scratch, EXTENSION_OBJECT)
                     : -1;
    if (object >= 0) {
        *settled = true;
        work->used_slim = slim;
        result = take_object(work, key, object, slim ? BUILT_SLIM : BUILT_STOCK, err);
        close(object);
    } else if (result == 0) {
        result = take_failure(work, &scratch, slim, key, &outcome, settled, err);
    }
    outcome_deinit(&outcome);
    build_scratch_close(&scratch);
    return result;
}

/* What a machine lacks is no error of a candidate. */
static int check_stock_headers(struct work *work, struct err *err)
{
    const struct torch_paths *place = &work->tools.place;
    const char *python = arena_printf(&work->arena, "%s/Python.h", place->include);
    const char *torch = arena_printf(&work->arena, "%s/torch/include/torch/extension.h",
                                     place->packages);
    if (!file_exists(python))
        return err_set(err, ERR_MISSING,
                       "a C++ extension needs %s, which is not there: `apt-get install "
                       "python3-dev` or `dnf install python3-devel` brings it",
                       python);
    if (!file_exists(torch))
        return err_set(err, ERR_MISSING,
                       "a C++ extension needs %s, which is not there: PyTorch's headers are "
                       "missing",
                       torch);
    return 0;
}

static int compile_extension(struct work *work, const char *key, struct err *err)
{
    bool settled;
    int result = try_headers(work, true, key, &settled, err);
    if (settled || result == ERR_CANCELLED)
        return result;
    result = check_stock_headers(work, err);
    return result < 0 ? result : try_headers(work, false, key, &settled, err);
}

int extension_build(struct builds *builds, const json_t *request, struct buf *text, struct err *err)
{
    struct work work = {.context = &builds->context, .text = text};
    struct cache_entry entry = {0};
    char key[HASH_HEX_BYTES];
    int result = extension_request_init(&work.request, request, err);
    if (result == 0)
        result = find_tools(&work, err);
    if (result == 0) {
        request_key(&work, key);
        result = build_scratch_find(work.context, key, &entry) ? from_cache(&work, &entry, err)
                                                               : compile_extension(&work, key, err);
    }
    builds->extensions += result >= 0;
    builds->slim += result >= 0 && work.used_slim;
    mem_free(entry.path);
    mem_free(entry.diagnostics);
    slim_headers_close(&work.slim);
    torch_paths_deinit(&work.tools.place);
    extension_request_deinit(&work.request);
    arena_deinit(&work.arena);
    return result;
}
