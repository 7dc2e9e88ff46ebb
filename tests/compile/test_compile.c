#include "compile/compile.h"

#include "../support/test.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "compile/recipe.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define ADD                                                                                        \
    "void solution(const float *x, float *y, int n)\n{\n"                                          \
    "    for (int i = 0; i < n; i++)\n        y[i] = x[i] + 1;\n}\n"

static struct toolchain toolchain;
static char *place;  /* of one test: its TMPDIR */
static char *cache;  /* a directory in it that is not there yet */
static char *before; /* TMPDIR outside the tests */

/* Passes commands on and counts them, or fails in a chosen way. */
struct counting_runner {
    struct runner runner;
    int calls;
    int fail;        /* returned instead of running */
    bool time_out;   /* reported instead of running */
    int kills;       /* so many runs end by SIGKILL */
    bool kills_part; /* and the compiler prints what it runs */
};

static int count_run(struct runner *self, const struct command *command, struct outcome *outcome,
                     struct err *err)
{
    struct counting_runner *counting = (struct counting_runner *)(void *)self;
    counting->calls++;
    if (counting->fail)
        return err_set(err, counting->fail, "the runner does not work");
    if (counting->time_out) {
        outcome->timed_out = true;
        return 0;
    }
    if (counting->kills > 0) {
        counting->kills--;
        outcome->signal = counting->kills_part ? 0 : SIGKILL;
        outcome->exit_code = counting->kills_part ? 1 : -1;
        if (counting->kills_part)
            buf_puts(&outcome->output, "gcc: fatal error: Killed signal terminated program cc1\n");
        return 0;
    }
    return process_runner.run(&process_runner, command, outcome, err);
}

static struct counting_runner counting;

FIXTURE(begin)
{
    place = support_directory();
    cache = support_text("%s/cache", place);
    counting = (struct counting_runner){.runner = {.run = count_run}};
    return setenv("TMPDIR", place, 1);
}

static int count_in(const char *directory, const char *prefix)
{
    int count = 0;
    DIR *stream = opendir(directory);
    struct dirent *item;
    while (stream && (item = readdir(stream)))
        count += strncmp(item->d_name, prefix, strlen(prefix)) == 0;
    if (stream)
        closedir(stream);
    return count;
}

/* Each test leaves no scratch behind. */
FIXTURE(end)
{
    int left = count_in(place, "warpgym-cc-");
    setenv("TMPDIR", before, 1);
    return left == 0 ? 0 : -1;
}

TEST_EACH(begin, end);

static struct compile_request request_of(enum compile_kind kind, const char *name, const char *text)
{
    return (struct compile_request){.kind = kind,
                                    .name = name,
                                    .text = text,
                                    .text_bytes = strlen(text),
                                    .timeout_ms = 60000,
                                    .memory_bytes = 2048 * MIB};
}

static struct artifact build(enum compile_kind kind, const char *name, const char *text)
{
    struct artifact artifact;
    struct err err = {0};
    struct compile_request request = request_of(kind, name, text);
    if (compile_source(&toolchain, &counting.runner, cache, &request, &artifact, &err) < 0)
        fail_msg("%s", err.text);
    return artifact;
}

static const struct {
    const char *text;
    const char *diagnostics; /* how they begin, or all of them where nothing is wrong */
} accepted[] = {
    {ADD, ""},
    {"#include <math.h>\n#include <omp.h>\n#include <stdint.h>\n#include <immintrin.h>\n"
     "void solution(float *y) { y[0] = expf(y[1]) + omp_get_num_threads(); }\n",
     ""},
    {"__int128 solution(__int128 a, __int128 b) { return a / b; }\n", ""},
    {"double solution(double x) { double cos(double); return cos(x); }\n", ""},
    {"static int unused;\nint solution;\n", "a.c:1:12: warning: 'unused' defined but not used"},
    {"#pragma message \"hello\"\nint solution;\n", "a.c:1:9: note: '#pragma message: hello'"},
    {"#pragma GCC diagnostic ignored \"-Wall\"\nint solution;\n", ""},
    {"#line 12 \"kernel.y\"\nint solution;\n", ""},
    {"int caf\xc3\xa9;\n", ""},
};

