/* A CUPTI without a GPU. What the driver would call and record, a test plays: fake_cupti_call is a
 * call of the driver, fake_cupti_kernel and fake_cupti_copy are what ran. FAKE_CUPTI_VERSION is its
 * version (default 130000); FAKE_CUPTI_FAIL names a function that fails with 999. */
#include "judge/trace/cupti.h"

#include <stdlib.h>
#include <string.h>

#define CALLS 1024
#define RECORD_BYTES 216 /* of CUpti_ActivityKernel10; all records are as long here */
#define RECORDS 200000
#define LIMIT_REACHED 12

static cupti_callback *on_call;
static void *on_call_context;
static unsigned char enabled[CALLS], recorded[32];
static cupti_requested *on_request;
static cupti_filled *on_filled;
static unsigned char *records;
static size_t record_count, dropped;
static struct cupti_call staged_call;
static uint32_t staged_function;

static int outcome(const char *function)
{
    const char *fails = getenv("FAKE_CUPTI_FAIL");
    return fails && strcmp(fails, function) == 0 ? 999 : 0;
}

#define X(field, symbol, arguments) int fake_##field arguments __asm__(symbol);
CUPTI_FUNCTIONS(X)
#undef X

int fake_version(uint32_t *version)
{
    const char *text = getenv("FAKE_CUPTI_VERSION");
    *version = text ? (uint32_t)strtoul(text, NULL, 10) : 130000;
    return outcome("cuptiGetVersion");
}

int fake_timestamp(uint64_t *ns)
{
    static uint64_t now_ns;
    *ns = now_ns += 1000;
    return outcome("cuptiGetTimestamp");
}

int fake_subscribe(void **subscriber, cupti_callback *callback, void *context)
{
    *subscriber = enabled;
    on_call = callback;
    on_call_context = context;
    return outcome("cuptiSubscribe");
}

int fake_enable_callback(uint32_t on, void *subscriber, int domain, uint32_t function)
{
    if (subscriber != enabled || domain != CUPTI_DOMAIN_DRIVER || function >= CALLS)
        return 1;
    enabled[function] = (unsigned char)on;
    return outcome("cuptiEnableCallback");
}

int fake_activity_callbacks(cupti_requested *request, cupti_filled *filled)
{
    on_request = request;
    on_filled = filled;
    return outcome("cuptiActivityRegisterCallbacks");
}

int fake_activity_enable(int kind)
{
    recorded[kind % 32] = 1;
    return outcome("cuptiActivityEnable");
}

int fake_activity_disable(int kind)
{
    recorded[kind % 32] = 0;
    return outcome("cuptiActivityDisable");
}

int fake_activity_next(uint8_t *buffer, size_t valid_bytes, void **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + RECORD_BYTES : buffer;
    if (next + RECORD_BYTES > buffer + valid_bytes)
        return LIMIT_REACHED;
    *record = next;
    return 0;
}

int fake_activity_dropped(void *context, uint32_t stream, size_t *count)
{
    *count = dropped;
    dropped = 0;
    return outcome("cuptiActivityGetNumDroppedRecords");
}

int fake_activity_flush(uint32_t forced)
{
    for (size_t sent = 0; forced && sent < record_count;) {
        uint8_t *buffer = NULL;
        size_t bytes = 0;
        size_t most = 1;
        on_request(&buffer, &bytes, &most);
        size_t fit = bytes / RECORD_BYTES;
        if (!buffer || fit == 0 || most != 0)
            return 1;
        fit = fit < record_count - sent ? fit : record_count - sent;
        memcpy(buffer, records + sent * RECORD_BYTES, fit * RECORD_BYTES);
        sent += fit;
        on_filled(NULL, 0, buffer, bytes, fit * RECORD_BYTES);
    }
    record_count = 0;
    return outcome("cuptiActivityFlushAll");
}

void fake_cupti_call(uint32_t function, void *const *arguments, int result, uint32_t correlation);
void fake_cupti_stage(uint32_t function, void *const *arguments, uint32_t correlation);
void fake_cupti_staged(void);
void fake_cupti_kernel(const struct cupti_kernel *kernel);
void fake_cupti_copy(const struct cupti_copy *copy);
void fake_cupti_drop(size_t count);
int fake_cupti_watches(uint32_t function);
int fake_cupti_records(void);

void fake_cupti_call(uint32_t function, void *const *arguments, int result, uint32_t correlation)
{
    struct cupti_call call = {.arguments = arguments, .correlation = correlation};
    if (!enabled[function])
        return;
    on_call(on_call_context, CUPTI_DOMAIN_DRIVER, function, &call);
    call.site = CUPTI_SITE_EXIT;
    call.result = &result;
    on_call(on_call_context, CUPTI_DOMAIN_DRIVER, function, &call);
}

/* A call that somebody else makes: the test hands fake_cupti_staged to him. */
void fake_cupti_stage(uint32_t function, void *const *arguments, uint32_t correlation)
{
    staged_function = function;
    staged_call = (struct cupti_call){.arguments = arguments, .correlation = correlation};
}

void fake_cupti_staged(void)
{
    fake_cupti_call(staged_function, staged_call.arguments, 0, staged_call.correlation);
}

static void *new_record(int kind)
{
    if (!records)
        records = calloc(RECORDS, RECORD_BYTES);
    if (!records || !recorded[kind] || record_count == RECORDS)
        return NULL;
    return records + RECORD_BYTES * record_count++;
}

void fake_cupti_kernel(const struct cupti_kernel *kernel)
{
    void *record = new_record(CUPTI_CONCURRENT_KERNEL);
    if (record)
        memcpy(record, kernel, sizeof *kernel);
}

void fake_cupti_copy(const struct cupti_copy *copy)
{
    void *record = new_record((int)copy->kind);
    if (record)
        memcpy(record, copy, sizeof *copy);
}

void fake_cupti_drop(size_t count)
{
    dropped = count;
}

int fake_cupti_watches(uint32_t function)
{
    return enabled[function];
}

int fake_cupti_records(void)
{
    return recorded[CUPTI_CONCURRENT_KERNEL];
}
