/* Finding NVRTC, and calling it: the stand-in of tests/fake. What compiles is tested with the real
 * one (tests/judge/test_device_only.c). */
#include "device/nvrtc.h"

#include "../support/judging.h"
#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"
#include "device/library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fake[PATH_MAX + 16];
static char *place; /* of one test */

FIXTURE(find_fake)
{
    char self[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return -1;
    for (int up = 0; up < 2; up++)
        *strrchr(self, '/') = '\0';
    snprintf(fake, sizeof fake, "%s/fake/nvrtc.so", self);
    return access(fake, R_OK);
}

TEST_GROUP(find_fake, NULL);

FIXTURE(begin)
{
    place = realpath(support_directory(), NULL);
    unsetenv("CUDA_HOME");
    return place ? 0 : -1;
}

FIXTURE(end)
{
    unsetenv("CUDA_HOME");
    mem_free(place);
    return 0;
}

static void make_file(const char *name, const char *text)
{
    struct err err = {0};
    char *path = support_text("%s/%s", place, name);
    char *directory = support_text("%s", path);
    *strrchr(directory, '/') = '\0';
    assert_ok(file_make_directories(directory, 0755, &err), &err);
    assert_ok(file_write_atomic(path, text, strlen(text), 0755, &err), &err);
}

/* Where things lie below `place`: a program and a library that is found by it; NULL: none is. */
static const struct {
    const char *nvcc, *python, *library, *found;
} places[] = {
    {"cuda/bin/nvcc", NULL, "cuda/lib64/libnvrtc.so.13", "cuda/lib64/libnvrtc.so.13"},
    {"cuda/bin/nvcc", NULL, "cuda/targets/x86_64-linux/lib/libnvrtc.so.12",
     "cuda/targets/x86_64-linux/lib/libnvrtc.so.12"},
    {"usr/bin/nvcc", NULL, "usr/lib/x86_64-linux-gnu/libnvrtc.so.12",
     "usr/lib/x86_64-linux-gnu/libnvrtc.so.12"},
    {NULL, "venv/bin/python3", "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
     "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
    {NULL, "venv/bin/python3",
     "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
     "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
};

TEST_WITH(places, NULL, end)
{
    for (size_t i = 0; i < COUNT(places); i++) {
        struct nvrtc_place found;
        assert_int_equal(begin(NULL), 0);
        const char *program = places[i].nvcc ? places[i].nvcc : places[i].python;
        char *path = support_text("%s/%s", place, program);
        char *wanted = support_text("%s/%s", place, places[i].found);
        make_file(program, "");
        make_file(places[i].library, "");
        nvrtc_find(&found, "", places[i].nvcc ? path : NULL, places[i].python ? path : NULL);
        assert_non_null(found.library);
        assert_string_equal(found.library, wanted);
        nvrtc_place_deinit(&found);
        assert_int_equal(end(NULL), 0);
    }
    assert_int_equal(begin(NULL), 0);
}

TEST_WITH(named, begin, end)
{
    struct nvrtc_place found;
    make_file("here/lib64/libnvrtc.so.13", "");
    setenv("CUDA_HOME", place, 1);
    nvrtc_find(&found, "/nowhere/libnvrtc.so", NULL, NULL);
    assert_null(found.library);
    nvrtc_place_deinit(&found);
    char *named = mem_printf("%s/here/lib64/libnvrtc.so.13", place);
    nvrtc_find(&found, named, NULL, NULL);
    assert_string_equal(found.library, named);
    nvrtc_place_deinit(&found);
    mem_free(named);
}

/* The newest one of a toolkit, and its headers; not those of another major version. */
TEST_WITH(headers, begin, end)
{
    struct nvrtc_place found;
    setenv("CUDA_HOME", place, 1);
    make_file("lib64/libnvrtc.so.12", "");
    make_file("lib64/libnvrtc.so.13", "");
    make_file("include/cuda_fp16.h", "");
    make_file("include/cuda.h", "/* */\n#define CUDA_VERSION 13000\n");
    make_file("include/cccl/cuda/std/limits", "");
    nvrtc_find(&found, NULL, NULL, NULL);
    assert_non_null(strstr(found.library, "libnvrtc.so.13"));
    assert_non_null(strstr(found.includes[0], "/include"));
    assert_non_null(strstr(found.includes[1], "/include/cccl"));
    assert_null(found.includes[2]);
    nvrtc_place_deinit(&found);
    make_file("include/cuda.h", "#define CUDA_VERSION 12090\n");
    nvrtc_find(&found, NULL, NULL, NULL);
    if (found.includes[0]) /* this machine's own toolkit */
        assert_null(strstr(found.includes[0], place));
    nvrtc_place_deinit(&found);
}

TEST(calls)
{
    static const char *const good[] = {"--gpu-architecture=sm_90a"};
    static const char *const bad[] = {"--nonsense"};
    struct nvrtc nvrtc;
    struct nvrtc_output output;
    struct err err = {0};
    if (nvrtc_open(&nvrtc, fake, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(nvrtc.major, 13);
    assert_int_equal(nvrtc_compile(&nvrtc, "k.cu", "\n#error no\n", good, 1, &output, &err), 0);
    assert_false(output.ok);
    assert_null(output.cubin);
    assert_string_equal(output.log, "k.cu(2): error: #error no\n");
    nvrtc_output_deinit(&output);
    assert_int_equal(nvrtc_compile(&nvrtc, "k.cu", "", bad, 1, &output, &err), ERR_IO);
    assert_non_null(strstr(err.text, "NVRTC 13.0 failed: the fake fails on purpose"));
    nvrtc_close(&nvrtc);
    assert_int_equal(nvrtc_open(&nvrtc, "/nowhere/libnvrtc.so", &err), ERR_MISSING);
    assert_int_equal(nvrtc_open(&nvrtc, "libm.so.6", &err), ERR_UNSUPPORTED);
}

/* What a library need not have is NULL where it has it not. */
TEST(optional)
{
    struct {
        void *there, *missing;
    } table = {&table, &table};
    const struct library_function functions[] = {
        {"nvrtcVersion", offsetof(__typeof__(table), there), false},
        {"nvrtcNeverHeardOf", offsetof(__typeof__(table), missing), true},
    };
    const char *const names[] = {"/nowhere.so", fake, NULL};
    void *handle;
    assert_int_equal(library_open(&handle, names, functions, 2, &table, NULL), 0);
    assert_non_null(table.there);
    assert_ptr_not_equal(table.there, &table);
    assert_null(table.missing);
    library_close(&handle);
}
