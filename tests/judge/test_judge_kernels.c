/* The judge's own kernels through a stand-in for nvcc, which fails while a test wants it to, and
 * the stand-in driver. */
#include "../support/fake_cuda.h"
#include "../support/judging.h"
#include "../support/test.h"
#include "base/clock.h"
#include "base/file.h"
#include "judge/build/judge_kernels.h"
#include "judge/judge_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#define NVCC(work) "#!/bin/sh\ncase \"$1\" in --version) echo release; exit;; esac\n" work "\n"
#define COPY                                                                                       \
    "for i; do case \"$i\" in *.so) cp \"$(dirname \"$0\")/../gpu_work.cubin\" \"$i\";; esac; "    \
    "done"
#define WORKING NVCC(COPY)
#define KILL "{ echo \"cicc died due to signal 9 (Kill signal)\"; exit 9; }"
#define KILLED NVCC(KILL)

static _Atomic int cancelled;
static struct build_context context;
static struct gpu_unit *unit;
static char *toolkit; /* the stand-in's directory, which its sandbox may read */

static void install_nvcc(const char *script)
{
    support_write(toolkit, "bin/nvcc", script);
    assert_int_equal(chmod(support_text("%s/bin/nvcc", toolkit), 0755), 0);
}

static void copy_kernels(void)
{
    struct err err = {0};
    char *image;
    size_t bytes;
    char *copy = support_text("%s/gpu_work.cubin", toolkit);
    assert_ok(file_read(fake_gpu_work, (size_t)16 << 20, &image, &bytes, &err), &err);
    assert_ok(file_write_atomic(copy, image, bytes, 0644, &err), &err);
    mem_free(image);
}

/* A judge with the compiler that `nvcc` names. */
static void begin(const char *nvcc)
{
    struct err err = {0};
    struct standby *standby;
    char *driver = support_text("gpu.driver=%s", fake_cuda);
    char *nvml = support_text("gpu.nvml=%s", fake_nvml);
    /* A candidate's limit is none for the judge's own sources. */
    const char *const words[] = {
        driver, nvml, "gpu.nvrtc=/nowhere", "cache.max_bytes=0", "compile.timeout_ms=1ms", NULL};
    cancelled = 0;
    setenv("WARPGYM_NVCC", nvcc, 1);
    judging_begin(words);
    struct judge *judge = judging.judge;
    assert_ok(gpu_pool_take(&judge->gpus, NULL, &unit, &err), &err);
    assert_ok(spawner_standby(&judge->spawner, SANDBOX_NATIVE, &standby, &err), &err);
    context = (struct build_context){.tools = &judge->tools,
                                     .settings = &judging.settings,
                                     .gpu = gpu_unit_context(unit)};
    sandbox_runner_init(&context.runner, standby, true, NULL, &cancelled);
}

FIXTURE(setup)
{
    if (fake_cuda_find(state) != 0)
        return -1;
    toolkit = support_directory();
    assert_int_equal(chmod(toolkit, 0755), 0);
    install_nvcc(WORKING);
    copy_kernels();
    begin(support_text("%s/bin/nvcc", toolkit));
    return 0;
}

FIXTURE(teardown)
{
    if (unit && unit->work.junk) /* a real driver frees it with the context */
        context.gpu->cuda.free(unit->work.junk);
    if (unit)
        gpu_pool_give_back(&judging.judge->gpus, unit);
    unsetenv("WARPGYM_NVCC");
    fake_cuda_clean(state);
    return judging_end(state);
}

static void assert_works(void)
{
    struct err err = {0};
    const struct gpu_work *work = judge_kernels_get(&context, unit, &err);
    assert_ok(work ? 0 : err.code, &err);
    assert_ptr_equal(work, &unit->work);
    assert_ptr_equal(work->gpu, context.gpu);
}

static void assert_fails(int code, const char *words)
{
    struct err err = {0};
    assert_null(judge_kernels_get(&context, unit, &err));
    if (err.code != code || !strstr(err.text, words))
        fail_msg("%s: %s", err_name(err.code), err.text);
}

TEST_EACH(setup, teardown);

TEST(kept_for_ever)
{
    assert_works();
    install_nvcc(KILLED);
    assert_works();
}

/* What fails is tried again, and not by each session that comes. */
TEST(failure)
{
    install_nvcc(KILLED);
    assert_fails(ERR_IO, "nvcc was killed");
    install_nvcc(WORKING);
    assert_fails(ERR_IO, "nvcc was killed");
    assert_true(unit->no_work.until_ns > clock_now_ns());
    unit->no_work.until_ns = clock_now_ns();
    assert_works();
}

TEST(driver_refuses)
{
    setenv("FAKE_CUDA_FAIL", "cuModuleLoadData", 1);
    assert_fails(ERR_IO, "cannot load the judge's kernels");
    fake_cuda_clean(state);
    assert_fails(ERR_IO, "cannot load the judge's kernels");
    unit->no_work.until_ns = clock_now_ns();
    assert_works();
}

/* The sources of peaks fail alone: that is tried again, too. */
TEST(peaks)
{
    install_nvcc(NVCC("grep -q read_bytes *.cu && " KILL "\n" COPY));
    assert_works();
    assert_null(unit->peaks_image);
    gpu_unit_peaks(unit, NULL);
    assert_false(unit->have_peaks);
    install_nvcc(WORKING);
    assert_works();
    assert_null(unit->peaks_image);
    unit->no_peaks.until_ns = clock_now_ns();
    assert_works();
    assert_non_null(unit->peaks_image);
    gpu_unit_peaks(unit, NULL);
    assert_true(unit->have_peaks && !unit->peaks_image);
}

/* The end of one evaluation is no reason for the next. */
TEST(cancelled_compilation)
{
    cancelled = 1;
    assert_fails(ERR_CANCELLED, "cancelled");
    cancelled = 0;
    assert_works();
}

TEST(cancelled_while_it_waits)
{
    pthread_mutex_lock(&context.tools->kernels_lock);
    cancelled = 1;
    assert_fails(ERR_CANCELLED, "cancelled");
    cancelled = 0;
    pthread_mutex_unlock(&context.tools->kernels_lock);
    assert_works();
}

TEST(no_compiler)
{
    gpu_pool_give_back(&judging.judge->gpus, unit);
    assert_int_equal(judging_end(state), 0);
    begin("/nowhere/nvcc");
    assert_fails(ERR_MISSING, "install NVRTC");
}