TEST(accepted)
{
    for (size_t i = 0; i < COUNT(accepted); i++) {
        const char *expected = accepted[i].diagnostics;
        struct artifact artifact = build(COMPILE_C, "a.c", accepted[i].text);
        if (!artifact.ok || strncmp(artifact.diagnostics, expected, strlen(expected)) != 0 ||
            (!*expected && *artifact.diagnostics))
            fail_msg("%s\n%s", accepted[i].text, artifact.diagnostics);
        assert_true(file_exists(artifact.path));
        assert_null(artifact.cache_problem);
        artifact_deinit(&artifact);
    }
}

TEST(cpp)
{
    static const char right[] = "#include <algorithm>\n#include <string>\n"
                                "extern \"C\" void solution(float *x, int n)\n"
                                "{\n    std::sort(x, x + n);\n    if (n < 0)\n"
                                "        throw std::string(\"none\");\n}\n";
    static const char wrong[] = "#include <algorithm>\n#include <vector>\nstruct A { int a; };\n"
                                "extern \"C\" void solution(A *x, int n)\n"
                                "{\n    std::sort(x, x + n);\n}\n";
    struct artifact artifact = build(COMPILE_CPP, "a.cpp", right);
    assert_true(artifact.ok);
    assert_string_equal(artifact.diagnostics, "");
    artifact_deinit(&artifact);
    artifact = build(COMPILE_CPP, "a.cpp", wrong); /* the error lies in a header */
    assert_false(artifact.ok);
    assert_non_null(strstr(artifact.diagnostics, "error: no match for"));
    assert_non_null(strstr(artifact.diagnostics, "a.cpp:6:"));
    artifact_deinit(&artifact);
    artifact = build(COMPILE_C, "a.c", right);
    assert_false(artifact.ok);
    artifact_deinit(&artifact);
}

static const struct {
    const char *text;
    const char *diagnostics; /* how they begin */
} refused[] = {
    {"void solution(void) {\n    int a = 1\n}\n", "a.c:3:1: error: expected ',' or ';'"},
    {"int solution(void) { return y; }\n", "a.c:1:29: error: 'y' undeclared"},
    {"int g(int);\nint solution(void) { return g(1); }\n",
     "a.c: error: undefined reference to 'g' in function 'solution'\n"},
    {"int solution(void) { return g(1); }\n",
     "a.c: error: undefined reference to 'g' in function 'solution'\na.c:1:29: warning: implicit"},
    {"extern \"C\" void solution() {}\n", "a.c:1:8: error: expected"},
    {"#include <nope.h>\n", "a.c:1:10: error: nope.h: No such file or directory\n"},
    {"#include __FILE__\n", "a.c:1:18: error: #include nested depth 200"},
    {"#include \"/etc/passwd\"\n",
     "a.c:1: error: the file that is included here does not compile\n"},
    {"#line 1 \"/etc/passwd\"\nint solution(void) { return y; }\n",
     "a.c: error: about a file that is not part of the source\n"},
    {"#line 7 \"kernel.y\"\nint solution(void) { return y; }\n",
     "kernel.y:7:29: error: 'y' undeclared"},
    {"#error out of memory\n", "a.c:1:2: error: #error out of memory\n"},
    {"#pragma GCC diagnostic error \"-Wunused-variable\"\nvoid solution(void) { int a; }\n",
     "a.c:2:27: error: unused variable 'a'"},
    {"#pragma GCC dependency \"/nope\"\nint a = ;\n", "a.c: error: cc1: nope: No such file"},
    {"_Static_assert(0, \"no\");\n", "a.c:1:1: error: static assertion failed: \"no\"\n"},
    {"void solution(void)\n{\n    asm(\"hoppla\");\n}\n",
     "a.c:3: error: assembler: no such instruction: `hoppla'\n"},
    {"asm(\".incbin \\\"/nope\\\"\");\n", "a.c: error: assembler: file not found: /nope\n"},
    {"asm(\".print \\\"File too large, out of memory\\\"\\n.error \\\"no\\\"\");\n",
     "a.c: error: assembler: no\n"},
    {"asm(\".print \\\"File too large\\\"\");\nint g(int);\nint solution(void) { return g(1); }\n",
     "a.c: error: undefined reference to 'g' in function 'solution'\n"},
    {"int _init;\n", "a.c: error: multiple definition of '_init'\n"},
    {"int solution[1 << 26] = {1};\n", "a.c: error: the program is larger than 64 MiB\n"},
    {"\x7f"
     "ELF\x01\x02\n",
     "a.c:1:1: error: "},
};

