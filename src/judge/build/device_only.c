#include "judge/build/device_only.h"

#include "base/file.h"
#include "compile/compile.h"
#include "problem/launch.h"
#include "problem/native.h"

#include <string.h>

bool device_only(const struct problem *problem, const char *source)
{
    return launch_wanted(source, problem->launch);
}

enum compile_kind device_only_kind(const struct problem *problem, const char *source)
{
    return device_only(problem, source) ? COMPILE_CUBIN : COMPILE_CUDA;
}

int device_only_check(const struct problem *problem, const char *name, const char *source,
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

int device_only_lines(const struct problem *problem, const char *source, struct err *err)
{
    char *text = mem_printf("%s\n%s\n%s", problem->signature,
                            problem->launch ? problem->launch : "", source);
    int fd = file_memory_from("launch lines", text, strlen(text), err);
    mem_free(text);
    return fd;
}
