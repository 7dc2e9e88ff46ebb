#include "judge/build/extension_script.h"

#include "base/array.h"
#include "base/buf.h"

#include <string.h>

#define SCRIPT_BYTES ((size_t)24 << 10) /* what one command may be handed (sandbox/command.c) */
#define HEADERS 48

/* Words of a command, each in quotes: none of them holds one. */
static void put_word(struct buf *script, const char *word)
{
    buf_printf(script, " '%s'", word);
}

static void put_all(struct buf *script, const char *const *words)
{
    for (; *words; words++)
        put_word(script, *words);
}

static void put_pair(struct buf *script, const char *option, const char *value)
{
    put_word(script, option);
    put_word(script, value);
}

static void put_joined(struct buf *script, const char *before, const char *path, const char *after)
{
    buf_printf(script, " '%s%s%s'", before, path, after);
}

/* As PyTorch's own loader has it; what half-precision operators mean depends on it. */
static const char *const nvcc_common[] = {
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
    "-Xcompiler=-fPIC",
    "-w",
    NULL,
};
static const char *const gcc_common[] = {"-fPIC", "-fno-diagnostics-color", "-w", NULL};
/* An extension for the CPU does its work in C++: it is compiled as native candidates are. */
static const char *const gcc_native[] = {"-O3", "-march=native", "-fopenmp", NULL};

static void put_slim(struct buf *script, const struct extension_request *request,
                     const struct extension_tools *tools, const struct extension_file *file)
{
    const char *headers[HEADERS];
    size_t count = extension_headers(file, headers, HEADERS);
    buf_printf(script, " '-DWARPGYM_TORCH=%d'", torch_paths_version(&tools->place));
    if (request->threads)
        put_word(script, "-DWARPGYM_THREADS");
    for (size_t i = 0; i < count; i++)
        put_pair(script, "-include", headers[i]);
    put_word(script, "-isystem");
    put_joined(script, "", tools->slim, "/include");
}

static void put_stock(struct buf *script, const struct extension_tools *tools)
{
    static const char *const directories[] = {"/torch/include",
                                              "/torch/include/torch/csrc/api/include"};
    for (size_t i = 0; i < COUNT(directories); i++) {
        put_word(script, "-isystem");
        put_joined(script, "", tools->place.packages, directories[i]);
    }
    put_pair(script, "-isystem", tools->place.include);
    put_word(script, "-D_GLIBCXX_USE_CXX11_ABI=1");
}

/* What load_inline writes at the head of each file. */
static void put_headers(struct buf *script, const struct extension_file *file)
{
    if (file->language == EXTENSION_CXX) {
        put_pair(script, "-include", "torch/extension.h");
        return;
    }
    put_pair(script, "-include", "torch/types.h");
    put_pair(script, "-include", "cuda.h");
    put_pair(script, "-include", "cuda_runtime.h");
}

/* The slim headers take C++17, which is 0.5 s faster to parse than PyTorch's C++20. */
static const char *language_standard(const struct extension_flags *flags,
                                     const struct extension_tools *tools, bool slim)
{
    if (flags->standard)
        return flags->standard;
    return slim || torch_paths_version(&tools->place) < 212 ? "-std=c++17" : "-std=c++20";
}

static void put_compiler(struct buf *script, const struct extension_request *request,
                         const struct extension_tools *tools, const struct extension_file *file,
                         bool slim)
{
    if (file->language == EXTENSION_CUDA) {
        put_word(script, tools->nvcc);
        buf_printf(script, " '-gencode=arch=compute_%s,code=sm_%s'", tools->architecture,
                   tools->architecture);
        put_word(script, language_standard(&request->cuda_flags, tools, slim));
        put_all(script, nvcc_common);
        put_all(script, request->cuda_flags.words);
        return;
    }
    put_word(script, tools->gcc);
    put_word(script, language_standard(&request->cxx, tools, slim));
    put_all(script, gcc_common);
    if (request->cuda) {
        put_word(script, "-O2");
        put_word(script, "-isystem");
        put_joined(script, "", tools->cuda, "/include");
    } else {
        put_all(script, gcc_native);
    }
    put_all(script, request->cxx.words);
}

