#include "device/gpu_memory.h"

#include <unistd.h>

static struct cuda_allocation allocation_of(const struct gpu_context *gpu)
{
    return (struct cuda_allocation){
        .type = CUDA_ALLOCATION_PINNED,
        .handle_types = CUDA_HANDLE_FD,
        .location = {.type = CUDA_LOCATION_DEVICE, .id = gpu->device},
    };
}

/* Gives the handle's pages an address. */
static cuda_result map_memory(struct gpu_memory *memory)
{
    const struct cuda *cuda = &memory->gpu->cuda;
    struct cuda_access access = {
        .location = {.type = CUDA_LOCATION_DEVICE, .id = memory->gpu->device},
        .flags = CUDA_ACCESS_READ_WRITE,
    };
    cuda_at address = 0;
    cuda_result result = cuda->address_reserve(&address, memory->bytes, 0, 0, 0);
    if (result != 0)
        return result;
    result = cuda->memory_map(address, memory->bytes, 0, memory->handle, 0);
    if (result != 0) {
        cuda->address_free(address, memory->bytes);
        return result;
    }
    memory->address = address;
    return cuda->memory_access(address, memory->bytes, &access, 1);
}

static cuda_result make_memory(struct gpu_memory *memory, uint64_t bytes)
{
    const struct cuda *cuda = &memory->gpu->cuda;
    struct cuda_allocation allocation = allocation_of(memory->gpu);
    size_t unit = 0;
    cuda_result result = cuda->context_use(memory->gpu->context);
    if (result == 0)
        result = cuda->granularity(&unit, &allocation, 0);
    if (result != 0)
        return result;
    memory->bytes = (bytes + unit - 1) / unit * unit;
    result = cuda->memory_create(&memory->handle, memory->bytes, &allocation, 0);
    if (result != 0)
        memory->handle = 0;
    if (result == 0)
        result = cuda->memory_export(&memory->fd, memory->handle, CUDA_HANDLE_FD, 0);
    return result == 0 ? map_memory(memory) : result;
}

int gpu_memory_make(struct gpu_memory *memory, const struct gpu_context *gpu, uint64_t bytes,
                    struct err *err)
{
    *memory = (struct gpu_memory){.gpu = gpu, .fd = -1};
    int result = cuda_check(&gpu->cuda, make_memory(memory, bytes ? bytes : 1),
                            "cannot make memory on the GPU for the arguments", err);
    if (result < 0)
        gpu_memory_free(memory);
    return result;
}

int gpu_memory_import(struct gpu_memory *memory, const struct gpu_context *gpu, int fd,
                      uint64_t bytes, struct err *err)
{
    *memory = (struct gpu_memory){.gpu = gpu, .bytes = bytes, .fd = -1};
    cuda_result result = gpu->cuda.memory_import(&memory->handle, (void *)(intptr_t)fd,
                                                 CUDA_HANDLE_FD);
    if (result != 0)
        memory->handle = 0;
    else
        result = map_memory(memory);
    int failed = cuda_check(&gpu->cuda, result, "cannot map the arguments on the GPU", err);
    if (failed < 0)
        gpu_memory_free(memory);
    return failed;
}

void gpu_memory_free(struct gpu_memory *memory)
{
    if (memory->gpu) {
        const struct cuda *cuda = &memory->gpu->cuda;
        if (memory->gpu->open) /* a context that was given up takes nothing with it */
            cuda->context_use(memory->gpu->context);
        if (memory->address) {
            cuda->memory_unmap(memory->address, memory->bytes);
            cuda->address_free(memory->address, memory->bytes);
        }
        if (memory->handle)
            cuda->memory_release(memory->handle);
        if (memory->fd >= 0)
            close(memory->fd);
    }
    *memory = (struct gpu_memory){0};
}

int gpu_memory_write(const struct gpu_memory *memory, uint64_t offset, const void *bytes,
                     size_t count, struct err *err)
{
    const struct cuda *cuda = &memory->gpu->cuda;
    cuda_result result = cuda->copy_to_device(memory->address + offset, bytes, count);
    if (result == 0) /* from pageable memory: the last of it may still be on its way */
        result = cuda->synchronize();
    return cuda_check(cuda, result, "cannot write arguments to the GPU", err);
}

int gpu_memory_fill(const struct gpu_memory *memory, uint64_t offset, unsigned char value,
                    size_t count, struct err *err)
{
    const struct cuda *cuda = &memory->gpu->cuda;
    cuda_result result = cuda->fill(memory->address + offset, value, count);
    if (result == 0)
        result = cuda->synchronize();
    return cuda_check(cuda, result, "cannot fill arguments on the GPU", err);
}

int gpu_memory_read(const struct gpu_memory *memory, uint64_t offset, void *bytes, size_t count,
                    struct err *err)
{
    const struct cuda *cuda = &memory->gpu->cuda;
    return cuda_check(cuda, cuda->copy_to_host(bytes, memory->address + offset, count),
                      "cannot read arguments from the GPU", err);
}
