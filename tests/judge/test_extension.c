/* What of an extension's request is taken, and which of its errors no other header could mend. */
#include "../support/test.h"
#include "compile/diagnostics.h"
#include "judge/build/extension_certain.h"
#include "judge/build/extension_script.h"

#include <stdio.h>

enum tool { CXX, CUDA, LINK };

static const struct flag_case {
    enum tool tool;
    const char *given;
    const char *kept; /* NULL: refused */
} flag_cases[] = {
    {CXX, "-O3 -march=native", "-O3 -march=native"},
    {CXX, "-O3 -std=c++20 -fPIC", "-O3"},
    {CXX, "-DNAME=1 -I/usr/local/cuda/include", "-DNAME=1"},
    {CXX, "-Wall -Wno-unused", ""},
    {CXX, "-fopenmp", "-fopenmp"},
    {CXX, "-fconstexpr-ops-limit=100000000 -ftemplate-depth=2000",
     "-fconstexpr-ops-limit=100000000 -ftemplate-depth=2000"},
    {CXX, "-mavx512vl -mno-red-zone -fbounds-of-tomorrow",
     "-mavx512vl -mno-red-zone -fbounds-of-tomorrow"},
    {CXX, "--param=inline-unit-growth=200", "--param=inline-unit-growth=200"},
    {CXX, "-ggdb -pipe -Wconversion -pedantic-errors -fdiagnostics-color=always", ""},
    {CXX, "-fplugin-arg-x-y=z", NULL},
    {CXX, "-fprofile-use=x", NULL},
    {CXX, "-fprofile-generate", NULL},
    {CXX, "-fstack-usage", NULL},
    {CXX, "-fopt-info-vec=x", NULL},
    {CXX, "-fmodule-mapper=x", NULL},
    {CXX, "-fuse-ld=x", NULL},
    {CXX, "-fsanitize-blacklist=x", NULL},
    {CXX, "-fmacro-prefix-map=/etc=x", NULL},
    {CXX, "-ffile-list=/etc/passwd", NULL},
    {CXX, "-Wp,-MD,x", NULL},
    {CXX, "-Wa,-al=x", NULL},
    {CXX, "-save-temps", NULL},
    {CXX, "-x c", NULL},
    {CXX, "-E", NULL},
    {CXX, "--sysroot=x", NULL},
    {CXX, "-Xassembler x", NULL},
    {CXX, "-nostdinc", NULL},
    {CXX, "-fplugin=/tmp/x.so", NULL},
    {CXX, "-fplugin=x.so", NULL},
    {CXX, "-include /etc/passwd", NULL},
    {CXX, "-include x.h", NULL},
    {CXX, "@file", NULL},
    {CXX, "-wrapper sh,-c", NULL},
    {CXX, "-B.", NULL},
    {CXX, "-specs=x", NULL},
    {CXX, "-o x", NULL},
    {CXX, "-fdump-tree-all", NULL},
    {CXX, "-MF x", NULL},
    {CXX, "-DX=$(id)", NULL},
    {CXX, "-DX=`id`", NULL},
    {CXX, "-DX=/etc/passwd", NULL},
    {CUDA, "-O3 --use_fast_math -lineinfo", "-O3 --use_fast_math -lineinfo"},
    {CUDA, "-gencode arch=compute_80,code=sm_80 -arch=sm_70", ""},
    {CUDA, "-Xptxas -v,-O3", "-Xptxas -v,-O3"},
    {CUDA, "--ptxas-options=-v", "--ptxas-options=-v"},
    {CUDA, "-Xcompiler -O2,-fopenmp", "-Xcompiler=-O2 -Xcompiler=-fopenmp"},
    {CUDA, "-Xcompiler '-fPIC'", ""},
    {CUDA, "-Xcompiler -fplugin=x", NULL},
    {CUDA, "-Xcompiler", NULL},
    {CUDA, "--compiler-options=", ""},
    {CUDA, "-Xlinker -T,x", NULL},
    {CUDA, "-ccbin /tmp/sh", NULL},
    {CUDA, "--options-file x", NULL},
    {CUDA, "-optf x", NULL},
    {CUDA, "-include x", NULL},
    {CUDA, "-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_OPERATORS__"},
    {CUDA, "--run", NULL},
    {CUDA, "-ftemplate-depth=900 -fno-strict-aliasing --forward-unknown-opts",
     "-ftemplate-depth=900"},
    {CUDA, "-Xcompiler -fconstexpr-depth=9", "-Xcompiler=-fconstexpr-depth=9"},
    {CUDA, "--keep", NULL},
    {CUDA, "--pre-include x", NULL},
    {LINK, "-lcublas -L/usr/lib -ltorch", "-lcublas"},
    {LINK, "-l:evil.so", NULL},
    {LINK, "-Wl,-T,script", NULL},
    {LINK, "evil.o", NULL},
    {LINK, "-s -Wl,-z,now -static-libstdc++", ""},
    {LINK, "-Wl,--dynamic-linker=x", NULL},
};

