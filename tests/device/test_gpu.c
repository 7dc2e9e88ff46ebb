#include "../support/fake_cuda.h"
#include "../support/test.h"
#include "device/gpu.h"

#include <stdlib.h>

TEST_GROUP(fake_cuda_find, NULL);
TEST_EACH(fake_cuda_clean, fake_cuda_clean);

TEST(what_the_driver_reports)
{
    struct gpu_list list;
    struct err err = {0};
    assert_ok(gpu_list(&list, fake_cuda, &err), &err);
    assert_int_equal(err.code, 0); /* callers may look at it alone */
    assert_int_equal(list.count, 2);
    assert_int_equal(list.driver_version, 13000);
    const struct gpu *gpu = &list.items[1];
    assert_int_equal(gpu->ordinal, 1);
    assert_string_equal(gpu->name, "Fake GPU 1");
    assert_string_equal(gpu->uuid, "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
    assert_int_equal(gpu->major * 10 + gpu->minor, 90);
    assert_int_equal(gpu->multiprocessors, 132);
    assert_int_equal(gpu->memory_bytes, UINT64_C(2) << 34);
    assert_int_equal(gpu->l2_bytes, 62914560);
    assert_int_equal(gpu->each.warp_threads, 32);
    assert_int_equal(gpu->each.threads, 2048);
    assert_int_equal(gpu->each.blocks, 32);
    assert_int_equal(gpu->each.registers, 65536);
    assert_int_equal(gpu->each.shared_bytes, 233472);
    assert_int_equal(gpu->each.reserved_bytes, 1024);
    assert_true(gpu->clock_mhz == 1980);
    assert_true(gpu->memory_bytes_per_s == 2.0 * 3201e6 * 6144 / 8);
}

TEST(more_than_the_list_holds)
{
    struct gpu_list list;
    setenv("FAKE_CUDA_DEVICES", "70", 1);
    assert_int_equal(gpu_list(&list, fake_cuda, NULL), 0);
    assert_int_equal(list.count, GPU_MAX);
}

TEST(mig_instances)
{
    struct gpu_list list;
    setenv("FAKE_CUDA_MIG", "1", 1);
    assert_int_equal(gpu_list(&list, fake_cuda, NULL), 0);
    assert_true(list.items[1].mig);
    assert_string_equal(list.items[1].uuid, "MIG-01112131-4151-6171-8191-a1b1c1d1e1f1");
    unsetenv("FAKE_CUDA_MIG");
    assert_int_equal(gpu_list(&list, fake_cuda, NULL), 0);
    assert_false(list.items[1].mig);
}

static const struct {
    const char *devices, *fail, *error;
    int code;
    const char *text;
} refusals[] = {
    {"0", NULL, NULL, ERR_MISSING, "no GPU that it may use"},
    {NULL, "cuInit", "100", ERR_MISSING, "no GPU that it may use"},
    {NULL, "cuInit", "999", ERR_UNSUPPORTED,
     "cannot start the NVIDIA driver: the fake fails on purpose (CUDA_ERROR_FAKE, 999)"},
    {NULL, "cuInit", "998", ERR_UNSUPPORTED,
     "no description (an error that it has no name for, 998)"},
    {NULL, "cuDriverGetVersion", NULL, ERR_UNSUPPORTED, "cannot start the NVIDIA driver"},
    {NULL, "cuDeviceGetCount", NULL, ERR_IO, "cannot count the GPUs"},
    {NULL, "cuDeviceGet", NULL, ERR_IO, "cannot ask GPU 0 what it is"},
    {NULL, "cuDeviceGetUuid_v2", NULL, ERR_IO, "cannot ask GPU 0 what it is"},
    {NULL, "cuDeviceTotalMem_v2", "2", ERR_LIMIT, "cannot ask GPU 0 what it is"},
    {NULL, "cuDeviceGetAttribute", NULL, ERR_IO, "cannot ask GPU 0 what it is"},
};

TEST(refusals)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct gpu_list list;
        struct err err;
        fake_cuda_clean(state);
        if (refusals[i].devices)
            setenv("FAKE_CUDA_DEVICES", refusals[i].devices, 1);
        if (refusals[i].fail)
            setenv("FAKE_CUDA_FAIL", refusals[i].fail, 1);
        if (refusals[i].error)
            setenv("FAKE_CUDA_ERROR", refusals[i].error, 1);
        int result = gpu_list(&list, fake_cuda, &err);
        if (result != refusals[i].code || !strstr(err.text, refusals[i].text))
            fail_msg("row %zu: %s (%s)", i, err_name(result), err.text);
        assert_int_equal(list.count, 0);
    }
}

TEST(no_driver)
{
    struct gpu_list list;
    struct err err;
    assert_int_equal(gpu_list(&list, "/nonexistent/libcuda.so.1", &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "libcuda.so.1 is not on this machine"));
    /* The C library is a shared library, but no driver. */
    assert_int_equal(gpu_list(&list, "libc.so.6", &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "has no cuInit"));
}
