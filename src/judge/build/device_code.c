#include "judge/build/device_code.h"

#include "base/file.h"
#include "base/log.h"
#include "judge/judge_internal.h"
#include "problem/launch.h"
#include "problem/native.h"

#include <string.h>
#include <unistd.h>

#define NVRTC_READY_MS 60000 /* 140 MB from a disk that has not read them for a while */

int judge_nvrtc(struct judge *judge, struct standby **standby, struct err *err)
{
    const char *argv[] = {judge->child_program, "--nvrtc", judge->toolchain.nvrtc, NULL};
    static const char *const environment[] = {NULL};
    int result = 0;
    *standby = NULL;
    if (!judge->toolchain.nvrtc)
        return 0;
    pthread_mutex_lock(&judge->lock);
    if (!judge->nvrtc)
        result = standby_open(&judge->nvrtc, argv, environment, NVRTC_READY_MS,
                              judge->options.cancelled, err);
    *standby = judge->nvrtc;
    pthread_mutex_unlock(&judge->lock);
    return result;
}

void judge_warm_nvrtc(struct judge *judge)
{
    struct standby *ignored;
    struct err err;
    bool gpu = access(SANDBOX_GPU_CONTROL, F_OK) == 0 || judge->options.settings->gpu_driver[0];
    if (gpu && judge_nvrtc(judge, &ignored, &err) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "no NVRTC: %s", err.text);
}

bool device_only(const struct problem *problem, const char *source)
{
    return launch_wanted(source, problem->launch);
}

int device_compiler(const struct judge *judge, bool only, struct err *err)
{
    if (judge->toolchain.nvcc || (only && judge->toolchain.nvrtc))
        return 0;
    if (only)
        return err_set(err, ERR_MISSING,
                       "there is no CUDA compiler: install NVRTC (of a CUDA toolkit, or Python's "
                       "nvidia-cuda-nvrtc) or nvcc");
    return err_set(err, ERR_MISSING,
                   "there is no CUDA compiler: install nvcc, or name one in WARPGYM_NVCC");
}

int device_check(const struct problem *problem, const char *name, const char *source,
                 struct err *err)
{
    struct err inner = {0};
    uint32_t line;
    if (native_try_launch(problem, source, &line, &inner) == 0)
        return 0;
    if (line == 0)
        return err_set(err, ERR_INPUT, "%s: error: the problem's launch line: %s", name,
                       inner.text);
    return err_set(err, ERR_INPUT, "%s:%u: error: launch line: %s", name, line, inner.text);
}

int device_lines(const struct problem *problem, const char *source, struct err *err)
{
    char *text = mem_printf("%s\n%s\n%s", problem->signature,
                            problem->launch ? problem->launch : "", source);
    int fd = file_memory_from("launch lines", text, strlen(text), err);
    mem_free(text);
    return fd;
}
