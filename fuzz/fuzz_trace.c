/* Any bytes as a launch trace: refused in words, or a profile that adds up and can be shown. */
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "judge/measure/trace.h"
#include "judge/measure/trace_interval.h"
#include "judge/profile_text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct gpu gpu = {.multiprocessors = 132,
                               .memory_bytes_per_s = 4.8e12,
                               .each = {.threads = 2048,
                                        .blocks = 32,
                                        .registers = 65536,
                                        .shared_bytes = 233472,
                                        .warp_threads = 32,
                                        .reserved_bytes = 1024}};

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_profile(const struct verdict *verdict)
{
    const struct launch_totals *all = &verdict->launched;
    struct buf text;
    check(verdict->kernel_count <= VERDICT_KERNELS && verdict->kernel_count <= all->kernels);
    check(all->own_kernels <= all->kernels && all->own_launches <= all->launches);
    check(all->streams <= all->launches && all->busy_us <= all->time_us * (1 + 1e-9));
    check(isnan(verdict->own_time_fraction) ||
          (verdict->own_time_fraction >= 0 && verdict->own_time_fraction <= 1 + 1e-9));
    for (uint32_t i = 0; i < verdict->kernel_count; i++) {
        const struct kernel_share *kernel = &verdict->kernels[i];
        check(kernel->launches > 0 && kernel->streams > 0 && *kernel->name);
        check(i == 0 || kernel->time_us <= verdict->kernels[i - 1].time_us);
        check(isnan(kernel->occupancy) || (kernel->occupancy >= 0 && kernel->occupancy <= 1));
    }
    buf_init(&text, PROFILE_TEXT_BYTES);
    profile_text(verdict, PROFILE_COLUMNS, &text);
    for (size_t i = 0; i < text.len; i++)
        check(text.data[i] == '\n' || (text.data[i] >= ' ' && text.data[i] <= '~'));
    buf_deinit(&text);
    json_decref(verdict_json(verdict));
}

/* What one reader of a trace takes, the other does. */
static void check_interval(const char *bytes, size_t size, int expected)
{
    struct trace_interval interval = {.calls = 3};
    struct err err = {0};
    char evidence[TRACE_INTERVAL_TEXT] = "";
    check(trace_interval_parse(bytes, size, &interval, &err) == expected);
    check(interval.launches >= interval.unseen && interval.longest_us >= interval.usual_us &&
          interval.usual_us >= 0);
    check(trace_interval_shared(&interval, 5, evidence) == (evidence[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct trace_pass pass = {
        .gpu = &gpu, .calls = 3, .wall_ms = 5, .timed_ms = 1, .bytes = 1e6};
    struct verdict verdict;
    struct err err = {0};
    char *bytes = mem_copy(data, size); /* aligned as the reader wants it */
    verdict_init(&verdict);
    int result = trace_parse(bytes, size, &pass, &verdict, &err);
    check_interval(bytes, size, result);
    mem_free(bytes);
    if (result == 0)
        check_profile(&verdict);
    else
        check(result == ERR_PROTOCOL && err.text[0] && verdict.launched.calls == 0);
    verdict_deinit(&verdict);
    return 0;
}
