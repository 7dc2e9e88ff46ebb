/* Device code through the NVRTC of this machine, in its sandbox. Without one every test is skipped.
 * WARPGYM_GPU_NVRTC names another than the one that warpgym would find. */
#include "../support/judging.h"
#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/paths.h"
#include "compile/compile.h"
#include "device/nvrtc.h"
#include "judge/gpu/gpu_work.h"
#include "sandbox/runner.h"

#include <glob.h>
#include <stdlib.h>

static struct toolchain toolchain;
static struct standby *standby;
static char *place, *cache;

FIXTURE(begin)
{
    struct err err = {0};
    struct sandbox sandbox;
    struct sandboxed process;
    char *here = realpath(".", NULL);
    char *python = support_text("%s/.venv/bin/python3", here);
    toolchain_init(&toolchain, NULL);
    toolchain_find_nvrtc(&toolchain, getenv("WARPGYM_GPU_NVRTC"), python);
    free(here);
    if (!toolchain.nvrtc) {
        print_message("no libnvrtc on this machine: device code is not compiled here\n");
        return 0;
    }
    place = support_directory();
    cache = support_text("%s/cache", place);
    char *program = paths_child_program(&err);
    const char *argv[] = {program, "--nvrtc", toolchain.nvrtc, NULL};
    static const char *const environment[] = {NULL};
    int result = program ? standby_open(&standby, argv, environment, 60000, NULL, &err) : -1;
    sandbox_init(&sandbox, SANDBOX_NATIVE);
    if (result == 0)
        result = standby_spawn(standby, &sandbox, 60000, &process, &err);
    if (result == 0)
        sandboxed_close(&process);
    else
        print_error("%s\n", err.text);
    mem_free(program);
    return result;
}

FIXTURE(end)
{
    standby_close(standby);
    toolchain_deinit(&toolchain);
    return 0;
}

TEST_GROUP(begin, end);

static uint32_t forbidden; /* layers that the sandbox is not given */

static void compile_with(const char *text, int64_t timeout_ms, const char *into,
                         struct artifact *artifact)
{
    struct sandbox_runner runner;
    struct err err = {0};
    struct compile_request request = {.kind = COMPILE_CUBIN,
                                      .name = "kernel.cu",
                                      .text = text,
                                      .text_bytes = strlen(text),
                                      .architecture = "90a",
                                      .timeout_ms = timeout_ms,
                                      .memory_bytes = UINT64_C(2) << 30};
    if (!standby)
        skip();
    sandbox_runner_init(&runner, NULL, !(forbidden >> LAYER_MOUNT & 1), NULL, NULL);
    runner.resident = standby;
    runner.forbid = forbidden;
    assert_ok(compile_source(&toolchain, &runner.runner, into, &request, artifact, &err), &err);
}

/* The cubin, the caller's; fails where there is none. */
static char *compiled(const char *what, const char *text, size_t *bytes)
{
    struct artifact artifact;
    struct err err = {0};
    char *cubin;
    compile_with(text, 60000, NULL, &artifact);
    if (!artifact.ok)
        fail_msg("%s: %s", what, artifact.diagnostics);
    assert_ok(file_read(artifact.path, LIMIT_ARTIFACT_BYTES, &cubin, bytes, &err), &err);
    artifact_deinit(&artifact);
    return cubin;
}

static void assert_compiles(const char *what, const char *text)
{
    size_t bytes;
    mem_free(compiled(what, text, &bytes));
}

TEST(cubin)
{
    size_t bytes;
    char *cubin = compiled("kernel", "extern \"C\" __global__ void twice(float *x) { *x *= 2; }",
                           &bytes);
    assert_true(bytes > 64);
    assert_memory_equal(cubin, "\177ELF", 4);
    assert_non_null(memmem(cubin, bytes, ".text.twice", 12));
    mem_free(cubin);
}

TEST(judge_kernels)
{
    assert_compiles("gpu_work.cu", gpu_work_source);
}