TEST(refused)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        const char *expected = refused[i].diagnostics;
        struct artifact artifact = build(COMPILE_C, "a.c", refused[i].text);
        if (artifact.ok || strncmp(artifact.diagnostics, expected, strlen(expected)) != 0 ||
            strstr(artifact.diagnostics, "root:") || strstr(artifact.diagnostics, place))
            fail_msg("%s\n%s", refused[i].text, artifact.diagnostics);
        assert_null(artifact.path);
        assert_false(artifact.timed_out);
        artifact_deinit(&artifact);
    }
}

TEST(artifact_runs)
{
    float x[3] = {1, 2, 3};
    float y[3];
    void (*solution)(const float *, float *, int);
    struct artifact artifact = build(COMPILE_C, "a.c", ADD);
    void *library = dlopen(artifact.path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&solution = dlsym(library, "solution");
    assert_non_null(solution);
    solution(x, y, 3);
    assert_true(y[0] == 2 && y[1] == 3 && y[2] == 4);
    dlclose(library);
    artifact_deinit(&artifact);
}

/* The oracle: the same text, with double where it says float. */
TEST(double_is_double)
{
    static const char text[] = "#include <math.h>\n#include <stdint.h>\n"
                               "void solution(const float *x, float *y)\n"
                               "{\n"
                               "    _Float16 h = x[0] / 3;\n"
                               "    float sum = 0;\n"
                               "    for (int i = 0; i < 1000; i++)\n"
                               "        sum += x[0] / 3;\n"
                               "    y[0] = h;\n"
                               "    y[1] = sum;\n"
                               "    y[2] = expf(x[0]) + powf(x[0], 2) + fmaxf(x[0], 0);\n"
                               "    y[3] = sizeof(float) + sizeof(_Float16);\n"
                               "}\n";
    double x[1] = {0.7};
    double y[4] = {0};
    double sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += x[0] / 3;
    void (*solution)(const double *, double *);
    struct artifact artifact = build(COMPILE_C_DOUBLE, "reference.c", text);
    assert_string_equal(artifact.diagnostics, "");
    void *library = dlopen(artifact.path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&solution = dlsym(library, "solution");
    solution(x, y);
    assert_true(y[0] == x[0] / 3);
    assert_true(y[1] - sum < 1e-10 && sum - y[1] < 1e-10);
    double expected = 2.0137527074704766 + 0.49 + 0.7;
    assert_true(y[2] - expected < 1e-12 && expected - y[2] < 1e-12);
    assert_true(y[3] == 16);
    dlclose(library);
    artifact_deinit(&artifact);

    struct artifact single = build(COMPILE_C, "reference.c", text);
    assert_true(single.ok);
    assert_false(single.cached);
    artifact_deinit(&single);
}

TEST(hit_runs_nothing)
{
    static const struct {
        const char *text, *diagnostics;
        bool ok;
    } rows[] = {
        {ADD, "", true},
        {"static int a;\n",
         "%s:1:12: warning: 'a' defined but not used [-Wunused-variable]\n"
         "    1 | static int a;\n"
         "      |            ^\n",
         true},
        {"int a = ;\n",
         "%s:1:9: error: expected expression before ';' token\n"
         "    1 | int a = ;\n"
         "      |         ^\n",
         false},
    };
    static const char *const names[] = {"first.c", "first.c", "dir/second.c"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        counting.calls = 0;
        for (size_t j = 0; j < 3; j++) {
            struct artifact artifact = build(COMPILE_C, names[j], rows[i].text);
            size_t name_at = strcspn(rows[i].diagnostics, "%");
            const char *rest = rows[i].diagnostics + name_at;
            char *expected = *rest ? mem_printf("%s%s", names[j], rest + 2) : mem_strdup("");
            assert_int_equal(artifact.ok, rows[i].ok);
            assert_int_equal(artifact.cached, j > 0);
            assert_string_equal(artifact.diagnostics, expected);
            assert_int_equal(counting.calls, 1);
            mem_free(expected);
            artifact_deinit(&artifact);
        }
    }
}

TEST(key_covers_what_matters)
{
    static const char text[] = "int a;\n";
    char keys[8][HASH_HEX_BYTES];
    struct toolchain other = toolchain;
    char *readable[] = {(char *)"/usr", NULL};
    int count = 0;
    struct {
        struct toolchain toolchain;
        enum compile_kind kind;
        const char *text;
    } rows[] = {
        {toolchain, COMPILE_C, text},       {toolchain, COMPILE_C_DOUBLE, text},
        {toolchain, COMPILE_C, "int b;\n"}, {toolchain, COMPILE_C, text},
        {toolchain, COMPILE_C, text},       {toolchain, COMPILE_C, text},
        {toolchain, COMPILE_CPP, text},     {toolchain, COMPILE_CPP, text},
    };
    rows[7].toolchain.cxx_version = (char *)"g++ 99";
    rows[3].toolchain.cpu = (char *)"another CPU";
    rows[4].toolchain.cc_version = (char *)"gcc 99";
    rows[5].toolchain.readable = readable;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct recipe recipe;
        assert_int_equal(recipe_init(&recipe, &rows[i].toolchain, rows[i].kind, NULL, false, NULL),
                         0);
        recipe_key(&recipe, rows[i].text, strlen(rows[i].text), keys[count]);
        for (int j = 0; j < count; j++)
            assert_string_not_equal(keys[j], keys[count]);
        count++;
        recipe_deinit(&recipe);
    }
    struct recipe recipe;
    char again[HASH_HEX_BYTES];
    assert_int_equal(recipe_init(&recipe, &other, COMPILE_C, NULL, true, NULL), 0);
    recipe_key(&recipe, text, strlen(text), again);
    assert_string_equal(again, keys[0]); /* in a sandbox or not: the same program */
    recipe_deinit(&recipe);
}

TEST(bundled_toolchain_commands)
{
    static const struct {
        enum compile_kind kind;
        const char *here, *sandboxed;
    } rows[] = {{COMPILE_C, "/opt/tools/usr/bin/gcc", "/usr/bin/gcc"},
                {COMPILE_CPP, "/opt/tools/usr/bin/g++", "/usr/bin/g++"}};
    struct toolchain bundled = {.cc = (char *)"/opt/tools/usr/bin/gcc",
                                .cc_version = (char *)"gcc 12",
                                .cxx = (char *)"/opt/tools/usr/bin/g++",
                                .cxx_version = (char *)"gcc 12",
                                .cpu = (char *)"cpu",
                                .root = (char *)"/opt/tools"};
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        struct recipe recipe;
        bool sysroot = false;
        bool libraries = false;
        bool process = i % 2;
        assert_int_equal(recipe_init(&recipe, &bundled, rows[i / 2].kind, NULL, process, NULL), 0);
        assert_string_equal(recipe.argv[0], process ? rows[i / 2].sandboxed : rows[i / 2].here);
        assert_string_equal(recipe.quoted[0], "/usr");
        for (const char **at = recipe.argv; *at; at++)
            sysroot |= strcmp(*at, "--sysroot=/opt/tools") == 0;
        for (const char **at = recipe.environment; *at; at++)
            libraries |= strcmp(*at, "LD_LIBRARY_PATH=/opt/tools/tools") == 0;
        assert_int_equal(sysroot, !process);
        assert_int_equal(libraries, !process);
        recipe_deinit(&recipe);
    }
}

