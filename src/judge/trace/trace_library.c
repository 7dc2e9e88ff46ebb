#include "judge/trace/trace_library.h"

#include "base/array.h"
#include "judge/trace/cupti.h"
#include "judge/trace/origin.h"
#include "judge/trace/registry.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
#define BUFFER_BYTES ((size_t)1 << 20)
#define BUFFERS_MAX 64 /* in CUPTI's hands at a time */

static struct {
    struct cupti cupti;
    void *subscriber;
    int refusal;
    bool tracing;
    uint32_t buffers;
    struct trace_header header;
    pthread_mutex_t lock;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum meaning {
    LOADS,      /* arguments: out handle, image */
    LOADS_FILE, /* out handle, path */
    DERIVES,    /* out handle, handle, and a name where `has_name` */
    ENUMERATES, /* out handles, count, handle */
    NAMES,      /* out name, handle */
    LAUNCHES,   /* the function, at `at` */
    LAUNCHES_GRAPH,
};

static const struct function {
    uint32_t function;
    enum meaning meaning;
    uint32_t at;
    bool has_name;
} functions[] = {
    {CUPTI_MODULE_LOAD, LOADS_FILE, 0, false},
    {CUPTI_MODULE_LOAD_DATA, LOADS, 0, false},
    {CUPTI_MODULE_LOAD_DATA_EX, LOADS, 0, false},
    {CUPTI_MODULE_LOAD_FAT_BINARY, LOADS, 0, false},
    {CUPTI_LIBRARY_LOAD_DATA, LOADS, 0, false},
    {CUPTI_LIBRARY_LOAD_FILE, LOADS_FILE, 0, false},
    {CUPTI_MODULE_GET_FUNCTION, DERIVES, 0, true},
    {CUPTI_LIBRARY_GET_KERNEL, DERIVES, 0, true},
    {CUPTI_LIBRARY_GET_MODULE, DERIVES, 0, false},
    {CUPTI_KERNEL_GET_FUNCTION, DERIVES, 0, false},
    {CUPTI_MODULE_ENUMERATE, ENUMERATES, 0, false},
    {CUPTI_LIBRARY_ENUMERATE, ENUMERATES, 0, false},
    {CUPTI_FUNCTION_GET_NAME, NAMES, 0, false},
    {CUPTI_KERNEL_GET_NAME, NAMES, 0, false},
    {CUPTI_LAUNCH_KERNEL, LAUNCHES, 0, false},
    {CUPTI_LAUNCH_KERNEL_PTSZ, LAUNCHES, 0, false},
    {CUPTI_LAUNCH_COOPERATIVE, LAUNCHES, 0, false},
    {CUPTI_LAUNCH_COOPERATIVE_PTSZ, LAUNCHES, 0, false},
    {CUPTI_LAUNCH_KERNEL_EX, LAUNCHES, 1, false},
    {CUPTI_LAUNCH_KERNEL_EX_PTSZ, LAUNCHES, 1, false},
    {CUPTI_GRAPH_LAUNCH, LAUNCHES_GRAPH, 0, false},
    {CUPTI_GRAPH_LAUNCH_PTSZ, LAUNCHES_GRAPH, 0, false},
};
#define FUNCTIONS COUNT(functions)

static bool is_launch(const struct function *function)
{
    return function->meaning >= LAUNCHES;
}

/* The stack is read before the lock is taken: that may have to wait for Python. */
static void on_load(const struct cupti_call *call, bool in_memory)
{
    struct origin origin;
    origin_of_image(in_memory ? call->arguments[1] : NULL, &origin);
    pthread_mutex_lock(&trace.lock);
    registry_loaded(*(void *const *)call->arguments[0], &origin);
    pthread_mutex_unlock(&trace.lock);
}

/* With the lock. */
static void on_handle(const struct function *function, const struct cupti_call *call)
{
    void *const *handles = call->arguments[0];
    uint32_t count = function->meaning == ENUMERATES ? (uint32_t)(uintptr_t)call->arguments[1] : 0;
    if (function->meaning == DERIVES)
        registry_derived(*handles, call->arguments[1],
                         function->has_name ? call->arguments[2] : NULL);
    else if (function->meaning == NAMES)
        registry_named(call->arguments[1], *(const char *const *)call->arguments[0]);
    for (uint32_t i = 0; i < count; i++)
        if (!registry_knows(handles[i]))
            registry_derived(handles[i], call->arguments[2], NULL);
}

static void on_refused_launch(void)
{
    pthread_mutex_lock(&trace.lock);
    registry_failed();
    pthread_mutex_unlock(&trace.lock);
}

static void on_launch(const void *handle, const struct cupti_call *call)
{
    struct origin origin;
    pthread_mutex_lock(&trace.lock);
    bool known = !handle || registry_knows(handle);
    pthread_mutex_unlock(&trace.lock);
    if (!known)
        origin_of_launch(&origin);
    pthread_mutex_lock(&trace.lock);
    if (!known)
        registry_loaded(handle, &origin);
    registry_launched(handle, call->correlation);
    pthread_mutex_unlock(&trace.lock);
}

static void on_call(void *context, int domain, uint32_t number, const struct cupti_call *call)
{
    const struct function *function = functions;
    while (function < functions + FUNCTIONS && function->function != number)
        function++;
    if (domain != CUPTI_DOMAIN_DRIVER || function == functions + FUNCTIONS || !call->arguments)
        return;
    bool succeeded = !call->result || *call->result == 0;
    if (is_launch(function)) {
        if (call->site == CUPTI_SITE_ENTER)
            on_launch(function->meaning == LAUNCHES ? call->arguments[function->at] : NULL, call);
        else if (!succeeded)
            on_refused_launch();
        return;
    }
    if (call->site != CUPTI_SITE_EXIT || !call->arguments[0] || !succeeded)
        return;
    if (function->meaning == LOADS || function->meaning == LOADS_FILE) {
        on_load(call, function->meaning == LOADS);
        return;
    }
    pthread_mutex_lock(&trace.lock);
    on_handle(function, call);
    pthread_mutex_unlock(&trace.lock);
}

static void on_requested(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
    pthread_mutex_lock(&trace.lock);
    bool may = trace.buffers < BUFFERS_MAX;
    *buffer = may ? aligned_alloc(8, BUFFER_BYTES) : NULL;
    trace.buffers += *buffer != NULL;
    pthread_mutex_unlock(&trace.lock);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *records_max = 0; /* as many as fit */
}

static void on_filled(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                      size_t valid_bytes)
{
    void *record = NULL;
    size_t dropped = 0;
    if (!buffer)
        return;
    if (trace.cupti.activity_dropped(context, stream, &dropped) != 0)
        dropped = 0;
    pthread_mutex_lock(&trace.lock);
    registry_lost(dropped);
    while (valid_bytes > 0 && trace.cupti.activity_next(buffer, valid_bytes, &record) == 0) {
        uint32_t kind;
        memcpy(&kind, record, sizeof kind);
        if (kind == CUPTI_KERNEL || kind == CUPTI_CONCURRENT_KERNEL)
            registry_kernel(record);
        else if (kind == CUPTI_COPY || kind == CUPTI_SET)
            registry_copy(record);
    }
    trace.buffers--;
    pthread_mutex_unlock(&trace.lock);
    free(buffer);
}

static int keep_refusal(int refusal, int result)
{
    trace.refusal = refusal;
    return result;
}

static int resolve_function(void *library)
{
    static const struct {
        const char *symbol;
        size_t offset;
    } wanted[] = {
#define X(field, symbol, arguments) {symbol, offsetof(struct cupti, field)},
        CUPTI_FUNCTIONS(X)
#undef X
    };
    struct cupti found = {.library = library};
    for (size_t i = 0; i < COUNT(wanted); i++) {
        void *symbol = dlsym(library, wanted[i].symbol);
        if (!symbol)
            return WARPGYM_TRACE_NO_CUPTI;
        memcpy((char *)&found + wanted[i].offset, &symbol, sizeof symbol);
    }
    int refusal = found.version(&trace.header.cupti_version);
    if (refusal != 0)
        return keep_refusal(refusal, WARPGYM_TRACE_REFUSED);
    if (trace.header.cupti_version < CUPTI_VERSION_MIN)
        return WARPGYM_TRACE_OLD_CUPTI;
    trace.cupti = found;
    return WARPGYM_TRACE_OK;
}

EXPORTED int warpgym_trace_prepare(const char *cupti_path)
{
    /* PyTorch brings one of its own: two of them in a process get into each other's way. */
    const struct {
        const char *name;
        int flags;
    } tries[] = {
        {"libcupti.so.13", RTLD_NOLOAD},
        {"libcupti.so.12", RTLD_NOLOAD},
        {cupti_path, 0},
        {cupti_path ? NULL : "libcupti.so.13", 0},
        {cupti_path ? NULL : "libcupti.so.12", 0},
    };
    void *library = NULL;
    if (trace.cupti.library)
        return WARPGYM_TRACE_OK;
    if (!registry_init())
        return WARPGYM_TRACE_NO_CUPTI;
    for (size_t i = 0; !library && i < COUNT(tries); i++)
        if (tries[i].name)
            library = dlopen(tries[i].name, RTLD_NOW | RTLD_LOCAL | tries[i].flags);
    int result = library ? resolve_function(library) : WARPGYM_TRACE_NO_CUPTI;
    if (result == WARPGYM_TRACE_OK)
        origin_prepare(*(void **)&trace.cupti.subscribe);
    return result;
}

EXPORTED void warpgym_trace_library_snapshot(void)
{
    objects_snapshot();
}

static int watch_driver(bool launches, bool on)
{
    int refusal = 0;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        if (is_launch(&functions[i]) != launches)
            continue;
        int result = trace.cupti.enable_callback(on, trace.subscriber, CUPTI_DOMAIN_DRIVER,
                                                 functions[i].function);
        if (result != 0 && refusal == 0)
            refusal = result; /* an older CUPTI lacks some: the others are worth having */
    }
    return refusal;
}