TEST(solutions)
{
    glob_t found;
    if (!standby)
        skip();
    assert_int_equal(glob("problems/native/*/tests/device*.cu", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct err err = {0};
        char *text;
        size_t bytes;
        assert_ok(file_read(found.gl_pathv[i], LIMIT_SOURCE_BYTES, &text, &bytes, &err), &err);
        assert_compiles(found.gl_pathv[i], text);
        mem_free(text);
    }
    globfree(&found);
}

TEST(standard_headers)
{
    static const char uses[] =
        "#include <cmath>\n#include <cstdint>\n#include <cstddef>\n#include <limits>\n"
        "#include <stdio.h>\n#include <type_traits>\n#include <assert.h>\n#include <float.h>\n"
        "static_assert(sizeof(int64_t) == 8 && sizeof(std::uint16_t) == 2);\n"
        "static_assert(std::numeric_limits<int>::max() == INT_MAX);\n"
        "static_assert(!std::numeric_limits<unsigned>::is_signed);\n"
        "static_assert(std::is_same_v<std::conditional_t<true, int, char>, int>);\n"
        "constexpr float least = -INFINITY, lowest = std::numeric_limits<float>::lowest();\n"
        "__global__ void k(float *x, double *y, ptrdiff_t n)\n"
        "{\n"
        "    assert(n > 0 && x != NULL);\n"
        "    x[0] = std::sqrt(x[1]) + std::fmax(least, lowest) + std::abs(x[2]) + FLT_MAX;\n"
        "    y[0] = std::exp(y[1]) + M_PI + std::numeric_limits<double>::epsilon();\n"
        "    memcpy(x, y, sizeof(float));\n"
        "    printf(\"%f\\n\", x[0]);\n"
        "}\n";
    assert_compiles("headers in use", uses);
    for (size_t i = 0; nvrtc_header_names[i]; i++) {
        char text[256];
        snprintf(text, sizeof text, "#include <%s>\n#include <%s>\n__global__ void k() {}\n",
                 nvrtc_header_names[i], nvrtc_header_names[i]);
        assert_compiles(nvrtc_header_names[i], text);
    }
}

TEST(cuda_headers)
{
    static const char types[] =
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cooperative_groups.h>\n"
        "#include <stdint.h>\n#include <cuda_runtime.h>\n"
        "__global__ void k(__half *x, __nv_bfloat16 *y)\n"
        "{\n"
        "    auto block = cooperative_groups::this_thread_block();\n"
        "    block.sync();\n"
        "    x[0] = __hadd(x[1], __float2half(1.0f));\n"
        "    y[0] = __float2bfloat16(1.0f);\n"
        "}\n";
    static const char matrices[] =
        "#include <mma.h>\n"
        "__global__ void k(float *x)\n"
        "{\n"
        "    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;\n"
        "    nvcuda::wmma::fill_fragment(sum, 0.0f);\n"
        "    x[0] = sum.x[0];\n"
        "}\n";
    if (!standby || !toolchain.nvrtc_includes[0]) {
        print_message("no headers of CUDA on this machine\n");
        skip();
    }
    assert_compiles("CUDA's headers", types);
    char *needed = mem_printf("%s/crt/mma.h", toolchain.nvrtc_includes[0]);
    if (file_exists(needed))
        assert_compiles("mma.h", matrices);
    else
        print_message("no mma.h: there is no %s\n", needed);
    mem_free(needed);
}

/* What is refused, and how the candidate learns of it. */
TEST(errors)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"__global__ void k(float *x)\n{\n    x[0] = y;\n}\n",
         "kernel.cu:3: error: identifier \"y\" is undefined\n      x[0] = y;"},
        {"#include <nowhere.h>\n", "open source file \"nowhere.h\""},
        {"#include \"/etc/passwd\"\n", "open source file"},
        {"#error it is so\n", "kernel.cu:1: error: #error directive: it is so"},
        {"int main() { return k; }\n", "kernel.cu:1: error: identifier \"k\" is undefined"},
        {"__global__ void k(int *x) { asm(\"nonsense %0;\" : \"=r\"(*x)); }\n",
         "kernel.cu: error: ptxas"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct artifact artifact;
        compile_with(rows[i].text, 60000, NULL, &artifact);
        if (artifact.ok || !strstr(artifact.diagnostics, rows[i].says))
            fail_msg("row %zu: %s", i, artifact.diagnostics);
        assert_null(strstr(artifact.diagnostics, "root:"));
        assert_null(strstr(artifact.diagnostics, place));
        artifact_deinit(&artifact);
    }
}

/* A compiler that is kept busy, or full, ends; the next one is none the worse for it. */
TEST(floods)
{
    static const char slow[] =
        "template <int n, int m> struct busy {\n"
        "    static constexpr long value = busy<n - 1, m>::value +\n"
        "                                  busy<n - 1, m + (1 << n)>::value;\n"
        "};\n"
        "template <int m> struct busy<0, m> {\n"
        "    static constexpr long value = 1;\n"
        "};\n"
        "__global__ void k(long *x) { *x = busy<24, 0>::value; }\n";
    struct artifact artifact;
    compile_with(slow, 500, NULL, &artifact);
    assert_false(artifact.ok);
    assert_true(artifact.timed_out || strstr(artifact.diagnostics, "memory"));
    artifact_deinit(&artifact);
    assert_compiles("the next one", "__global__ void k() {}\n");
}

TEST(kept)
{
    static const char text[] = "extern \"C\" __global__ void k(float *x) { *x = 1; }\n";
    static const char *const broken = "__global__ void k(float *x) { *x = ; }\n";
    for (int i = 0; i < 2; i++) {
        struct artifact good;
        struct artifact bad;
        compile_with(text, 60000, cache, &good);
        compile_with(broken, 60000, cache, &bad);
        assert_true(good.ok && !bad.ok);
        assert_int_equal(good.cached, i == 1);
        assert_int_equal(bad.cached, i == 1);
        artifact_deinit(&good);
        artifact_deinit(&bad);
    }
}

/* Where sandboxes get no root of their own, Landlock alone keeps files away. */
TEST(without_mounts)
{
    struct artifact artifact;
    forbidden = 1U << LAYER_MOUNT;
    compile_with("#include <stdint.h>\n__global__ void k(int8_t *x) { *x = 1; }\n", 60000, NULL,
                 &artifact);
    if (!artifact.ok)
        fail_msg("%s", artifact.diagnostics);
    artifact_deinit(&artifact);
    if (sandbox_landlock_abi() > 0) {
        compile_with("#include \"/etc/hostname\"\n__global__ void k() {}\n", 60000, NULL,
                     &artifact);
        assert_false(artifact.ok);
        assert_non_null(strstr(artifact.diagnostics, "open source file"));
        artifact_deinit(&artifact);
    }
    forbidden = 0;
}
