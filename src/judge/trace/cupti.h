/* cupti: what is used of NVIDIA's CUPTI, loaded at run time.
 *
 * No CUDA header is needed to build: types, numbers and layouts are those that the CUPTI
 * documentation gives (docs.nvidia.com/cupti, driver API and activity API). Records of kernels grow
 * with CUPTI's version, but only at their end; the part declared here is common to
 * CUpti_ActivityKernel7 (CUDA 11.8, API version 18) up to Kernel9 (CUDA 12) and Kernel10 (CUDA 13).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CUPTI_VERSION_MIN 18 /* CUDA 11.8 */

enum { CUPTI_SITE_ENTER = 0, CUPTI_SITE_EXIT = 1 };
enum { CUPTI_DOMAIN_DRIVER = 1 };
enum { CUPTI_COPY = 1, CUPTI_SET = 2, CUPTI_KERNEL = 3, CUPTI_CONCURRENT_KERNEL = 10 };

/* Numbers of the driver's functions, as callbacks give them. */
enum cupti_function {
    CUPTI_MODULE_LOAD = 18,
    CUPTI_MODULE_LOAD_DATA = 19,
    CUPTI_MODULE_LOAD_DATA_EX = 20,
    CUPTI_MODULE_LOAD_FAT_BINARY = 21,
    CUPTI_MODULE_GET_FUNCTION = 23,
    CUPTI_LAUNCH_KERNEL = 307,
    CUPTI_LAUNCH_KERNEL_PTSZ = 442,
    CUPTI_LAUNCH_COOPERATIVE = 477,
    CUPTI_LAUNCH_COOPERATIVE_PTSZ = 478,
    CUPTI_GRAPH_LAUNCH = 514,
    CUPTI_GRAPH_LAUNCH_PTSZ = 515,
    CUPTI_LAUNCH_KERNEL_EX = 652,
    CUPTI_LAUNCH_KERNEL_EX_PTSZ = 653,
    CUPTI_LIBRARY_LOAD_DATA = 678,
    CUPTI_LIBRARY_LOAD_FILE = 679,
    CUPTI_LIBRARY_GET_KERNEL = 681,
    CUPTI_LIBRARY_GET_MODULE = 682,
    CUPTI_KERNEL_GET_FUNCTION = 683,
    CUPTI_FUNCTION_GET_NAME = 718,
    CUPTI_KERNEL_GET_NAME = 719,
    CUPTI_MODULE_ENUMERATE = 738,
    CUPTI_LIBRARY_ENUMERATE = 740,
};

/* CUpti_CallbackData. `arguments` are the call's, in order, each in a word of its own; arguments
 * narrower than a word share one, which is why only leading pointers are looked at. */
struct cupti_call {
    int site;
    const char *function;
    void *const *arguments;
    const int *result; /* on exit */
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *correlation_data;
    uint32_t correlation;
};

/* The head of CUpti_ActivityKernel7 and later. */
struct cupti_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t caching[2];
    uint64_t start_ns, end_ns, completed_ns;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_bytes, dynamic_bytes;
    uint32_t local_bytes, local_total_bytes;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued_ns, submitted_ns;
    uint8_t launch_type, carveout[2], padding;
    uint32_t shared_executed_bytes;
    uint64_t graph_node;
    uint32_t shared_limit;
    uint32_t graph;
};

/* The head that CUpti_ActivityMemcpy5, Memset3 and later have in common; `kinds` begins with the
 * direction of a copy, and is the value of a memset. */
struct cupti_copy {
    uint32_t kind;
    uint8_t kinds[4];
    uint64_t bytes;
    uint64_t start_ns, end_ns;
    uint32_t device, context, stream, correlation;
};

_Static_assert(offsetof(struct cupti_kernel, start_ns) == 16, "CUpti_ActivityKernel9.start");
_Static_assert(offsetof(struct cupti_kernel, correlation) == 92, "….correlationId");
_Static_assert(offsetof(struct cupti_kernel, name) == 104, "….name");
_Static_assert(offsetof(struct cupti_kernel, graph) == 156, "….graphId");
_Static_assert(offsetof(struct cupti_copy, correlation) == 44, "CUpti_ActivityMemcpy6");
_Static_assert(offsetof(struct cupti_call, correlation) == 64, "CUpti_CallbackData");

typedef void cupti_callback(void *context, int domain, uint32_t function,
                            const struct cupti_call *call);
typedef void cupti_requested(uint8_t **buffer, size_t *bytes, size_t *records_max);
typedef void cupti_filled(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                          size_t valid_bytes);

/* field, symbol, arguments */
#define CUPTI_FUNCTIONS(X)                                                                         \
    X(version, "cuptiGetVersion", (uint32_t * version))                                            \
    X(timestamp, "cuptiGetTimestamp", (uint64_t * ns))                                             \
    X(subscribe, "cuptiSubscribe", (void **subscriber, cupti_callback *callback, void *context))   \
    X(enable_callback, "cuptiEnableCallback",                                                      \
      (uint32_t on, void *subscriber, int domain, uint32_t function))                              \
    X(activity_callbacks, "cuptiActivityRegisterCallbacks",                                        \
      (cupti_requested * requested, cupti_filled * filled))                                        \
    X(activity_enable, "cuptiActivityEnable", (int kind))                                          \
    X(activity_disable, "cuptiActivityDisable", (int kind))                                        \
    X(activity_next, "cuptiActivityGetNextRecord",                                                 \
      (uint8_t * buffer, size_t valid_bytes, void **record))                                       \
    X(activity_dropped, "cuptiActivityGetNumDroppedRecords",                                       \
      (void *context, uint32_t stream, size_t *dropped))                                           \
    X(activity_flush, "cuptiActivityFlushAll", (uint32_t forced))

struct cupti {
    void *library;
#define X(field, symbol, arguments) int(*field) arguments;
    CUPTI_FUNCTIONS(X)
#undef X
};