static void read_whole(const char *path, char **bytes, size_t *count)
{
    struct err err = {0};
    assert_ok(file_read(path, 1 << 20, bytes, count, &err), &err);
}

TEST(builds_are_reproducible)
{
    static const char text[] = "const char *solution(void)\n"
                               "{ return __FILE__ __DATE__ __TIME__ __TIMESTAMP__; }\n";
    char *bytes[2];
    size_t counts[2];
    for (int i = 0; i < 2; i++) {
        struct artifact artifact;
        struct compile_request request = request_of(COMPILE_C, i ? "a.c" : "b.c", text);
        assert_int_equal(compile_source(&toolchain, &process_runner, NULL, &request, &artifact,
                                        NULL),
                         0);
        assert_true(artifact.ok && artifact.owned && !artifact.cached);
        read_whole(artifact.path, &bytes[i], &counts[i]);
        artifact_deinit(&artifact);
    }
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(bytes[0], bytes[1], counts[0]);
    assert_null(memmem(bytes[0], counts[0], place, strlen(place)));
    mem_free(bytes[0]);
    mem_free(bytes[1]);
}

TEST(spoilt_entry_is_built_again)
{
    for (int length = 0; length <= 1000; length += 500) {
        counting.calls = 0;
        struct artifact artifact = build(COMPILE_C, "a.c", ADD);
        assert_int_equal(chmod(artifact.path, 0600), 0);
        assert_int_equal(truncate(artifact.path, length), 0);
        artifact_deinit(&artifact);
        counting.calls = 0;
        artifact = build(COMPILE_C, "a.c", ADD);
        assert_true(artifact.ok);
        assert_false(artifact.cached);
        assert_int_equal(counting.calls, 1);
        artifact_deinit(&artifact);
        artifact = build(COMPILE_C, "a.c", ADD);
        assert_true(artifact.cached);
        artifact_deinit(&artifact);
    }
}