EXPORTED int InitializeInjection(void)
{
    if (trace.subscriber || warpgym_trace_prepare(NULL) != WARPGYM_TRACE_OK)
        return 1;
    int refusal = trace.cupti.subscribe(&trace.subscriber, on_call, NULL);
    if (refusal != 0)
        trace.subscriber = NULL;
    else
        refusal = watch_driver(false, true);
    trace.refusal = refusal;
    return 1; /* the driver's word for success */
}

static const int recorded[] = {CUPTI_CONCURRENT_KERNEL, CUPTI_COPY, CUPTI_SET};

static void stop_trace(void)
{
    watch_driver(true, false);
    for (size_t i = 0; i < COUNT(recorded); i++)
        (void)!trace.cupti.activity_disable(recorded[i]);
    trace.tracing = false;
}

EXPORTED int warpgym_trace_begin(const char *cupti_path)
{
    int result = warpgym_trace_prepare(cupti_path);
    if (result != WARPGYM_TRACE_OK)
        return result;
    if (!trace.subscriber)
        return trace.refusal ? WARPGYM_TRACE_REFUSED : WARPGYM_TRACE_NOT_INJECTED;
    pthread_mutex_lock(&trace.lock);
    registry_begin();
    pthread_mutex_unlock(&trace.lock);
    int refusal = trace.cupti.activity_callbacks(on_requested, on_filled);
    for (size_t i = 0; refusal == 0 && i < COUNT(recorded); i++)
        refusal = trace.cupti.activity_enable(recorded[i]);
    if (refusal == 0)
        (void)!watch_driver(true, true);
    trace.tracing = true;
    if (refusal != 0) {
        stop_trace();
        return keep_refusal(refusal, WARPGYM_TRACE_REFUSED);
    }
    return trace.cupti.timestamp(&trace.header.begin_ns) == 0 ? WARPGYM_TRACE_OK
                                                              : WARPGYM_TRACE_REFUSED;
}

EXPORTED int warpgym_trace_end(int fd)
{
    if (!trace.tracing)
        return WARPGYM_TRACE_NOT_BEGUN;
    int refusal = trace.cupti.timestamp(&trace.header.end_ns);
    if (refusal == 0)
        refusal = trace.cupti.activity_flush(1);
    stop_trace();
    if (refusal != 0)
        return keep_refusal(refusal, WARPGYM_TRACE_REFUSED);
    pthread_mutex_lock(&trace.lock);
    bool written = registry_write(fd, &trace.header);
    pthread_mutex_unlock(&trace.lock);
    return written ? WARPGYM_TRACE_OK : WARPGYM_TRACE_NOT_WRITTEN;
}

EXPORTED int warpgym_trace_refusal(void)
{
    return trace.refusal;
}
