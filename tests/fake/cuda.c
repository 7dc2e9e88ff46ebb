/* A driver without a GPU, for tests of what calls the driver. Its device memory is ordinary memory,
 * so that host code can stand in for kernels. The environment says what it is:
 *
 *   FAKE_CUDA_DEVICES=2       how many there are
 *   FAKE_CUDA_FAIL=cuInit     a function that fails, with FAKE_CUDA_ERROR (999), on the device
 *                             FAKE_CUDA_FAIL_ON alone, after FAKE_CUDA_FAIL_AFTER calls and
 *                             FAKE_CUDA_FAIL_TIMES times, if those are set
 *   FAKE_CUDA_MIG=1           MIG instances
 *   FAKE_CUDA_MEMORY=96       MiB of memory, of which a process sees taken what it made or mapped
 *   FAKE_CUDA_KERNELS=4500    takes kernels and runs none: they move that many bytes a nanosecond
 *   FAKE_CUDA_BUSY=FILE       while there is such a file, each kernel waits 5 ms for another's
 *
 * As the real one it starts CUDA_INJECTION64_PATH, where that is loaded already. What it fills is
 * passed to a stand-in for CUPTI (cupti.c) at WARPGYM_CUPTI, and what host code says it launched:
 *
 *   extern "C" void fake_cuda_launched(uint32_t graph_nodes, uint32_t us);   each that long
 *   extern "C" int fake_cuda_traced(void);                                   right now
 */
#include "device/cuda.h"
#include "base/array.h"
#include "judge/trace/cupti.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNIT ((size_t)2 << 20) /* of allocations */

#define MISSING_NAME 998 /* an error that even the driver has no name for */

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

static __thread int current = -1; /* the device whose context is this thread's */
static int contexts[64];
static int64_t kernels_ns; /* what kernels took by the clock of events */

static cuda_result outcome_of(const char *function, int ordinal)
{
    const char *fails = getenv("FAKE_CUDA_FAIL");
    bool here = ordinal == number("FAKE_CUDA_FAIL_ON", ordinal);
    static _Atomic int calls;
    if (!fails || !here || strcmp(fails, function) != 0)
        return 0;
    int failures = ++calls - number("FAKE_CUDA_FAIL_AFTER", 0);
    bool now = failures > 0 && failures <= number("FAKE_CUDA_FAIL_TIMES", failures);
    return now ? number("FAKE_CUDA_ERROR", 999) : 0;
}

static cuda_result outcome(const char *function)
{
    return outcome_of(function, current);
}

#define X(field, symbol, arguments) cuda_result fake_##field arguments __asm__(symbol);
CUDA_FUNCTIONS(X)
CUDA_LATER_FUNCTIONS(X)
#undef X

void fake_cuda_launched(uint32_t graph_nodes, uint32_t us);
int fake_cuda_traced(void);

static struct {
    int (*records)(void);
    void (*kernel)(const struct cupti_kernel *kernel);
    void (*copy)(const struct cupti_copy *copy);
    uint32_t correlation;
    uint64_t now_ns;
} traced;

static void *symbol_of(const char *library_variable, const char *symbol)
{
    const char *path = getenv(library_variable);
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    return library ? dlsym(library, symbol) : NULL;
}

static void inject(void)
{
    static _Atomic int done;
    void *start = done++ ? NULL : symbol_of("CUDA_INJECTION64_PATH", "InitializeInjection");
    void *kernel = start ? symbol_of("WARPGYM_CUPTI", "fake_cupti_kernel") : NULL;
    void *copy = start ? symbol_of("WARPGYM_CUPTI", "fake_cupti_copy") : NULL;
    void *records = start ? symbol_of("WARPGYM_CUPTI", "fake_cupti_records") : NULL;
    int (*call)(void);
    memcpy(&traced.records, &records, sizeof records);
    memcpy(&call, &start, sizeof start);
    memcpy(&traced.kernel, &kernel, sizeof kernel);
    memcpy(&traced.copy, &copy, sizeof copy);
    if (call)
        call();
}

int fake_cuda_traced(void)
{
    return traced.records && traced.records();
}

/* Everything runs one behind the other. */
void fake_cuda_launched(uint32_t graph_nodes, uint32_t us)
{
    traced.correlation++;
    for (uint32_t i = 0; traced.kernel && i < graph_nodes; i++) {
        struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
                                      .correlation = traced.correlation,
                                      .graph_node = graph_nodes > 1,
                                      .start_ns = traced.now_ns,
                                      .end_ns = traced.now_ns + us * UINT64_C(1000),
                                      .name = "launched"};
        traced.kernel(&kernel);
        traced.now_ns = kernel.end_ns;
    }
}