TEST(flags)
{
    for (size_t i = 0; i < COUNT(flag_cases); i++) {
        const struct flag_case *test = &flag_cases[i];
        struct extension_request request = {0};
        struct extension_flags *tools[] = {&request.cxx, &request.cuda_flags, &request.link};
        struct err err = {0};
        char kept[256] = "";
        int result = extension_flags_add(&request, tools[test->tool], test->given, &err);
        for (size_t word = 0; word < tools[test->tool]->count; word++)
            snprintf(kept + strlen(kept), sizeof kept - strlen(kept), "%s%s", word ? " " : "",
                     tools[test->tool]->words[word]);
        if ((result == 0) != (test->kept != NULL) || (test->kept && strcmp(kept, test->kept) != 0))
            fail_msg("%s: %d, \"%s\" %s", test->given, result, kept, err.text);
        if (!test->kept)
            assert_non_null(strstr(err.text, "not available"));
        extension_request_deinit(&request);
    }
}

static int parse(const char *text, struct extension_request *request, json_t **object,
                 struct err *err)
{
    assert_int_equal(json_parse("request", text, strlen(text), object, err), 0);
    return extension_request_init(request, *object, err);
}

static const struct {
    const char *text;
    int result;
} request_cases[] = {
    {"{\"name\":\"x\",\"files\":[{\"name\":\"main.cpp\",\"text\":\"\"}]}", 0},
    {"{\"name\":\"x\",\"files\":[{\"name\":\"a.cu\",\"text\":\"\"}],\"cflags\":[\"-O3\"]}", 0},
    {"{\"name\":\"../x\",\"files\":[]}", ERR_INPUT},
    {"{\"name\":\"1x\",\"files\":[]}", ERR_INPUT},
    {"{\"name\":\"x\"}", ERR_INPUT},
    {"{\"name\":\"x\",\"files\":[{\"name\":\"../a.cu\",\"text\":\"\"}]}", ERR_INPUT},
    {"{\"name\":\"x\",\"files\":[{\"name\":\"-o.cu\",\"text\":\"\"}]}", ERR_INPUT},
    {"{\"name\":\"x\",\"files\":[{\"name\":\"a'b.cu\",\"text\":\"\"}]}", ERR_INPUT},
    {"{\"name\":\"x\",\"files\":[{\"name\":\"a.cu\",\"text\":\"\"},"
     "{\"name\":\"a.cu\",\"text\":\"\"}]}",
     ERR_INPUT},
    {"{\"name\":\"x\",\"files\":[],\"cflags\":[1]}", ERR_INPUT},
    {"{\"name\":\"x\",\"files\":[],\"cflags\":[\"-fplugin=x\"]}", ERR_INPUT},
};

TEST(requests)
{
    for (size_t i = 0; i < COUNT(request_cases); i++) {
        struct extension_request request;
        struct err err = {0};
        json_t *object = NULL;
        int result = parse(request_cases[i].text, &request, &object, &err);
        if (result != request_cases[i].result)
            fail_msg("%s: %d %s", request_cases[i].text, result, err.text);
        extension_request_deinit(&request);
        json_decref(object);
    }
}

