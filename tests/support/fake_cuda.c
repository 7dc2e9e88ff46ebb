#include "../support/fake_cuda.h"
#include "base/array.h"
#include "base/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char fake_cuda[PATH_MAX + 16], fake_nvml[PATH_MAX + 16], fake_gpu_work[PATH_MAX + 24];

/* Built beside this program's folder. */
int fake_cuda_find(void **state)
{
    char self[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return -1;
    for (int up = 0; up < 2; up++)
        *strrchr(self, '/') = '\0';
    snprintf(fake_cuda, sizeof fake_cuda, "%s/fake/cuda.so", self);
    snprintf(fake_nvml, sizeof fake_nvml, "%s/fake/nvml.so", self);
    snprintf(fake_gpu_work, sizeof fake_gpu_work, "%s/fake/gpu_work.cubin", self);
    return access(fake_gpu_work, R_OK) | access(fake_cuda, R_OK) | access(fake_nvml, R_OK);
}

int fake_cuda_clean(void **state)
{
    static const char *const variables[] = {
        "FAKE_CUDA_DEVICES", "FAKE_CUDA_FAIL",    "FAKE_CUDA_ERROR",      "FAKE_CUDA_FAIL_ON",
        "FAKE_CUDA_MIG",     "FAKE_NVML_FAIL",    "FAKE_NVML_ERROR",      "FAKE_NVML_REASONS",
        "FAKE_NVML_HEAT",    "FAKE_NVML_PENDING", "FAKE_NVML_BROKEN",     "FAKE_NVML_SM_MHZ",
        "FAKE_CUDA_KERNELS", "FAKE_NVML_ECC",     "FAKE_CUDA_FAIL_AFTER", "FAKE_CUDA_MEMORY",
    };
    for (size_t i = 0; i < COUNT(variables); i++)
        unsetenv(variables[i]);
    return 0;
}

int fake_gpu_open(struct gpu_context *gpu, struct gpu_work *work, char **image)
{
    struct err err;
    size_t bytes;
    if (fake_cuda_find(NULL) != 0)
        return -1;
    if (gpu_context_open(gpu, fake_cuda, 0, &err) == 0 &&
        file_read(fake_gpu_work, (size_t)16 << 20, image, &bytes, &err) == 0 &&
        gpu_work_open(work, gpu, *image, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return -1;
}
