#include "compile/recipe.h"

#include "base/array.h"
#include "base/buf.h"
#include "device/nvrtc.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRELUDE_BYTES 8192

/* A reference at double precision: the standard headers first, so that they keep their meaning,
 * then every float in the text becomes a double. <tgmath.h> turns the generic names (exp, sqrt, …)
 * to the type of their argument; calls by the names that say "float" are turned to the generic ones
 * (calls only: the names themselves occur in what <tgmath.h> makes of those). */
static const char double_prelude[] = "#include <float.h>\n"
                                     "#include <limits.h>\n"
                                     "#include <math.h>\n"
                                     "#include <stdbool.h>\n"
                                     "#include <stddef.h>\n"
                                     "#include <stdint.h>\n"
                                     "#include <stdlib.h>\n"
                                     "#include <string.h>\n"
                                     "#include <tgmath.h>\n"
                                     "#define float double\n"
                                     "#define _Float16 double\n";

static const char *const float_functions[] = {
    "acos", "acosh", "asin",  "asinh", "atan",  "atan2",  "atanh",    "cbrt",
    "ceil", "cos",   "cosh",  "erf",   "erfc",  "exp",    "exp2",     "expm1",
    "fabs", "floor", "fma",   "fmax",  "fmin",  "fmod",   "hypot",    "lgamma",
    "log",  "log10", "log1p", "log2",  "pow",   "rint",   "round",    "sin",
    "sinh", "sqrt",  "tan",   "tanh",  "trunc", "tgamma", "copysign", "nearbyint",
};

static const char *make_double_prelude(struct arena *arena)
{
    struct buf text;
    buf_init(&text, PRELUDE_BYTES);
    buf_puts(&text, double_prelude);
    for (size_t i = 0; i < COUNT(float_functions); i++)
        buf_printf(&text, "#define %sf(...) %s(__VA_ARGS__)\n", float_functions[i],
                   float_functions[i]);
    const char *prelude = arena_strdup(arena, text.data);
    buf_deinit(&text);
    return prelude;
}

static void add_word(struct recipe *recipe, const char *argument)
{
    size_t i = 0;
    while (recipe->argv[i])
        i++;
    if (i + 1 < RECIPE_ARGUMENTS)
        recipe->argv[i] = argument;
}

static void add_all(struct recipe *recipe, const char *const *arguments)
{
    for (; *arguments; arguments++)
        add_word(recipe, *arguments);
}

static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* Distinguishes this compiler from another one installed later under the same path. */
static const char *identify_tool(struct arena *arena, const char *program, const char *version)
{
    struct stat facts = {0};
    (void)!stat(program, &facts);
    return arena_printf(arena, "%s\n%s\n%llu %lld.%09ld %llu", program, version,
                        (unsigned long long)facts.st_size, (long long)facts.st_mtim.tv_sec,
                        facts.st_mtim.tv_nsec, (unsigned long long)facts.st_ino);
}

static void set_environment(struct recipe *recipe, const char *program)
{
    const char **at = recipe->environment;
    *at++ = arena_printf(&recipe->arena, "PATH=%.*s:/usr/bin:/bin", (int)directory_length(program),
                         program);
    *at++ = "LC_ALL=C";
    *at++ = "TMPDIR=.";
    *at++ = "SOURCE_DATE_EPOCH=0";
    /* A compiler only ever wants more memory: large steps and large pages, 2 of 56 ms. */
    *at++ = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=16777216";
}

/* Without a sandbox the bundled compiler runs where it lies: it finds its own parts by its own
 * place, but headers, start files, assembler and linker have to be pointed out, and its libraries,
 * too. */
static void add_sysroot(struct recipe *recipe, const char *root)
{
    size_t i = 0;
    add_word(recipe, arena_printf(&recipe->arena, "--sysroot=%s", root));
    add_word(recipe, arena_printf(&recipe->arena, "-B%s/usr/bin/", root));
    while (recipe->environment[i])
        i++;
    recipe->environment[i] = arena_printf(&recipe->arena, "LD_LIBRARY_PATH=%s/tools", root);
}

