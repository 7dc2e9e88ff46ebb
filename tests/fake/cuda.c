/* A driver without a GPU, for tests of what calls the driver. It has FAKE_CUDA_DEVICES devices
 * (default 2); FAKE_CUDA_FAIL names a function that fails with FAKE_CUDA_ERROR (default 999). */
#include "device/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_NAME 998 /* an error that even the driver has no name for */

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

static cuda_result outcome(const char *function)
{
    const char *fails = getenv("FAKE_CUDA_FAIL");
    return fails && strcmp(fails, function) == 0 ? number("FAKE_CUDA_ERROR", 999) : 0;
}

cuda_result cuInit(unsigned flags);
cuda_result cuDriverGetVersion(int *version);
cuda_result cuGetErrorName(cuda_result error, const char **name);
cuda_result cuGetErrorString(cuda_result error, const char **text);
cuda_result cuDeviceGetCount(int *count);
cuda_result cuDeviceGet(cuda_device *device, int ordinal);
cuda_result cuDeviceGetName(char *name, int bytes, cuda_device device);
cuda_result cuDeviceGetUuid_v2(struct cuda_uuid *uuid, cuda_device device);
cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_device device);
cuda_result cuDeviceGetAttribute(int *value, int attribute, cuda_device device);

cuda_result cuInit(unsigned flags)
{
    if (number("FAKE_CUDA_DEVICES", 2) == 0)
        return CUDA_ERROR_NO_DEVICE;
    return flags == 0 ? outcome("cuInit") : 1;
}

cuda_result cuDriverGetVersion(int *version)
{
    *version = 13000;
    return outcome("cuDriverGetVersion");
}

cuda_result cuGetErrorName(cuda_result error, const char **name)
{
    *name = error == MISSING_NAME ? NULL : "CUDA_ERROR_FAKE";
    return error == MISSING_NAME;
}

cuda_result cuGetErrorString(cuda_result error, const char **text)
{
    *text = error == MISSING_NAME ? NULL : "it was told to fail";
    return error == MISSING_NAME;
}

cuda_result cuDeviceGetCount(int *count)
{
    *count = number("FAKE_CUDA_DEVICES", 2);
    return outcome("cuDeviceGetCount");
}

cuda_result cuDeviceGet(cuda_device *device, int ordinal)
{
    *device = ordinal + 100;
    return outcome("cuDeviceGet");
}

cuda_result cuDeviceGetName(char *name, int bytes, cuda_device device)
{
    snprintf(name, (size_t)bytes, "Fake GPU %d", device - 100);
    return outcome("cuDeviceGetName");
}

cuda_result cuDeviceGetUuid_v2(struct cuda_uuid *uuid, cuda_device device)
{
    for (int i = 0; i < 16; i++)
        uuid->bytes[i] = (unsigned char)(i * 16 + device - 100);
    return outcome("cuDeviceGetUuid_v2");
}

cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_device device)
{
    *bytes = (size_t)(device - 99) << 34;
    return outcome("cuDeviceTotalMem_v2");
}

cuda_result cuDeviceGetAttribute(int *value, int attribute, cuda_device device)
{
    static const struct {
        int attribute, value;
    } facts[] = {
        {CUDA_CLOCK_KHZ, 1980000},
        {CUDA_MULTIPROCESSORS, 132},
        {CUDA_MEMORY_CLOCK_KHZ, 3201000},
        {CUDA_MEMORY_BUS_BITS, 6144},
        {CUDA_L2_BYTES, 62914560},
        {CUDA_MAJOR, 9},
        {CUDA_MINOR, 0},
    };
    (void)device;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].attribute == attribute) {
            *value = facts[i].value;
            return outcome("cuDeviceGetAttribute");
        }
    return 1;
}