cuda_result fake_init(unsigned flags)
{
    inject();
    if (number("FAKE_CUDA_DEVICES", 2) == 0)
        return CUDA_ERROR_NO_DEVICE;
    return flags == 0 ? outcome("cuInit") : 1;
}

cuda_result fake_driver_version(int *version)
{
    *version = 13000;
    return outcome("cuDriverGetVersion");
}

cuda_result fake_error_name(cuda_result error, const char **name)
{
    *name = error == MISSING_NAME ? NULL : "CUDA_ERROR_FAKE";
    return error == MISSING_NAME;
}

cuda_result fake_error_string(cuda_result error, const char **text)
{
    *text = error == MISSING_NAME ? NULL : "the fake fails on purpose";
    return error == MISSING_NAME;
}

/* The one GPU that CUDA_VISIBLE_DEVICES names by its UUID; -1: all are seen. */
static int only_device(void)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    bool named = text && (strncmp(text, "GPU-", 4) == 0 || strncmp(text, "MIG-", 4) == 0);
    return named ? (int)(strtoul(text + 4, NULL, 16) >> 24) : -1; /* as fake_device_uuid says */
}

cuda_result fake_device_count(int *count)
{
    *count = only_device() >= 0 ? 1 : number("FAKE_CUDA_DEVICES", 2);
    return outcome("cuDeviceGetCount");
}

cuda_result fake_device_get(cuda_device *device, int ordinal)
{
    int only = only_device();
    if (ordinal >= (only < 0 ? number("FAKE_CUDA_DEVICES", 2) : 1))
        return 101;
    *device = 100 + (only < 0 ? ordinal : only);
    return outcome("cuDeviceGet");
}

cuda_result fake_device_name(char *name, int bytes, cuda_device device)
{
    snprintf(name, (size_t)bytes, "Fake GPU %d%s", device - 100,
             getenv("FAKE_CUDA_MIG") ? " MIG 1g.16gb" : "");
    return outcome("cuDeviceGetName");
}

cuda_result fake_device_uuid(struct cuda_uuid *uuid, cuda_device device)
{
    for (int i = 0; i < 16; i++)
        uuid->bytes[i] = (unsigned char)(i * 16 + device - 100);
    return outcome("cuDeviceGetUuid_v2");
}

cuda_result fake_device_memory(size_t *bytes, cuda_device device)
{
    *bytes = (size_t)number("FAKE_CUDA_MEMORY", (device - 99) << 14) << 20;
    return outcome("cuDeviceTotalMem_v2");
}

cuda_result fake_device_attribute(int *value, int attribute, cuda_device device)
{
    static const struct {
        int attribute, value;
    } facts[] = {
        {CUDA_CLOCK_KHZ, 1980000},
        {CUDA_MULTIPROCESSORS, 132},
        {CUDA_MEMORY_CLOCK_KHZ, 3201000},
        {CUDA_MEMORY_BUS_BITS, 6144},
        {CUDA_L2_BYTES, 62914560},
        {CUDA_WARP_THREADS, 32},
        {CUDA_THREADS_EACH, 2048},
        {CUDA_BLOCKS_EACH, 32},
        {CUDA_REGISTERS_EACH, 65536},
        {CUDA_SHARED_BYTES_EACH, 233472},
        {CUDA_SHARED_RESERVED_BYTES, 1024},
        {CUDA_MAJOR, 9},
        {CUDA_MINOR, 0},
        {CUDA_SHARED_BYTES, 232448},
    };
    for (size_t i = 0; i < COUNT(facts); i++)
        if (facts[i].attribute == attribute) {
            *value = facts[i].value;
            return outcome("cuDeviceGetAttribute");
        }
    return 1;
}

cuda_result fake_context_flags(cuda_device device, unsigned flags)
{
    return outcome("cuDevicePrimaryCtxSetFlags_v2");
}

cuda_result fake_context_retain(cuda_context *context, cuda_device device)
{
    *context = &contexts[(device - 100) % 64];
    return outcome_of("cuDevicePrimaryCtxRetain", device - 100);
}

cuda_result fake_context_release(cuda_device device)
{
    return outcome("cuDevicePrimaryCtxRelease_v2");
}

cuda_result fake_context_use(cuda_context context)
{
    current = (int)((int *)context - contexts);
    return outcome("cuCtxSetCurrent");
}

