#include "judge/build/device_code.h"

#include "base/file.h"
#include "compile/compile.h"
#include "problem/launch.h"
#include "problem/native.h"

#include <string.h>

bool device_only(const struct problem *problem, const char *source)
{
    return launch_wanted(source, problem->launch);
}

int device_compiler(const struct toolchain *toolchain, bool only, struct err *err)
{
    if (toolchain->nvcc || (only && toolchain->nvrtc))
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
