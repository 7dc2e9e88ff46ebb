#include "../support/fake_cuda.h"
#include "../support/test.h"
#include "device/gpu_memory.h"

#include <fcntl.h>
#include <stdlib.h>

static void open_gpu(struct gpu_context *gpu)
{
    struct err err;
    assert_ok(gpu_context_open(gpu, fake_cuda, 1, &err), &err);
}

TEST_GROUP(fake_cuda_find, NULL);
TEST_EACH(NULL, fake_cuda_clean);

TEST(context)
{
    struct gpu_context gpu;
    open_gpu(&gpu);
    assert_string_equal(gpu.facts.name, "Fake GPU 1");
    assert_int_equal(gpu.facts.major * 10 + gpu.facts.minor, 90);
    assert_int_equal(gpu_context_use(&gpu, NULL), 0);
    gpu_context_close(&gpu);
    gpu_context_close(&gpu);
}

TEST(two_mappings_of_one_memory)
{
    struct gpu_context gpu;
    struct gpu_memory made, imported;
    char text[8] = "";
    open_gpu(&gpu);
    assert_int_equal(gpu_memory_make(&made, &gpu, 5000000, NULL), 0);
    assert_int_equal(made.bytes, 6 << 20); /* whole units */
    assert_int_equal(gpu_memory_import(&imported, &gpu, made.fd, made.bytes, NULL), 0);
    assert_true(imported.address != made.address);
    assert_int_equal(gpu_memory_write(&made, 4999000, "warpgym", 8, NULL), 0);
    assert_int_equal(gpu_memory_read(&imported, 4999000, text, 8, NULL), 0);
    assert_string_equal(text, "warpgym");
    assert_int_equal(gpu_memory_fill(&imported, 4999001, 'e', 2, NULL), 0);
    gpu_memory_free(&imported);
    assert_int_equal(gpu_memory_read(&made, 4999000, text, 8, NULL), 0);
    assert_string_equal(text, "weepgym");
    gpu_memory_free(&made);
    gpu_memory_free(&made);
    gpu_context_close(&gpu);
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 200; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Every function of the driver may fail, and nothing is left behind. */
TEST(refusals)
{
    static const struct {
        const char *function, *error, *text;
        int code;
    } rows[] = {
        {"cuMemGetAllocationGranularity", "999", "cannot make memory on the GPU", ERR_IO},
        {"cuMemCreate", "2", "cannot make memory on the GPU", ERR_LIMIT},
        {"cuMemExportToShareableHandle", "999", "cannot make memory on the GPU", ERR_IO},
        {"cuMemAddressReserve", "2", "cannot make memory on the GPU", ERR_LIMIT},
        {"cuMemMap", "999", "cannot make memory on the GPU", ERR_IO},
        {"cuMemSetAccess", "999", "cannot make memory on the GPU", ERR_IO},
    };
    struct gpu_context gpu;
    open_gpu(&gpu);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gpu_memory memory;
        struct err err;
        size_t before = open_descriptors();
        setenv("FAKE_CUDA_FAIL", rows[i].function, 1);
        setenv("FAKE_CUDA_ERROR", rows[i].error, 1);
        int result = gpu_memory_make(&memory, &gpu, 1, &err);
        fake_cuda_clean(NULL);
        if (result != rows[i].code || strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
            fail_msg("%s: %d, %s", rows[i].function, result, err.text);
        assert_null(memory.gpu);
        assert_int_equal(open_descriptors(), before);
    }
    gpu_context_close(&gpu);
}

TEST(contexts_that_cannot_be_made)
{
    static const char *const functions[] = {"cuDeviceGet", "cuDevicePrimaryCtxRetain",
                                            "cuCtxSetCurrent"};
    for (size_t i = 0; i < COUNT(functions); i++) {
        struct gpu_context gpu;
        struct err err;
        setenv("FAKE_CUDA_FAIL", functions[i], 1);
        assert_int_equal(gpu_context_open(&gpu, fake_cuda, 0, &err), ERR_IO);
        assert_non_null(strstr(err.text, "cannot use GPU 0"));
        assert_false(gpu.open);
    }
}