/* An event is a time of the host's clock. */
cuda_result fake_event_create(cuda_event *event, unsigned flags)
{
    *event = calloc(1, sizeof(struct timespec));
    return flags == 0 && *event ? outcome("cuEventCreate") : 1;
}

cuda_result fake_event_destroy(cuda_event event)
{
    free(event);
    return outcome("cuEventDestroy_v2");
}

cuda_result fake_event_record(cuda_event event, cuda_stream stream)
{
    struct timespec *now = event;
    clock_gettime(CLOCK_MONOTONIC, now);
    int64_t ns = now->tv_nsec + kernels_ns;
    now->tv_sec += ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return outcome("cuEventRecord");
}

cuda_result fake_event_elapsed(float *ms, cuda_event start, cuda_event stop)
{
    const struct timespec *a = start;
    const struct timespec *b = stop;
    *ms = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
    return outcome("cuEventElapsedTime");
}

cuda_result fake_synchronize(void)
{
    return outcome("cuCtxSynchronize");
}

cuda_result fake_alloc(cuda_at *at, size_t bytes)
{
    *at = (cuda_at)(uintptr_t)calloc(1, bytes);
    return outcome("cuMemAlloc_v2");
}

cuda_result fake_free(cuda_at at)
{
    free((void *)(uintptr_t)at);
    return outcome("cuMemFree_v2");
}

cuda_result fake_granularity(size_t *bytes, const struct cuda_allocation *allocation, int option)
{
    *bytes = UNIT;
    return allocation->handle_types == CUDA_HANDLE_FD ? outcome("cuMemGetAllocationGranularity")
                                                      : 1;
}

static _Atomic size_t taken; /* of the device's memory, by this process */

static size_t total_memory(void)
{
    return (size_t)number("FAKE_CUDA_MEMORY", 80 << 10) << 20;
}

static size_t bytes_behind(int fd)
{
    struct stat facts;
    return fstat(fd, &facts) == 0 ? (size_t)facts.st_size : 0;
}

/* A file: of memory, or of a sandbox's scratch, where memory has no files. */
static int nameless_file(size_t bytes)
{
    static _Atomic int count;
    char path[64];
    int fd = memfd_create("fake GPU", MFD_CLOEXEC);
    if (fd < 0) {
        snprintf(path, sizeof path, "./fake-memory-%d", ++count);
        fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0700);
        unlink(path);
    }
    if (fd < 0 || ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A handle is a descriptor of ordinary memory, plus one. */
cuda_result fake_memory_create(cuda_handle *handle, size_t bytes,
                               const struct cuda_allocation *allocation, unsigned long long flags)
{
    int fd = taken + bytes <= total_memory() ? nameless_file(bytes) : -1;
    if (fd < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = (cuda_handle)fd + 1;
    cuda_result result = flags == 0 && bytes % UNIT == 0 ? outcome("cuMemCreate") : 1;
    if (result == 0)
        taken += bytes;
    else
        close(fd);
    return result;
}

cuda_result fake_memory_release(cuda_handle handle)
{
    taken -= bytes_behind((int)handle - 1);
    close((int)handle - 1);
    return outcome("cuMemRelease");
}

cuda_result fake_memory_export(void *descriptor, cuda_handle handle, int type,
                               unsigned long long flags)
{
    int copy = fcntl((int)handle - 1, F_DUPFD_CLOEXEC, 3);
    memcpy(descriptor, &copy, sizeof copy);
    return type == CUDA_HANDLE_FD && flags == 0 ? outcome("cuMemExportToShareableHandle") : 1;
}

cuda_result fake_memory_import(cuda_handle *handle, void *descriptor, int type)
{
    struct stat facts;
    int fd = (int)(intptr_t)descriptor;
    if (type != CUDA_HANDLE_FD || fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode) ||
        facts.st_size == 0 || (size_t)facts.st_size % UNIT != 0)
        return 1;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    *handle = (cuda_handle)copy + 1;
    taken += bytes_behind(copy);
    return copy >= 0 ? outcome("cuMemImportFromShareableHandle") : 1;
}

cuda_result fake_address_reserve(cuda_at *at, size_t bytes, size_t alignment, cuda_at wanted,
                                 unsigned long long flags)
{
    void *place = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *at = (cuda_at)(uintptr_t)place;
    return place == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : outcome("cuMemAddressReserve");
}

cuda_result fake_address_free(cuda_at at, size_t bytes)
{
    munmap((void *)(uintptr_t)at, bytes);
    return outcome("cuMemAddressFree");
}

cuda_result fake_memory_map(cuda_at at, size_t bytes, size_t offset, cuda_handle handle,
                            unsigned long long flags)
{
    struct stat facts;
    if (fstat((int)handle - 1, &facts) < 0 || offset != 0 || bytes > (size_t)facts.st_size ||
        bytes % UNIT != 0)
        return 1;
    void *place = mmap((void *)(uintptr_t)at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                       (int)handle - 1, (off_t)offset);
    return place == MAP_FAILED ? 1 : outcome("cuMemMap");
}

cuda_result fake_memory_unmap(cuda_at at, size_t bytes)
{
    (void)bytes; /* freeing the address takes the mapping, too */
    return outcome("cuMemUnmap");
}

cuda_result fake_memory_access(cuda_at at, size_t bytes, const struct cuda_access *access,
                               size_t count)
{
    int rights = access->flags == CUDA_ACCESS_READ_WRITE ? PROT_READ | PROT_WRITE : PROT_READ;
    return count == 1 && mprotect((void *)(uintptr_t)at, bytes, rights) == 0
               ? outcome("cuMemSetAccess")
               : 1;
}

cuda_result fake_copy_to_device(cuda_at to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return outcome("cuMemcpyHtoD_v2");
}

cuda_result fake_copy_to_host(void *to, cuda_at from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return outcome("cuMemcpyDtoH_v2");
}

cuda_result fake_copy_to_host_later(void *to, cuda_at from, size_t bytes, cuda_stream stream)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return outcome("cuMemcpyDtoHAsync_v2");
}

