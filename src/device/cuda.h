/* cuda: NVIDIA's driver, loaded at run time.
 *
 * No CUDA header is needed to build: types and numbers are those of the driver API, which keeps
 * them (docs.nvidia.com/cuda/cuda-driver-api; names here without the `cu`). Wanted are the entry
 * points of CUDA 12.0 and later.
 *
 * Threads: the functions are the driver's and as safe as it is. One struct cuda serves a process.
 * It is never unloaded once a context was made, because the driver's own threads run on.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef int cuda_result; /* CUresult; 0 is success */
typedef int cuda_device; /* CUdevice: an ordinal among the visible ones */
typedef void *cuda_context, *cuda_stream, *cuda_event; /* CUcontext, CUstream, CUevent */
typedef unsigned long long cuda_handle, cuda_at; /* CUmemGenericAllocationHandle, CUdeviceptr */

enum {
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
};

/* CUdevice_attribute */
enum {
    CUDA_WARP_THREADS = 10,
    CUDA_CLOCK_KHZ = 13,
    CUDA_MULTIPROCESSORS = 16,
    CUDA_MEMORY_CLOCK_KHZ = 36,
    CUDA_MEMORY_BUS_BITS = 37,
    CUDA_L2_BYTES = 38,
    CUDA_THREADS_EACH = 39, /* of a multiprocessor, as those below */
    CUDA_MAJOR = 75,
    CUDA_MINOR = 76,
    CUDA_SHARED_BYTES_EACH = 81,
    CUDA_REGISTERS_EACH = 82,
    CUDA_SHARED_BYTES = 97, /* most that a block may have, when asked for */
    CUDA_BLOCKS_EACH = 106,
    CUDA_SHARED_RESERVED_BYTES = 111, /* of each block */
};

/* CUfunction_attribute */
enum {
    CUDA_FUNCTION_THREADS = 0, /* most that a block of it can have */
    CUDA_FUNCTION_SHARED_STATIC = 1,
    CUDA_FUNCTION_SHARED_DYNAMIC = 8, /* most that a launch may ask for */
};

struct cuda_uuid {
    unsigned char bytes[16];
};

#define CUDA_UUID_BYTES 41 /* of its text */

struct cuda_location { /* CUmemLocation */
    int type, id;
};

struct cuda_allocation { /* CUmemAllocationProp */
    int type, handle_types;
    struct cuda_location location;
    void *windows;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
};

struct cuda_access { /* CUmemAccessDesc */
    struct cuda_location location;
    int flags;
};

