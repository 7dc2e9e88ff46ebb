/* The judge's kernels, as host code on the stand-in driver, against the plain functions that they
 * stand for. */
#include "../support/fake_cuda.h"
#include "../support/gpu_checks.h"
#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"
#include "device/gpu_memory.h"
#include "judge/measure/tensor_work.h"

#include <stdlib.h>

static struct gpu_context gpu;
static struct gpu_work work;
static char *image;

FIXTURE(open_all)
{
    fake_cuda_clean(state);
    return fake_gpu_open(&gpu, &work, &image);
}

FIXTURE(close_all)
{
    gpu_context_close(&gpu);
    mem_free(image);
    return 0;
}

TEST_GROUP(open_all, close_all);

static void run(const struct gpu_check *check, const uint64_t *counts, size_t count_count)
{
    char text[GPU_CHECKS_TEXT] = "";
    struct gpu_checks checks = {.work = &work, .counts = counts, .count_count = count_count};
    int compared = check->run(&checks, text);
    if (compared <= 0)
        fail_msg("%s: %s", check->what, text);
    print_message("%d %s\n", compared, check->what);
}

TEST_EACH(NULL, fake_cuda_clean);

TEST(small)
{
    static const uint64_t counts[] = {1, 31, 32, 257, 2049};
    for (size_t i = 0; i < gpu_check_count; i++)
        run(&gpu_checks[i], counts, COUNT(counts));
}

/* More elements than all threads of a launch: each takes several. */
TEST(large)
{
    enum { COUNT = 4096 * 256 + 999 };
    struct gpu_memory memory[2];
    struct gpu_memory found;
    struct gpu_finding finding;
    struct difference difference;
    struct comparison spec = {.dtype = DTYPE_U8,
                              .expected_dtype = DTYPE_U8,
                              .count = COUNT,
                              .tolerance = {.exact = true}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gpu_memory_make(&memory[i], &gpu, COUNT, NULL), 0);
        assert_int_equal(gpu_memory_fill(&memory[i], 0, 7, COUNT, NULL), 0);
    }
    assert_int_equal(gpu_memory_make(&found, &gpu, sizeof finding, NULL), 0);
    for (int wrong = 0; wrong < 2; wrong++) {
        assert_int_equal(gpu_memory_fill(&memory[1], COUNT - 1, 7 + (unsigned char)wrong, 1, NULL),
                         0);
        assert_int_equal(gpu_memory_fill(&found, 0, 0, sizeof finding, NULL), 0);
        assert_int_equal(gpu_work_compare(&work, &spec, memory[0].address, memory[1].address,
                                          found.address, NULL),
                         0);
        assert_int_equal(gpu_work_wait(&work, NULL), 0);
        assert_int_equal(gpu_memory_read(&found, 0, &finding, sizeof finding, NULL), 0);
        gpu_work_difference(&spec, &finding, &difference);
        assert_int_equal(difference.mismatches, wrong);
        assert_int_equal(difference.first_index, wrong ? COUNT - 1 : 0);
        assert_true(difference.scale > 6.99 && difference.scale < 7.01);
    }
    for (int i = 0; i < 2; i++)
        gpu_memory_free(&memory[i]);
    gpu_memory_free(&found);
}

/* Whatever the driver refuses is an error. */
TEST(refusals)
{
    struct gpu_work other;
    static const char *const functions[] = {"cuCtxSetCurrent", "cuModuleLoadData",
                                            "cuModuleGetFunction"};
    for (size_t i = 0; i < 3; i++) {
        setenv("FAKE_CUDA_FAIL", functions[i], 1);
        assert_int_equal(gpu_work_open(&other, &gpu, image, NULL), ERR_IO);
        assert_null(other.gpu);
        fake_cuda_clean(state);
    }
    static const char nonsense[64] = "no cubin";
    assert_int_equal(gpu_work_open(&other, &gpu, nonsense, NULL), ERR_IO);
    struct gpu_addresses none = {0};
    setenv("FAKE_CUDA_FAIL", "cuLaunchKernel", 1);
    char into[GPU_ADDRESSES * GPU_ADDRESS_BYTES];
    assert_int_equal(gpu_work_gather(&work, &none, into, NULL), ERR_IO);
    fake_cuda_clean(state);
    setenv("FAKE_CUDA_FAIL", "cuCtxSynchronize", 1);
    assert_int_equal(gpu_work_gather(&work, &none, into, NULL), ERR_IO);
    assert_int_equal(gpu_work_wait(&work, NULL), ERR_IO);
}

/* Nothing that an audit asks for is taken to be done where the driver refused it. */
TEST(refused_tensors)
{
    struct tensor_work tensors;
    struct tensor_memory memory = {0};
    struct tensor_trimmed trimmed;
    double *values = mem_alloc(TENSOR_SAMPLE * sizeof *values);
    uint64_t digest;
    assert_int_equal(tensor_work_open(&tensors, &work, NULL), 0);
    const struct tensor_operations *operations = tensors.operations;
    assert_int_equal(operations->reserve(&tensors, &memory, 64, NULL), 0);
    const struct tensor_elements all = {memory.place, 8, DTYPE_F64};
    static const char *const functions[] = {"cuLaunchKernel", "cuCtxSynchronize"};
    for (size_t i = 0; i < COUNT(functions); i++) {
        setenv("FAKE_CUDA_FAIL", functions[i], 1);
        assert_int_equal(operations->sum(&tensors, &all, values, NULL), ERR_IO);
        assert_int_equal(operations->digest(&tensors, memory.place, 64, &digest, NULL), ERR_IO);
        assert_int_equal(operations->pick(&tensors, &all, 1, values, NULL), ERR_IO);
        assert_int_equal(operations->trim(&tensors, &all, 1, &trimmed, NULL), ERR_IO);
        assert_int_equal(operations->coarsen(&tensors, &all, 7, NULL), ERR_IO);
        assert_int_equal(operations->clear(&tensors, memory.place, 2, 32, 8, NULL), ERR_IO);
    }
    assert_int_equal(operations->set(&tensors, &all, 1, NULL), ERR_IO);
    assert_int_equal(operations->copy(&tensors, memory.place, memory.place, 8, NULL), ERR_IO);
    setenv("FAKE_CUDA_FAIL", "cuMemCreate", 1);
    setenv("FAKE_CUDA_ERROR", "2", 1);
    assert_int_equal(operations->reserve(&tensors, &memory, 128, NULL), ERR_LIMIT);
    fake_cuda_clean(state);
    tensor_memory_free(&memory);
    tensor_work_close(&tensors);
    mem_free(values);
}