cuda_result fake_memory_info(size_t *free_bytes, size_t *total_bytes)
{
    *total_bytes = total_memory();
    *free_bytes = *total_bytes > taken ? *total_bytes - taken : 0;
    return outcome("cuMemGetInfo_v2");
}

cuda_result fake_host_alloc(void **at, size_t bytes, unsigned flags)
{
    *at = malloc(bytes);
    return outcome("cuMemHostAlloc");
}

cuda_result fake_host_free(void *at)
{
    free(at);
    return outcome("cuMemFreeHost");
}

cuda_result fake_fill(cuda_at at, unsigned char value, size_t bytes)
{
    struct cupti_copy set = {.kind = CUPTI_SET,
                             .bytes = bytes,
                             .start_ns = traced.now_ns,
                             .end_ns = traced.now_ns + 1000,
                             .correlation = ++traced.correlation};
    memset((void *)(uintptr_t)at, value, bytes);
    if (traced.copy)
        traced.copy(&set);
    traced.now_ns = set.end_ns;
    return outcome("cuMemsetD8_v2");
}

cuda_result fake_copy_on_device(cuda_at to, cuda_at from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return outcome("cuMemcpyDtoD_v2");
}

/* A module is a shared object of tests/fake/kernels, which is loaded from a file: of memory, or of
 * a sandbox's scratch, where memory has no files. */
struct kernel {
    const char *name;
    void (*call)(void **parameters);
    const size_t *sizes;
    size_t count;
};

struct function {
    const struct kernel *kernel;
    struct module *module;
    char symbol[256];
    int shared_bytes; /* that a launch may ask for */
};

struct module {
    void (*launch)(const struct kernel *kernel, const unsigned grid[3], const unsigned block[3],
                   void **parameters);
    struct function functions[64];
    unsigned count;
    struct module *before; /* all are kept, as the driver keeps what is never unloaded */
};

static struct module *loaded;

/* Of FAKE_CUDA_KERNELS. */
static struct module pretended;
static struct function pretence;

static void *load_object(const void *image, size_t bytes)
{
    char path[64];
    int fd = memfd_create("fake module", MFD_CLOEXEC);
    snprintf(path, sizeof path, fd < 0 ? "./fake-module.so" : "/proc/self/fd/%d", fd);
    if (fd < 0)
        fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0700);
    bool written = fd >= 0 && write(fd, image, bytes) == (ssize_t)bytes;
    void *object = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    close(fd);
    unlink(path);
    return object;
}

/* C++ gives a function a longer name, unless it is extern "C". */
static void name_function(struct function *function, void *object)
{
    const char *name = function->kernel->name;
    if (dlsym(object, name))
        snprintf(function->symbol, sizeof function->symbol, "%s", name);
    else
        snprintf(function->symbol, sizeof function->symbol, "_Z%zu%sPv", strlen(name), name);
}