static void put_unit(struct buf *script, const struct extension_request *request,
                     const struct extension_tools *tools, size_t index, bool slim)
{
    const struct extension_file *file = &request->files[index];
    put_compiler(script, request, tools, file, slim);
    put_joined(script, "-DTORCH_EXTENSION_NAME=", request->name, "");
    put_word(script, "-DTORCH_API_INCLUDE_EXTENSION_H");
    if (slim)
        put_slim(script, request, tools, file);
    else
        put_stock(script, tools);
    if (request->headers)
        put_headers(script, file);
    buf_printf(script, " -c '%s' -o %zu.o >%zu.log 2>&1 & p%zu=$!\n", file->name, index, index,
               index);
}

static void put_link(struct buf *script, const struct extension_request *request,
                     const struct extension_tools *tools, bool slim)
{
    buf_puts(script, "exec");
    put_word(script, tools->gcc);
    put_pair(script, "-shared", "-o");
    put_word(script, EXTENSION_OBJECT);
    for (size_t i = 0; i < request->count; i++)
        if (request->files[i].language != EXTENSION_HEADER)
            buf_printf(script, " %zu.o", i);
    if (slim)
        put_word(script, EXTENSION_GLUE);
    put_joined(script, "-L", tools->place.packages, "/torch/lib");
    put_word(script, "-ltorch_python"); /* which leads the loader to all of PyTorch's libraries */
    if (!slim)
        put_all(script, (const char *const[]){"-ltorch", "-ltorch_cpu", "-lc10", NULL});
    if (request->cuda) {
        put_joined(script, "-L", tools->cuda, "/lib64");
        put_joined(script, "-L", tools->cuda, "/lib64/stubs");
        put_word(script, "-lcudart");
    } else {
        put_word(script, "-fopenmp");
    }
    put_all(script, request->link.words);
    buf_puts(script, "\n");
}

const char *extension_script(struct arena *arena, const struct extension_request *request,
                             const struct extension_tools *tools, bool slim)
{
    struct buf script;
    buf_init(&script, SCRIPT_BYTES);
    for (size_t i = 0; i < request->count; i++)
        if (request->files[i].language != EXTENSION_HEADER)
            put_unit(&script, request, tools, i, slim);
    buf_puts(&script, "bad=0\n");
    for (size_t i = 0; i < request->count; i++)
        if (request->files[i].language != EXTENSION_HEADER)
            buf_printf(&script, "wait $p%zu || { bad=1; printf '%c%zu\\n'; cat %zu.log; }\n", i,
                       EXTENSION_MARK, i, i);
    buf_puts(&script, "[ $bad = 0 ] || exit 1\n");
    put_link(&script, request, tools, slim);
    const char *text = script.cut ? NULL : arena_strdup(arena, script.data);
    buf_deinit(&script);
    return text;
}

const char *extension_glue_script(struct arena *arena, const struct extension_tools *tools)
{
    struct buf script;
    buf_init(&script, SCRIPT_BYTES);
    buf_printf(&script, "for f in '%s'/glue/*.cpp; do", tools->slim);
    put_word(&script, tools->gcc);
    put_all(&script, (const char *const[]){"-std=c++17", "-O2", NULL});
    put_all(&script, gcc_common);
    put_joined(&script, "-I", tools->slim, "/include");
    put_pair(&script, "-isystem", tools->place.include);
    buf_puts(&script, " -c $f -o $(basename $f).o & done\nwait\nexec");
    put_word(&script, tools->gcc);
    put_all(&script, (const char *const[]){"-r", "-nostdlib", "-o", EXTENSION_OBJECT, NULL});
    buf_printf(&script, " $(for f in '%s'/glue/*.cpp; do basename $f.o; done)\n", tools->slim);
    const char *text = arena_strdup(arena, script.data);
    buf_deinit(&script);
    return text;
}