TEST(cache_that_cannot_be_written)
{
    char *file = support_text("%s/file", place);
    assert_int_equal(file_write_atomic(file, "x", 1, 0600, NULL), 0);
    cache = support_text("%s/cache", file);
    for (int i = 0; i < 2; i++) {
        struct artifact artifact = build(COMPILE_C, "a.c", ADD);
        assert_true(artifact.ok && artifact.owned && !artifact.cached);
        assert_non_null(artifact.cache_problem);
        assert_true(file_exists(artifact.path));
        char *path = support_text("%s", artifact.path);
        artifact_deinit(&artifact);
        assert_false(file_exists(path));
        artifact = build(COMPILE_C, "a.c", "int a = ;\n");
        assert_false(artifact.ok);
        assert_non_null(artifact.cache_problem);
        artifact_deinit(&artifact);
    }
}

TEST(timeout_is_reported_and_not_kept)
{
    counting.time_out = true;
    struct artifact artifact = build(COMPILE_C, "a.c", ADD);
    assert_true(!artifact.ok && artifact.timed_out && !artifact.path);
    assert_string_equal(artifact.diagnostics, "a.c: error: compiling takes longer than 60000 ms\n");
    artifact_deinit(&artifact);
    counting.time_out = false;
    artifact = build(COMPILE_C, "a.c", ADD);
    assert_true(artifact.ok && !artifact.timed_out && !artifact.cached);
    artifact_deinit(&artifact);
}

TEST(out_of_memory_is_reported_and_not_kept)
{
    static const char bomb[] = "#define A 1,1,1,1,1,1,1,1,1,1\n"
                               "#define B A,A,A,A,A,A,A,A,A,A\n"
                               "#define C B,B,B,B,B,B,B,B,B,B\n"
                               "#define D C,C,C,C,C,C,C,C,C,C\n"
                               "#define E D,D,D,D,D,D,D,D,D,D\n"
                               "#define F E,E,E,E,E,E,E,E,E,E\n"
                               "int x[] = {F,F,F,F,F,F,F,F,F,F};\n";
    for (int i = 0; i < 2; i++) {
        struct artifact artifact;
        struct compile_request request = request_of(COMPILE_C, "a.c", bomb);
        request.memory_bytes = 160 * MIB;
        assert_int_equal(compile_source(&toolchain, &counting.runner, cache, &request, &artifact,
                                        NULL),
                         0);
        assert_true(!artifact.ok && !artifact.cached);
        assert_string_equal(artifact.diagnostics,
                            "a.c: error: the compiler needs more than 160 MiB of memory\n");
        artifact_deinit(&artifact);
    }
}

