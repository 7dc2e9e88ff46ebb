#include "device/gpu.h"

#include "base/array.h"

#include <stdio.h>
#include <string.h>

static cuda_result read_attributes(const struct cuda *cuda, cuda_device device, struct gpu *gpu)
{
    int clock_khz = 0, memory_khz = 0, bus_bits = 0, l2_bytes = 0;
    const struct {
        int attribute;
        int *value;
    } wanted[] = {
        {CUDA_MAJOR, &gpu->major},
        {CUDA_MINOR, &gpu->minor},
        {CUDA_MULTIPROCESSORS, &gpu->multiprocessors},
        {CUDA_CLOCK_KHZ, &clock_khz},
        {CUDA_MEMORY_CLOCK_KHZ, &memory_khz},
        {CUDA_MEMORY_BUS_BITS, &bus_bits},
        {CUDA_L2_BYTES, &l2_bytes},
        {CUDA_WARP_THREADS, &gpu->each.warp_threads},
        {CUDA_THREADS_EACH, &gpu->each.threads},
        {CUDA_BLOCKS_EACH, &gpu->each.blocks},
        {CUDA_REGISTERS_EACH, &gpu->each.registers},
        {CUDA_SHARED_BYTES_EACH, &gpu->each.shared_bytes},
        {CUDA_SHARED_RESERVED_BYTES, &gpu->each.reserved_bytes},
    };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        cuda_result result = cuda->device_attribute(wanted[i].value, wanted[i].attribute, device);
        if (result != 0)
            return result;
    }
    gpu->l2_bytes = l2_bytes > 0 ? (uint64_t)l2_bytes : 0;
    gpu->clock_mhz = clock_khz * 1e-3;
    gpu->memory_bytes_per_s = 2.0 * memory_khz * 1e3 * bus_bits / 8; /* two transfers a cycle */
    return 0;
}

cuda_result gpu_read(const struct cuda *cuda, int ordinal, struct gpu *gpu)
{
    cuda_device device;
    size_t memory = 0;
    *gpu = (struct gpu){.ordinal = ordinal};
    cuda_result result = cuda->device_get(&device, ordinal);
    if (result == 0)
        result = cuda->device_name(gpu->name, sizeof gpu->name, device);
    gpu->name[sizeof gpu->name - 1] = '\0';
    if (result == 0)
        result = cuda->device_uuid(&gpu->id, device);
    if (result == 0) {
        cuda_uuid_text(&gpu->id, gpu->uuid);
        gpu->mig = strstr(gpu->name, " MIG ") != NULL; /* "NVIDIA H200 MIG 1g.18gb" */
        if (gpu->mig)
            memcpy(gpu->uuid, "MIG", 3);
        result = cuda->device_memory(&memory, device);
    }
    gpu->memory_bytes = memory;
    return result == 0 ? read_attributes(cuda, device, gpu) : result;
}

int gpu_list(struct gpu_list *list, const char *driver, struct err *err)
{
    struct cuda cuda;
    int count = 0;
    memset(list, 0, sizeof *list);
    int result = cuda_open(&cuda, driver, err);
    if (result < 0)
        return result;
    list->driver_version = cuda.version;
    result = cuda_check(&cuda, cuda.device_count(&count), "cannot count the GPUs", err);
    for (int i = 0; result == 0 && i < count && i < GPU_MAX; i++) {
        char what[64];
        snprintf(what, sizeof what, "cannot ask GPU %d what it is", i);
        result = cuda_check(&cuda, gpu_read(&cuda, i, &list->items[i]), what, err);
        list->count += result == 0;
    }
    cuda_close(&cuda);
    if (result == 0 && list->count == 0)
        return err_set(err, ERR_MISSING, "the NVIDIA driver shows no GPU (CUDA_VISIBLE_DEVICES?)");
    return result;
}
