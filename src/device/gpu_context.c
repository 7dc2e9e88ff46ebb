#include "device/gpu_context.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void find_directory(struct gpu_context *gpu)
{
    char *real = gpu->directory;
    Dl_info found;
    void *function;
    memcpy(&function, &gpu->cuda.init, sizeof function);
    if (dladdr(function, &found) && found.dli_fname && realpath(found.dli_fname, real))
        *strrchr(real, '/') = '\0';
    else
        real[0] = '\0';
}

static cuda_result start_context(struct gpu_context *gpu, int ordinal)
{
    const struct cuda *cuda = &gpu->cuda;
    cuda_result result = gpu_read(cuda, ordinal, &gpu->facts);
    if (result == 0)
        result = cuda->device_get(&gpu->device, ordinal);
    if (result == 0)
        result = cuda->context_flags(gpu->device, CUDA_CONTEXT_SPIN);
    if (result == 0)
        result = cuda->context_retain(&gpu->context, gpu->device);
    if (result != 0)
        return result;
    gpu->open = true;
    return cuda->context_use(gpu->context);
}

int gpu_context_open(struct gpu_context *gpu, const char *driver, int ordinal, struct err *err)
{
    char what[64];
    memset(gpu, 0, sizeof *gpu);
    int result = cuda_open(&gpu->cuda, driver, err);
    if (result < 0)
        return result;
    find_directory(gpu);
    snprintf(what, sizeof what, "cannot use GPU %d", ordinal);
    result = cuda_check(&gpu->cuda, start_context(gpu, ordinal), what, err);
    if (result < 0)
        gpu_context_close(gpu);
    return result;
}

void gpu_context_close(struct gpu_context *gpu)
{
    if (gpu->open)
        gpu->cuda.context_release(gpu->device);
    gpu->open = false;
}

int gpu_context_use(const struct gpu_context *gpu, struct err *err)
{
    return cuda_check(&gpu->cuda, gpu->cuda.context_use(gpu->context), "cannot use the GPU", err);
}
