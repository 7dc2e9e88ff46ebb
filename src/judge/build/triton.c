#include "judge/build/triton.h"

#include "base/array.h"
#include "base/file.h"
#include "judge/build/python_query.h"
#include "judge/build/scratch.h"

#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 32
#define OPTION_BYTES 64

static const char *const truths[] = {"true", "false", NULL};
static const char *const load_caches[] = {"ca", "cg", "cs", "lu", "cv", NULL};
static const char *const store_caches[] = {"wb", "cg", "cs", "wt", NULL};
static const char *const efforts[] = {"0", "min", "mid", "max", NULL};

static bool is_number(const char *value)
{
    size_t digits = strspn(value, "0123456789");
    return digits >= 1 && digits <= 6 && value[digits] == '\0';
}

/* sm_90, sm_90a, sm_100f */
static bool is_gpu(const char *value)
{
    if (strncmp(value, "sm_", 3) != 0)
        return false;
    size_t digits = strspn(value + 3, "0123456789");
    const char *rest = value + 3 + digits;
    return digits >= 2 && digits <= 3 &&
           (*rest == '\0' || ((*rest == 'a' || *rest == 'f') && !rest[1]));
}

/* Options have a value where there are words for it, or a check. */
static const struct option {
    const char *names;
    bool (*check)(const char *value);
    const char *const *words;
} options[] = {
    {"-lineinfo --generate-line-info -suppress-debug-info --suppress-debug-info -g "
     "--device-debug -v --verbose -w --disable-warnings -O0 -O1 -O2 -O3 -opt-fp-atomics "
     "--optimize-float-atomics -disable-optimizer-consts --disable-optimizer-constants "
     "-warn-spills --warn-on-spills -warn-lmem-usage --warn-on-local-memory-usage",
     NULL, NULL},
    {"-O --opt-level -maxrregcount --maxrregcount -regUsageLevel --register-usage-level "
     "-regAllocOptLevel --regAllocOptLevel -minnctapersm --minnctapersm",
     is_number, NULL},
    {"-Ofc --Ofast-compile", NULL, efforts},
    {"-fmad --fmad -allow-expensive-optimizations --allow-expensive-optimizations", NULL, truths},
    {"-arch --gpu-name", is_gpu, NULL},
    {"-dlcm --def-load-cache", NULL, load_caches},
    {"-dscm --def-store-cache", NULL, store_caches},
};

static const struct option *find_option(const char *name, size_t length)
{
    for (size_t i = 0; length > 0 && i < COUNT(options); i++)
        for (const char *at = options[i].names; *at; at += strspn(at, " ")) {
            size_t known = strcspn(at, " ");
            if (known == length && strncmp(at, name, length) == 0)
                return &options[i];
            at += known;
        }
    return NULL;
}

/* The value as it may be passed on: the table's own words, or a checked one. */
static const char *find_value(const struct option *option, const char *value)
{
    if (option->check)
        return option->check(value) ? value : NULL;
    for (const char *const *word = option->words; *word; word++)
        if (strcmp(*word, value) == 0)
            return *word;
    return NULL;
}

int triton_build_option(const char *const *words, size_t count, size_t *at, char *out,
                        size_t out_bytes, struct err *err)
{
    const char *word = words[(*at)++];
    size_t length = strcspn(word, "=");
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    const struct option *option = find_option(word, length);
    bool valued = option && (option->check || option->words);
    if (valued && !value && *at < count)
        value = words[(*at)++];
    if (!option || valued != (value != NULL))
        return err_set(err, ERR_INPUT, "ptxas is not given the option '%.60s' here", word);
    if (!valued) {
        snprintf(out, out_bytes, "%s", word);
        return 0;
    }
    const char *passed = find_value(option, value);
    if (!passed)
        return err_set(err, ERR_INPUT, "ptxas is not given '%.60s' for its option %.*s here", value,
                       (int)length, word);
    snprintf(out, out_bytes, "%.*s=%s", (int)length, word, passed);
    return 0;
}

/* Where Triton and Python's headers are, as the Python of the standby server says. */
struct triton_home {
    char *triton, *include;
};

static void triton_home_deinit(struct triton_home *home)
{
    mem_free(home->triton);
    mem_free(home->include);
}

/* Debian's default scheme is not where headers are. */
static const char query[] =
    "import importlib.util, os, sysconfig\n"
    "spec = importlib.util.find_spec('triton')\n"
    "scheme = sysconfig.get_default_scheme().replace('posix_local', 'posix_prefix')\n"
    "print(os.path.dirname(spec.origin) if spec else '')\n"
    "print(sysconfig.get_paths(scheme)['include'])\n";

static int find_triton(struct build_tools *tools, struct triton_home *home, struct err *err)
{
    const struct python_query asked = {.text = query,
                                       .wanted = "Triton",
                                       .kept = &tools->triton_paths};
    char **const lines[] = {&home->triton, &home->include};
    int result = python_query_lines(tools, &asked, lines, COUNT(lines), err);
    if (result == 0 && !home->triton[0])
        result = err_set(err, ERR_MISSING, "the Python %s has no Triton",
                         tools->installation->python);
    return result;
}

static int get_source(const json_t *request, size_t limit, const char **source, struct err *err)
{
    int result = json_get_string(request, "source", source, err);
    if (result == 0 && strlen(*source) > limit)
        result = err_set(err, ERR_LIMIT, "the source is longer than it may be");
    return result;
}

