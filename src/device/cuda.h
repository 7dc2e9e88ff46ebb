/* cuda: NVIDIA's driver, loaded at run time.
 *
 * No CUDA header is needed to build: types and numbers are those of the driver API, which keeps
 * them (docs.nvidia.com/cuda/cuda-driver-api; names here without the `cu`). Wanted are the entry
 * points of CUDA 12.0 and later.
 *
 * Threads: the functions are the driver's and as safe as it is. One struct cuda serves a process.
 * It is never unloaded once a context was made, because the driver's own threads run on.
 */
#ifndef WARPGYM_DEVICE_CUDA_H
#define WARPGYM_DEVICE_CUDA_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef int cuda_result; /* CUresult; 0 is success */
typedef int cuda_device; /* CUdevice: an ordinal among the visible ones */

enum {
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
};

/* CUdevice_attribute */
enum {
    CUDA_CLOCK_KHZ = 13,
    CUDA_MULTIPROCESSORS = 16,
    CUDA_MEMORY_CLOCK_KHZ = 36,
    CUDA_MEMORY_BUS_BITS = 37,
    CUDA_L2_BYTES = 38,
    CUDA_MAJOR = 75,
    CUDA_MINOR = 76,
};

struct cuda_uuid {
    unsigned char bytes[16];
};

/* field, symbol, arguments */
#define CUDA_FUNCTIONS(X)                                                                          \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(driver_version, "cuDriverGetVersion", (int *version))                                        \
    X(error_name, "cuGetErrorName", (cuda_result error, const char **name))                        \
    X(error_string, "cuGetErrorString", (cuda_result error, const char **text))                    \
    X(device_count, "cuDeviceGetCount", (int *count))                                              \
    X(device_get, "cuDeviceGet", (cuda_device * device, int ordinal))                              \
    X(device_name, "cuDeviceGetName", (char *name, int bytes, cuda_device device))                 \
    X(device_uuid, "cuDeviceGetUuid_v2", (struct cuda_uuid * uuid, cuda_device device))            \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, cuda_device device))                  \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, cuda_device device))

struct cuda {
    void *library;
    int version; /* of the driver, as CUDA counts: 13000 is 13.0 */
#define X(field, symbol, arguments) cuda_result(*field) arguments;
    CUDA_FUNCTIONS(X)
#undef X
};

/* Loads and initialises the driver. `path` names another library (tests); NULL: the system's.
 * ERR_MISSING: there is none, or it sees no device; ERR_UNSUPPORTED: too old, or it refuses. */
NODISCARD int cuda_open(struct cuda *cuda, const char *path, struct err *err);
void cuda_close(struct cuda *cuda);

/* ERR_LIMIT for a lack of device memory, ERR_IO for everything else, with what was tried and the
 * driver's own words; 0 for 0. */
NODISCARD int cuda_check(const struct cuda *cuda, cuda_result result, const char *what,
                         struct err *err);

#endif