static void add_c_flags(struct recipe *recipe, bool clang, bool gold)
{
    static const char *const common[] = {
        "-O3",
        "-march=native",
        "-fopenmp",
        "-fPIC",
        "-shared",
        "-Wall",
        "-fno-diagnostics-color",
        "-pipe",                       /* the assembler works while the compiler does: 2 of 56 ms */
        "-Wl,--build-id=none,-z,defs", /* an undefined symbol is an error here, not when loading */
        NULL,
    };
    static const char *const gcc[] = {"-fmax-errors=20", "-fno-use-linker-plugin", "-fno-lto",
                                      NULL};
    static const char *const other[] = {"-ferror-limit=20", NULL};
    add_all(recipe, common);
    add_all(recipe, clang ? other : gcc);
    if (gold)
        add_word(recipe, "-fuse-ld=gold"); /* 3 of 56 ms */
}

/* Kinds that gcc or clang compile. */
static const struct c_kind {
    const char *standard, *source;
    bool cpp;
} c_kinds[] = {
    [COMPILE_C] = {"-std=gnu17", "candidate.c", false},
    [COMPILE_C_DOUBLE] = {"-std=gnu17", "candidate.c", false},
    [COMPILE_CPP] = {"-std=gnu++20", "candidate.cpp", true},
};

bool compile_needs_cc(enum compile_kind kind)
{
    return kind < COUNT(c_kinds) && c_kinds[kind].source && !c_kinds[kind].cpp;
}

/* C++ brings its library along, so that a candidate needs none of the process that loads it, and
 * takes that of its own compiler. */
static void init_c(struct recipe *recipe, const struct toolchain *toolchain, enum compile_kind kind,
                   bool process)
{
    struct arena *arena = &recipe->arena;
    bool cpp = c_kinds[kind].cpp;
    bool precise = kind == COMPILE_C_DOUBLE;
    const char *compiler = cpp ? toolchain->cxx : toolchain->cc;
    const char *version = cpp ? toolchain->cxx_version : toolchain->cc_version;
    const char *bundled = cpp ? "/usr/bin/g++" : "/usr/bin/gcc";
    const char *program = toolchain->root && process ? bundled : compiler;
    bool clang = strstr(version, "clang") != NULL;
    const char *gold = arena_printf(arena, "%.*s/ld.gold", (int)directory_length(compiler),
                                    compiler);
    recipe->source = c_kinds[kind].source;
    recipe->object = "candidate.so";
    recipe->prelude = precise ? make_double_prelude(arena) : NULL;
    recipe->version = version;
    recipe->identity = arena_printf(arena, "%s\n%s", identify_tool(arena, compiler, version),
                                    toolchain->cpu);
    set_environment(recipe, program);
    add_word(recipe, program);
    if (toolchain->root && !process)
        add_sysroot(recipe, toolchain->root);
    add_word(recipe, c_kinds[kind].standard);
    if (cpp)
        add_word(recipe, "-static-libstdc++");
    add_c_flags(recipe, clang, access(gold, X_OK) == 0);
    if (precise) {
        add_word(recipe, "-include");
        add_word(recipe, RECIPE_PRELUDE);
    }
    add_all(recipe, (const char *const[]){recipe->source, "-o", recipe->object, "-lm", NULL});
}

static void init_cuda(struct recipe *recipe, const struct toolchain *toolchain,
                      const char *architecture, bool device_only)
{
    static const char *const shared[] = {"-shared", "-Xcompiler=-fPIC",
                                         "-Xlinker=--build-id=none,-z,defs", NULL};
    static const char *const cubin[] = {"-cubin", NULL};
    recipe->source = "candidate.cu";
    recipe->object = "candidate.so";
    recipe->version = toolchain->nvcc_version;
    recipe->identity = identify_tool(&recipe->arena, toolchain->nvcc, toolchain->nvcc_version);
    set_environment(recipe, toolchain->nvcc);
    add_word(recipe, toolchain->nvcc);
    add_all(recipe, device_only ? cubin : shared);
    /* Not -arch: that also emits PTX, which is not needed here: 0.5 of 1.9 s. */
    const char *wanted = architecture ? architecture : "90";
    add_word(recipe,
             arena_printf(&recipe->arena, "-gencode=arch=compute_%s,code=sm_%s", wanted, wanted));
    add_all(recipe, (const char *const[]){"-O3", recipe->source, "-o", recipe->object, NULL});
}

