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

static cuda_result ask_bandwidth(struct gpu_context *gpu)
{
    int khz = 0;
    int bits = 0;
    cuda_result result = gpu->cuda.device_attribute(&khz, CUDA_MEMORY_CLOCK_KHZ, gpu->device);
    if (result == 0)
        result = gpu->cuda.device_attribute(&bits, CUDA_MEMORY_BUS_BITS, gpu->device);
    gpu->memory_bytes_per_s = 2.0 * khz * 1e3 * bits / 8; /* two transfers a cycle */
    return result;
}

static cuda_result start(struct gpu_context *gpu, int ordinal)
{
    const struct cuda *cuda = &gpu->cuda;
    struct cuda_uuid uuid;
    cuda_result result = cuda->device_get(&gpu->device, ordinal);
    if (result == 0)
        result = cuda->device_name(gpu->name, sizeof gpu->name, gpu->device);
    gpu->name[sizeof gpu->name - 1] = '\0';
    if (result == 0)
        result = cuda->device_uuid(&uuid, gpu->device);
    if (result == 0)
        cuda_uuid_text(&uuid, gpu->uuid);
    if (result == 0)
        result = cuda->device_attribute(&gpu->major, CUDA_MAJOR, gpu->device);
    if (result == 0)
        result = cuda->device_attribute(&gpu->minor, CUDA_MINOR, gpu->device);
    if (result == 0)
        result = ask_bandwidth(gpu);
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
    gpu->ordinal = ordinal;
    find_directory(gpu);
    snprintf(what, sizeof what, "cannot use GPU %d", ordinal);
    result = cuda_check(&gpu->cuda, start(gpu, ordinal), what, err);
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