enum {
    CUDA_LOCATION_DEVICE = 1,
    CUDA_ALLOCATION_PINNED = 1,
    CUDA_HANDLE_FD = 1,
    CUDA_ACCESS_READ_WRITE = 3,
    CUDA_CONTEXT_SPIN = 1, /* waiting threads spin instead of sleeping */
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
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, cuda_device device))   \
    X(context_flags, "cuDevicePrimaryCtxSetFlags_v2", (cuda_device device, unsigned flags))        \
    X(context_retain, "cuDevicePrimaryCtxRetain", (cuda_context * context, cuda_device device))    \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (cuda_device device))                       \
    X(context_use, "cuCtxSetCurrent", (cuda_context context))                                      \
    X(event_create, "cuEventCreate", (cuda_event * event, unsigned flags))                         \
    X(event_destroy, "cuEventDestroy_v2", (cuda_event event))                                      \
    X(event_record, "cuEventRecord", (cuda_event event, cuda_stream stream))                       \
    X(event_elapsed, "cuEventElapsedTime", (float *ms, cuda_event start, cuda_event stop))         \
    X(synchronize, "cuCtxSynchronize", (void))                                                     \
    X(memory_info, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total_bytes))                 \
    X(alloc, "cuMemAlloc_v2", (cuda_at * at, size_t bytes))                                        \
    X(free, "cuMemFree_v2", (cuda_at at))                                                          \
    X(granularity, "cuMemGetAllocationGranularity",                                                \
      (size_t * bytes, const struct cuda_allocation *allocation, int option))                      \
    X(memory_create, "cuMemCreate",                                                                \
      (cuda_handle * handle, size_t bytes, const struct cuda_allocation *allocation,               \
       unsigned long long flags))                                                                  \
    X(memory_release, "cuMemRelease", (cuda_handle handle))                                        \
    X(memory_export, "cuMemExportToShareableHandle",                                               \
      (void *descriptor, cuda_handle handle, int type, unsigned long long flags))                  \
    X(memory_import, "cuMemImportFromShareableHandle",                                             \
      (cuda_handle * handle, void *descriptor, int type))                                          \
    X(address_reserve, "cuMemAddressReserve",                                                      \
      (cuda_at * at, size_t bytes, size_t alignment, cuda_at wanted, unsigned long long flags))    \
    X(address_free, "cuMemAddressFree", (cuda_at at, size_t bytes))                                \
    X(memory_map, "cuMemMap",                                                                      \
      (cuda_at at, size_t bytes, size_t offset, cuda_handle handle, unsigned long long flags))     \
    X(memory_unmap, "cuMemUnmap", (cuda_at at, size_t bytes))                                      \
    X(memory_access, "cuMemSetAccess",                                                             \
      (cuda_at at, size_t bytes, const struct cuda_access *access, size_t count))                  \
    X(copy_to_device, "cuMemcpyHtoD_v2", (cuda_at to, const void *from, size_t bytes))             \
    X(copy_to_host, "cuMemcpyDtoH_v2", (void *to, cuda_at from, size_t bytes))                     \
    X(copy_to_host_later, "cuMemcpyDtoHAsync_v2",                                                  \
      (void *to, cuda_at from, size_t bytes, cuda_stream stream))                                  \
    X(host_alloc, "cuMemHostAlloc", (void **at, size_t bytes, unsigned flags))                     \
    X(host_free, "cuMemFreeHost", (void *at))                                                      \
    X(copy_on_device, "cuMemcpyDtoD_v2", (cuda_at to, cuda_at from, size_t bytes))                 \
    X(fill, "cuMemsetD8_v2", (cuda_at at, unsigned char value, size_t bytes))                      \
    X(module_load, "cuModuleLoadData", (void **module, const void *image))                         \
    X(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))   \
    X(module_unload, "cuModuleUnload", (void *module))                                             \
    X(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, void *function))       \
    X(set_function_attribute, "cuFuncSetAttribute", (void *function, int attribute, int value))    \
    X(launch, "cuLaunchKernel",                                                                    \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda_stream stream,              \
       void **parameters, void **extra))

/* Those of CUDA 12.4, or 11; NULL in an older driver. */
#define CUDA_LATER_FUNCTIONS(X)                                                                    \
    X(module_function_count, "cuModuleGetFunctionCount", (unsigned *count, void *module))          \
    X(module_functions, "cuModuleEnumerateFunctions",                                              \
      (void **functions, unsigned count, void *module))                                            \
    X(function_name, "cuFuncGetName", (const char **name, void *function))                         \
    X(function_parameter, "cuFuncGetParamInfo",                                                    \
      (void *function, size_t index, size_t *offset, size_t *bytes))                               \
    X(forget_persisting, "cuCtxResetPersistingL2Cache", (void))

#define CUDA_LIBRARY "libcuda.so.1"

struct cuda {
    void *library;
    int version; /* of the driver, as CUDA counts: 13000 is 13.0 */
#define X(field, symbol, arguments) cuda_result(*field) arguments;
    CUDA_FUNCTIONS(X)
    CUDA_LATER_FUNCTIONS(X)
#undef X
};

/* Loads and initialises the driver. `path` names another library (tests); NULL: the system's.
 * ERR_MISSING: there is none, or it sees no device; ERR_UNSUPPORTED: too old, or it refuses. */
NODISCARD int cuda_open(struct cuda *cuda, const char *path, struct err *err);
void cuda_close(struct cuda *cuda);

/* As nvidia-smi writes it: "GPU-1b2c…". */
void cuda_uuid_text(const struct cuda_uuid *uuid, char text[CUDA_UUID_BYTES]);

/* ERR_LIMIT for a lack of device memory, ERR_IO for everything else, with what was tried and the
 * driver's own words; 0 for 0. */
NODISCARD int cuda_check(const struct cuda *cuda, cuda_result result, const char *what,
                         struct err *err);