TEST(endless_input_ends)
{
    struct artifact artifact;
    struct compile_request request = request_of(COMPILE_C, "a.c", "#include \"/dev/zero\"\n");
    request.memory_bytes = 160 * MIB;
    assert_int_equal(compile_source(&toolchain, &counting.runner, cache, &request, &artifact, NULL),
                     0);
    assert_false(artifact.ok);
    artifact_deinit(&artifact);
}

TEST(errors_behind_a_flood)
{
    struct buf text;
    buf_init(&text, 512 << 10);
    for (int i = 0; i < 300; i++)
        buf_printf(&text, "static int unused_%d;\n", i);
    buf_puts(&text, "int x = 1\n+ y;\n");
    struct artifact artifact = build(COMPILE_C, "a.c", text.data);
    assert_memory_equal(artifact.diagnostics, "a.c:302:3: error: 'y' undeclared", 32);
    assert_true(strlen(artifact.diagnostics) < 10000);
    artifact_deinit(&artifact);
    buf_deinit(&text);
}

TEST(source_that_is_too_long)
{
    size_t count = (1 << 20) + 1;
    char *text = mem_alloc(count + 1);
    memset(text, ' ', count);
    struct artifact artifact = build(COMPILE_C, "a.c", text);
    assert_false(artifact.ok);
    assert_string_equal(artifact.diagnostics,
                        "a.c: error: 1048577 bytes of source, more than the 1048576 allowed\n");
    assert_int_equal(counting.calls, 0);
    artifact_deinit(&artifact);
    mem_free(text);
}

TEST(infrastructure_is_not_the_source)
{
    struct err err = {0};
    struct artifact artifact;
    struct compile_request request = request_of(COMPILE_C, "a.c", "int a = ;\n");
    counting.fail = ERR_CANCELLED;
    assert_int_equal(compile_source(&toolchain, &counting.runner, cache, &request, &artifact, &err),
                     ERR_CANCELLED);
    assert_null(artifact.path);

    struct toolchain none = {.cpu = (char *)"cpu"};
    assert_int_equal(compile_source(&none, &process_runner, cache, &request, &artifact, &err),
                     ERR_MISSING);
    assert_non_null(strstr(err.text, "WARPGYM_CC"));
    request.kind = COMPILE_CUDA;
    assert_int_equal(compile_source(&none, &process_runner, cache, &request, &artifact, &err),
                     ERR_MISSING);
    assert_non_null(strstr(err.text, "WARPGYM_NVCC"));
}

/* Once is bad luck, twice a machine without memory. Neither is the source's, nor is it kept. */
TEST(a_killed_compiler)
{
    for (int part = 0; part < 2; part++)
        for (int kills = 1; kills <= 2; kills++) {
            struct err err = {0};
            struct artifact artifact;
            char *text = support_text("int a = %d;\n", 2 * part + kills);
            struct compile_request request = request_of(COMPILE_C, "a.c", text);
            counting.kills = kills;
            counting.kills_part = part;
            int result = compile_source(&toolchain, &counting.runner, cache, &request, &artifact,
                                        &err);
            assert_int_equal(counting.kills, 0);
            assert_int_equal(result, kills == 1 ? 0 : ERR_IO);
            if (kills == 2)
                assert_non_null(strstr(err.text, "killed"));
            artifact_deinit(&artifact);
            struct artifact again = build(COMPILE_C, "a.c", text);
            assert_true(again.ok);
            assert_int_equal(again.cached, kills == 1);
            artifact_deinit(&again);
        }
}