static int get_tool(const json_t *request, const char **tool, struct err *err)
{
    static const char *const tools[] = {"ptxas", "ptxas-blackwell"};
    const char *named = NULL;
    int result = json_get_string(request, "tool", &named, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < COUNT(tools); i++)
        if (strcmp(tools[i], named) == 0) {
            *tool = tools[i];
            return 0;
        }
    return err_set(err, ERR_INPUT, "'%.60s' is no tool that compiles PTX", named);
}

/* The options of the request, checked, behind argv[0]. */
static int get_options(const json_t *request, const char **argv, struct arena *arena,
                       struct err *err)
{
    const char *words[OPTIONS_MAX];
    json_t *array = NULL;
    size_t count = 0;
    int result = json_get_array(request, "options", &array, err);
    for (size_t i = 0; result == 0 && i < json_array_size(array); i++) {
        const char *word = json_string_value(json_array_get(array, i));
        if (!word || count == OPTIONS_MAX)
            result = err_set(err, ERR_INPUT, "the options of ptxas are not up to %d words",
                             OPTIONS_MAX);
        else if (*word) /* two spaces in Triton's ptx_options */
            words[count++] = word;
    }
    for (size_t at = 0; result == 0 && at < count;) {
        char *option = arena_alloc(arena, OPTION_BYTES);
        result = triton_build_option(words, count, &at, option, OPTION_BYTES, err);
        *++argv = option;
    }
    return result;
}

int triton_build_ptx(const struct build_context *context, const json_t *request, struct buf *words,
                     struct err *err)
{
    static const char *const libraries[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64"};
    struct arena arena = {0};
    struct triton_home home = {0};
    const char *tool = NULL;
    const char *argv[OPTIONS_MAX + 5] = {NULL};
    struct build_step step = {.argv = argv,
                              .source_name = "kernel.ptx",
                              .result_name = "kernel.cubin"};
    int result = get_source(request, LIMIT_PTX_BYTES, &step.source, err);
    if (result == 0)
        result = get_tool(request, &tool, err);
    if (result == 0)
        result = get_options(request, argv, &arena, err);
    if (result == 0)
        result = find_triton(context->tools, &home, err);
    if (result == 0) {
        const char *program = arena_printf(&arena, "%s/backends/nvidia/bin/%s", home.triton, tool);
        const char *readable[] = {libraries[0], libraries[1], libraries[2],
                                  libraries[3], program,      NULL};
        const char *identity[] = {program, NULL};
        size_t end = 0;
        for (argv[0] = program; argv[end]; end++)
            ;
        argv[end++] = step.source_name;
        argv[end++] = "-o";
        argv[end] = step.result_name;
        step.readable = readable;
        step.identity = identity;
        step.noise = arena_printf(&arena, "%s info", tool);
        result = build_step_run(context, &step, words, err);
    }
    triton_home_deinit(&home);
    arena_deinit(&arena);
    return result;
}

/* A sentence for each thing that may be missing. */
static int check_headers(const struct build_tools *tools, const char *python, const char *cuda,
                         struct err *err)
{
    if (!tools->toolchain->cc || tools->toolchain->root)
        return err_set(err, ERR_MISSING, "Triton's launchers need a C compiler of the system");
    if (!file_exists(python))
        return err_set(err, ERR_MISSING,
                       "Triton's launchers need Python's headers, and there is no %s: install "
                       "python3-dev",
                       python);
    if (!file_exists(cuda))
        return err_set(err, ERR_MISSING, "this Triton brings no CUDA headers: there is no %s",
                       cuda);
    return 0;
}

int triton_build_launcher(const struct build_context *context, const json_t *request,
                          struct buf *words, struct err *err)
{
    struct build_tools *tools = context->tools;
    struct arena arena = {0};
    struct triton_home home = {0};
    struct build_step step = {.source_name = "launcher.c", .result_name = "launcher.so"};
    int result = get_source(request, LIMIT_SOURCE_BYTES, &step.source, err);
    if (result == 0)
        result = find_triton(tools, &home, err);
    const char *cuda = arena_printf(&arena, "%s/backends/nvidia/include", home.triton);
    const char *cuda_header = arena_printf(&arena, "%s/cuda.h", cuda);
    const char *python_header = arena_printf(&arena, "%s/Python.h", home.include);
    if (result == 0)
        result = check_headers(tools, python_header, cuda_header, err);
    if (result == 0) {
        /* A launcher's time is Python's; more than -O1 costs 40 ms and gains nothing. */
        const char *argv[] = {tools->toolchain->cc,
                              "-O1",
                              "-shared",
                              "-fPIC",
                              "-w",
                              "-fno-diagnostics-color",
                              arena_printf(&arena, "-I%s", cuda),
                              arena_printf(&arena, "-I%s", home.include),
                              "-o",
                              step.result_name,
                              step.source_name,
                              NULL};
        const char *identity[] = {tools->toolchain->cc, cuda_header, python_header, NULL};
        const char *readable[64];
        size_t count = 0;
        for (char **path = tools->toolchain->readable; path && *path && count < 60; path++)
            readable[count++] = *path;
        readable[count++] = cuda;
        readable[count++] = home.include;
        readable[count] = NULL;
        step.argv = argv;
        step.readable = readable;
        step.identity = identity;
        result = build_step_run(context, &step, words, err);
    }
    triton_home_deinit(&home);
    arena_deinit(&arena);
    return result;
}