TEST(headers_by_words)
{
    struct extension_file file = {
        .name = "a.cu",
        .text = "__half x; std::accumulate(a, b, 0); // half_way\n std::min(1, 2);",
        .language = EXTENSION_CUDA};
    const char *headers[8];
    char all[128] = "";
    size_t count = extension_headers(&file, headers, 8);
    for (size_t i = 0; i < count; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", headers[i]);
    assert_string_equal(all, "algorithm numeric cmath cuda_fp16.h ");
    file.language = EXTENSION_CXX;
    assert_int_equal(extension_headers(&file, headers, 8), 3);
    assert_false(extension_has_word("halfway", "half"));
    assert_true(extension_has_word("a halfway half", "half"));
}

#define SLIM "#define TORCH_CHECK(C) …\n"
#define OWN DIAGNOSTICS_NAME

static const struct certain_case {
    const char *source, *diagnostics;
    enum certainty certainty;
    const char *name;
} certain_cases[] = {
    {"", OWN ":3:5: error: expected ';' before '}' token\n    3 | x = 1\n", CERTAIN, ""},
    {"", OWN ":3: error: expected a \";\"\n      x = 1\n", CERTAIN, ""},
    {"TORCH_CHECK(x)", OWN ":3: error: expected a \";\"\n", CERTAIN, ""},
    /* a macro of PyTorch that we do not have may look like that */
    {"TORCH_LIBRARY(a, m) {}", OWN ":3: error: expected a \";\"\n", CERTAIN_NOT, ""},
    {"#define AT_MINE(x)\nAT_MINE(1)", OWN ":3: error: expected a \";\"\n", CERTAIN, ""},
    {"", OWN ":3: error: identifier \"foo\" is undefined\n", CERTAIN_UNLESS_KNOWN, "foo"},
    {"", OWN ":3:1: error: 'foo' was not declared in this scope; did you mean 'fop'?\n",
     CERTAIN_UNLESS_KNOWN, "foo"},
    {"", OWN ":3: error: class \"at::Tensor\" has no member \"foo\"\n", CERTAIN_UNLESS_KNOWN,
     "foo"},
    {"", OWN ":3:1: error: 'class at::Tensor' has no member named 'foo'\n", CERTAIN_UNLESS_KNOWN,
     "foo"},
    {"", OWN ":3:1: error: 'torch::nn' has not been declared\n", CERTAIN_NOT, ""},
    {"", OWN ":1:10: error: ATen/native/x.h: No such file or directory\n", CERTAIN_NOT, ""},
    {"", OWN ": error: ptxas: Entry function 'k' uses too much shared data\n", CERTAIN, ""},
    {"",
     OWN ":3: error: argument of type \"float *\" is incompatible with parameter of type \"int\"\n"
         "      f(p);\n",
     CERTAIN, ""},
    {"",
     OWN ":3: error: no suitable conversion function from \"at::Tensor\" to \"float *\" exists\n",
     CERTAIN_NOT, ""},
    {"", OWN ":3: error: too few arguments in function call\n      int n = x.size();\n",
     CERTAIN_NOT, ""},
    {"", OWN ":3: error: static assertion failed with \"x\"\n", CERTAIN_NOT, ""},
    {"", "/slim/include/warpgym/bind.h:7: error: expected a \";\"\n", CERTAIN_NOT, ""},
    {"", "", CERTAIN_NOT, ""},
};

TEST(certain)
{
    for (size_t i = 0; i < COUNT(certain_cases); i++) {
        const struct certain_case *test = &certain_cases[i];
        struct extension_request request = {.count = 1};
        char name[CERTAIN_NAME_BYTES];
        request.files[0] = (struct extension_file){.name = "cuda.cu", .text = test->source};
        enum certainty found = extension_certain(&request, SLIM, test->diagnostics, name);
        if (found != test->certainty || strcmp(name, test->name) != 0)
            fail_msg("%s: %d \"%s\"", test->diagnostics, (int)found, name);
    }
}

TEST(scripts)
{
    static const char text[] = "{\"name\":\"x\",\"files\":[{\"name\":\"main.cpp\",\"text\":\"\"},"
                               "{\"name\":\"cuda.cu\",\"text\":\"std::vector<half> v;\"},"
                               "{\"name\":\"a.cuh\",\"text\":\"\"}],\"cuda_cflags\":[\"-O3\"]}";
    char packages[] = "/p";
    char include[] = "/py";
    char version[] = "2.11.0+cu130";
    struct extension_tools tools = {.gcc = "/g++",
                                    .nvcc = "/nvcc",
                                    .cuda = "/cuda",
                                    .architecture = "90a",
                                    .slim = "/slim",
                                    .place = {.packages = packages,
                                              .include = include,
                                              .version = version}};
    struct extension_request request;
    json_t *object = NULL;
    assert_int_equal(parse(text, &request, &object, NULL), 0);
    const char *slim = extension_script(&request.arena, &request, &tools, true);
    assert_non_null(strstr(slim, "code=sm_90a"));
    assert_non_null(strstr(slim, "'-include' 'cuda_fp16.h'"));
    assert_non_null(strstr(slim, "'/slim/include'"));
    assert_non_null(strstr(slim, "-DWARPGYM_TORCH=211"));
    assert_non_null(strstr(slim, EXTENSION_GLUE));
    assert_null(strstr(slim, "/p/torch/include"));
    assert_null(strstr(slim, "a.cuh"));
    const char *stock = extension_script(&request.arena, &request, &tools, false);
    assert_non_null(strstr(stock, "/p/torch/include"));
    assert_null(strstr(stock, "slim"));
    extension_request_deinit(&request);
    json_decref(object);
}