/* Compilers that fail by themselves, in each way that could be taken for the source's fault. */
TEST(broken_compilers)
{
    static const char *const scripts[] = {
        "exit 1",
        "exit 127",
        "kill -9 $$",
        "echo 'gcc: fatal error: cannot execute cc1'; exit 1",
        "echo '/usr/bin/ld: cannot find -lgomp: No such file'; exit 1",
        "echo 'candidate.c:1:10: fatal error: math.h: No such file or directory'; exit 1",
        "exit 0",
    };
    char *script = support_text("%s/cc", place);
    struct toolchain broken = toolchain;
    broken.cc = script;
    for (size_t i = 0; i < COUNT(scripts); i++) {
        struct err err = {0};
        struct artifact artifact;
        struct compile_request request = request_of(COMPILE_C, "a.c", ADD);
        char *text = support_text("#!/bin/sh\n%s\n", scripts[i]);
        assert_int_equal(file_write_atomic(script, text, strlen(text), 0700, NULL), 0);
        int result = compile_source(&broken, &process_runner, cache, &request, &artifact, &err);
        if (result != ERR_MISSING && result != ERR_IO)
            fail_msg("'%s': %d %s", scripts[i], result, err.text);
        assert_true(err.text[0]);
    }
    struct artifact artifact = build(COMPILE_C, "a.c", ADD);
    assert_true(artifact.ok && !artifact.cached);
    artifact_deinit(&artifact);
}

static int build_many(void)
{
    for (int i = 0; i < 6; i++) {
        struct artifact artifact;
        char *text = support_text("int solution(void) { return %d; }\n", i % 3);
        struct compile_request request = request_of(COMPILE_C, "a.c", text);
        int (*solution)(void);
        if (compile_source(&toolchain, &process_runner, cache, &request, &artifact, NULL) < 0 ||
            !artifact.ok || artifact.owned || (i >= 3 && !artifact.cached))
            return 1;
        void *library = dlopen(artifact.path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return 2;
        *(void **)&solution = dlsym(library, "solution");
        if (solution() != i % 3)
            return 3;
        artifact_deinit(&artifact);
    }
    return 0;
}

TEST(processes_share_a_cache)
{
    pid_t pids[4];
    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(build_many());
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* What a killed process left is removed after a day, by the next process that tends the cache. */
TEST(stale_scratch_is_removed)
{
    static const struct {
        const char *name;
        time_t age_s;
        bool stays;
    } rows[] = {
        {"warpgym-cc-old", 100000, false},
        {"warpgym-cc-new", 1000, true},
        {"another-thing", 100000, true},
    };
    for (size_t i = 0; i < 3; i++) {
        char *path = support_text("%s/%s", place, rows[i].name);
        struct timespec times[2] = {{.tv_sec = time(NULL) - rows[i].age_s},
                                    {.tv_sec = time(NULL) - rows[i].age_s}};
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    struct artifact artifact = build(COMPILE_C, "a.c", ADD);
    artifact_deinit(&artifact);
    for (size_t i = 0; i < 3; i++) {
        char *path = support_text("%s/%s", place, rows[i].name);
        assert_int_equal(file_exists(path), rows[i].stays);
        file_remove_tree(path);
    }
}

/* With nvcc both halves; without it, that this is said. */
TEST(cuda)
{
    static const char good[] = "__global__ void k(float *x) { x[threadIdx.x] += 1; }\n"
                               "extern \"C\" void solution(float *x) { k<<<1, 32>>>(x); }\n";
    static const char bad[] = "__global__ void k(float *x) { x[0] = missing; }\n";
    struct compile_request request = request_of(COMPILE_CUDA, "a.cu", good);
    struct artifact artifact;
    request.memory_bytes = 0;
    int result = compile_source(&toolchain, &process_runner, cache, &request, &artifact, NULL);
    assert_int_equal(result, toolchain.nvcc ? 0 : ERR_MISSING);
    if (result < 0)
        return;
    if (!artifact.ok)
        fail_msg("%s", artifact.diagnostics);
    assert_string_equal(artifact.diagnostics, "");
    artifact_deinit(&artifact);
    artifact = build(COMPILE_CUDA, "a.cu", bad);
    assert_false(artifact.ok);
    assert_memory_equal(artifact.diagnostics,
                        "a.cu:1: error: identifier \"missing\" is undefined\n", 49);
    artifact_deinit(&artifact);
    counting.calls = 0;
    artifact = build(COMPILE_CUDA, "a.cu", bad);
    assert_true(artifact.cached);
    assert_int_equal(counting.calls, 0);
    artifact_deinit(&artifact);
}

int main(void)
{
    before = support_text("%s", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    toolchain_init(&toolchain, NULL);
    int result = tests_run();
    toolchain_deinit(&toolchain);
    return result;
}
