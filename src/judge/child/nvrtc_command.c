#include "judge/child/nvrtc_command.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "device/nvrtc.h"

#include <stdio.h>
#include <string.h>

static struct nvrtc nvrtc; /* there is one compiler in a process */

int nvrtc_command_load(const char *library, struct err *err)
{
    static const char warm[] = "__global__ void warm(float *x) { *x = expf(*x); }";
    static const char *const options[] = {"--gpu-architecture=sm_90"};
    struct nvrtc_output output;
    int result = nvrtc_open(&nvrtc, library, err);
    if (result < 0)
        return result;
    /* Only to load its parts; if it fails, a candidate's own compilation shows why. */
    if (nvrtc_compile(&nvrtc, "warm.cu", warm, options, 1, &output, err) == 0)
        nvrtc_output_deinit(&output);
    return 0;
}

static int compile_source(const char *path, const char *object, const char *const *options,
                          size_t option_count, struct err *err)
{
    struct nvrtc_output output;
    char *text;
    size_t bytes;
    int result = file_read(path, LIMIT_SOURCE_BYTES, &text, &bytes, err);
    if (result < 0)
        return result;
    result = nvrtc_compile(&nvrtc, path, text, options, option_count, &output, err);
    mem_free(text);
    if (result < 0)
        return result;
    fputs(output.log, stdout);
    if (output.ok)
        result = file_write_atomic(object, output.cubin, output.cubin_bytes, 0644, err);
    else
        result = err_set(err, ERR_INPUT, "%s does not compile", path);
    nvrtc_output_deinit(&output);
    return result;
}

int nvrtc_command_compile(int argc, char **argv)
{
    struct err err = {0};
    int options = argc - 4;
    if (options < 0 || strcmp(argv[argc - 2], "-o") != 0)
        return 2;
    int result = compile_source(argv[argc - 3], argv[argc - 1], (const char *const *)argv + 1,
                                (size_t)options, &err);
    if (result < 0 && result != ERR_INPUT)
        printf("nvrtc: error: %s\n", err.text);
    return fflush(stdout) == 0 && result == 0 ? 0 : 1;
}