cuda_result fake_module_load(void **module, const void *image)
{
    const Elf64_Ehdr *header = image;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
        *module = &pretended;
        return getenv("FAKE_CUDA_KERNELS") ? outcome("cuModuleLoadData") : 200;
    }
    void *object = load_object(image,
                               header->e_shoff + (size_t)header->e_shnum * header->e_shentsize);
    const struct kernel *kernels = object ? dlsym(object, "fake_kernels") : NULL;
    struct module *made = calloc(1, sizeof *made);
    if (!kernels || !made)
        return 209;
    made->before = loaded;
    loaded = made;
    void *launch = dlsym(object, "fake_launch");
    memcpy(&made->launch, &launch, sizeof launch);
    for (; kernels[made->count].name && made->count < 64; made->count++) {
        struct function *function = &made->functions[made->count];
        *function = (struct function){.kernel = &kernels[made->count], .module = made};
        name_function(function, object);
    }
    *module = made;
    return outcome("cuModuleLoadData");
}

cuda_result fake_module_function(void **function, void *module, const char *name)
{
    struct module *from = module;
    *function = &pretence;
    if (from == &pretended)
        return *name ? outcome("cuModuleGetFunction") : 500;
    for (unsigned i = 0; i < from->count; i++)
        if (strcmp(from->functions[i].symbol, name) == 0) {
            *function = &from->functions[i];
            return outcome("cuModuleGetFunction");
        }
    return 500;
}

cuda_result fake_module_function_count(unsigned *count, void *module)
{
    *count = ((struct module *)module)->count;
    return outcome("cuModuleGetFunctionCount");
}

cuda_result fake_module_functions(void **functions, unsigned count, void *module)
{
    for (unsigned i = 0; i < count; i++)
        functions[i] = &((struct module *)module)->functions[i];
    return outcome("cuModuleEnumerateFunctions");
}

cuda_result fake_function_name(const char **name, void *function)
{
    *name = ((struct function *)function)->symbol;
    return outcome("cuFuncGetName");
}

cuda_result fake_function_parameter(void *function, size_t index, size_t *offset, size_t *bytes)
{
    const struct kernel *kernel = ((struct function *)function)->kernel;
    if (index >= kernel->count)
        return 1;
    *offset = 0;
    *bytes = kernel->sizes[index];
    return outcome("cuFuncGetParamInfo");
}

cuda_result fake_function_attribute(int *value, int attribute, void *function)
{
    *value = attribute == CUDA_FUNCTION_THREADS ? number("FAKE_CUDA_THREADS", 1024) : 0;
    return outcome("cuFuncGetAttribute");
}

cuda_result fake_set_function_attribute(void *function, int attribute, int value)
{
    if (attribute != CUDA_FUNCTION_SHARED_DYNAMIC || value > 232448)
        return 1;
    ((struct function *)function)->shared_bytes = value;
    return outcome("cuFuncSetAttribute");
}

cuda_result fake_module_unload(void *module)
{
    return outcome("cuModuleUnload");
}

/* Kernels of gpu_peaks.cu: vectors of 16 bytes and rounds. What fits into L2 moves twice as
 * fast. */
static cuda_result pretend(void **parameters)
{
    double bytes = 16.0 * (double)*(uint64_t *)parameters[2];
    double ns = bytes / strtod(getenv("FAKE_CUDA_KERNELS"), NULL) / (bytes < 64 << 20 ? 2 : 1) +
                1000;
    kernels_ns += (int64_t)((double)*(uint64_t *)parameters[3] * ns);
    return outcome("cuLaunchKernel");
}

static void wait_for_others(void)
{
    const char *file = getenv("FAKE_CUDA_BUSY");
    const struct timespec pause = {.tv_nsec = 5000000};
    if (file && access(file, F_OK) == 0)
        nanosleep(&pause, NULL);
}

cuda_result fake_launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        cuda_stream stream, void **parameters, void **extra)
{
    const struct function *started = function;
    const unsigned grid[3] = {grid_x, grid_y, grid_z};
    const unsigned block[3] = {block_x, block_y, block_z};
    int most = started->shared_bytes > 49152 ? started->shared_bytes : 49152;
    if (started == &pretence)
        return pretend(parameters);
    if (block_x * block_y * block_z > 1024 || shared_bytes > (unsigned)most)
        return 1;
    wait_for_others();
    cuda_result result = outcome("cuLaunchKernel");
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* a module runs one block at a time */
    pthread_mutex_lock(&one);
    if (result == 0)
        started->module->launch(started->kernel, grid, block, parameters);
    pthread_mutex_unlock(&one);
    return result;
}