/* The texts of the headers that stand for the standard ones are part of the compiler. */
static const char *identify_nvrtc(struct arena *arena, const char *library)
{
    char headers[HASH_HEX_BYTES];
    struct hash *hash = hash_new();
    for (size_t i = 0; nvrtc_header_names[i]; i++) {
        hash_update_string(hash, nvrtc_header_names[i]);
        hash_update_string(hash, nvrtc_headers[i]);
    }
    hash_finish(hash, headers);
    return identify_tool(arena, library, headers);
}

/* Read by judge/child/nvrtc_command.c: options, then source, "-o", object. */
static void init_nvrtc(struct recipe *recipe, const struct toolchain *toolchain,
                       const char *architecture)
{
    static const char *const none[] = {NULL};
    const char *const *includes = (const char *const *)toolchain->nvrtc_includes;
    recipe->resident = true;
    recipe->readable = recipe->quoted = includes ? includes : none;
    recipe->source = "candidate.cu";
    recipe->object = "candidate.so";
    recipe->version = "NVRTC";
    recipe->identity = identify_nvrtc(&recipe->arena, toolchain->nvrtc);
    add_word(recipe, toolchain->nvrtc);
    add_word(recipe, arena_printf(&recipe->arena, "--gpu-architecture=sm_%s",
                                  architecture ? architecture : "90"));
    add_word(recipe, "--std=c++17"); /* as nvcc has it */
    for (; includes && *includes; includes++)
        add_word(recipe, arena_printf(&recipe->arena, "--include-path=%s", *includes));
    add_all(recipe, (const char *const[]){recipe->source, "-o", recipe->object, NULL});
}

int recipe_init(struct recipe *recipe, const struct toolchain *toolchain, enum compile_kind kind,
                const char *architecture, bool process, struct err *err)
{
    static const char *const bundled[] = {"/usr", NULL};
    *recipe = (struct recipe){
        .readable = (const char *const *)toolchain->readable,
        .quoted = toolchain->root ? bundled : (const char *const *)toolchain->readable,
        .root = toolchain->root,
    };
    int result = toolchain_has(toolchain, kind, err);
    if (result < 0)
        return result;
    if (kind == COMPILE_CUBIN && toolchain->nvrtc)
        init_nvrtc(recipe, toolchain, architecture);
    else if (kind == COMPILE_CUDA || kind == COMPILE_CUBIN)
        init_cuda(recipe, toolchain, architecture, kind == COMPILE_CUBIN);
    else
        init_c(recipe, toolchain, kind, process);
    return 0;
}

void recipe_deinit(struct recipe *recipe)
{
    arena_deinit(&recipe->arena);
    *recipe = (struct recipe){0};
}

static void hash_list(struct hash *hash, const char *const *list)
{
    for (; list && *list; list++)
        hash_update_string(hash, *list);
    hash_update_string(hash, "");
}

void recipe_key(const struct recipe *recipe, const char *text, size_t text_bytes,
                char key[HASH_HEX_BYTES])
{
    struct hash *hash = hash_new();
    hash_update_string(hash, "warpgym build 1");
    hash_update_string(hash, recipe->identity);
    hash_list(hash, recipe->argv);
    hash_list(hash, recipe->environment);
    hash_list(hash, recipe->readable);
    hash_update_string(hash, recipe->prelude ? recipe->prelude : "");
    hash_update(hash, text, text_bytes);
    hash_finish(hash, key);
}
