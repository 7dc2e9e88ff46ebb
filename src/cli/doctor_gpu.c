#include "cli/doctor.h"

#include "base/array.h"
#include "base/json.h"
#include "cli/table.h"

#include <stdio.h>

#define GIB ((double)(1 << 30))

void doctor_line(struct report *report, bool good, const char *name, const char *format, ...)
{
    char text[PATH_MAX + 256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_puts(report->out, "  ");
    style_puts(report->out, report->colour, good ? STYLE_GOOD : STYLE_WARN, good ? "ok  " : "--  ");
    buf_printf(report->out, "%-24s %s\n", name, text);
}

static void report_facts(struct report *report, const struct gpu_capabilities *gpu)
{
    char name[32], text[400];
    const struct gpu *facts = &gpu->facts;
    snprintf(name, sizeof name, "GPU %d", facts->ordinal);
    int used = snprintf(text, sizeof text, "%s, compute capability %d.%d, %.1f GiB", facts->name,
                        facts->major, facts->minor, (double)facts->memory_bytes / GIB);
    if (gpu->health.memory_free >= 0)
        used += snprintf(text + used, sizeof text - (size_t)used, " (%.1f free)",
                         (double)gpu->health.memory_free / GIB);
    snprintf(text + used, sizeof text - (size_t)used, ", %d multiprocessors, %s",
             facts->multiprocessors, facts->uuid);
    doctor_line(report, !gpu->problem[0], name, "%s", text);
    if (gpu->problem[0])
        doctor_line(report, false, "", "%s", gpu->problem);
    if (facts->mig)
        doctor_line(report, true, "",
                    "a MIG instance: clocks and power are shared with the others on its board");
}

/* Both numbers of "1755 of 1980 MHz", as far as they are known. */
static void put_pair(struct buf *out, const char *what, double now, double most, const char *unit)
{
    if (now < 0)
        return;
    buf_printf(out, "%s%s%.0f", out->len ? ", " : "", what, now);
    if (most >= 0)
        buf_printf(out, " of %.0f", most);
    buf_printf(out, " %s", unit);
}

static void report_state(struct report *report, const struct gpu_capabilities *gpu)
{
    const struct gpu_state *now = &gpu->now;
    bool slowed = false;
    struct buf text;
    buf_init(&text, 1024);
    put_pair(&text, "SM ", now->sm_mhz, now->sm_max_mhz, "MHz");
    put_pair(&text, "memory ", now->memory_mhz, now->memory_max_mhz, "MHz");
    put_pair(&text, "at ", now->temperature_c, -1, "C");
    put_pair(&text, "", now->power_w, now->power_limit_w, "W");
    for (const struct gpu_reason *reason = gpu_reasons; reason->name; reason++)
        if (now->reasons > 0 && (now->reasons & reason->bit)) {
            buf_printf(&text, ", %s", reason->name);
            slowed |= reason->slows;
        }
    if (gpu->health.processes > 0)
        buf_printf(&text, ", %d other process%s", gpu->health.processes,
                   gpu->health.processes > 1 ? "es" : "");
    if (text.len)
        doctor_line(report, !slowed, "", "%s", text.data);
    buf_deinit(&text);
    if (gpu->health.repair_pending == 1)
        doctor_line(report, false, "", "a memory repair is pending until a reset");
}

static void report_peaks(struct report *report, const struct gpu_peaks *peaks)
{
    static const enum gpu_peak shown[] = {GPU_DRAM_COPY, GPU_L2_READ, GPU_F32, GPU_TF32, GPU_F16};
    struct buf text;
    if (peaks->runs == 0)
        return;
    buf_init(&text, 1024);
    for (size_t i = 0; i < COUNT(shown); i++) {
        char value[64];
        gpu_peak_text(peaks, shown[i], value, sizeof value);
        buf_printf(&text, "%s%s %s", i ? ", " : "measured: ", gpu_peak_names[shown[i]], value);
    }
    doctor_line(report, true, "", "%s", text.data);
    buf_deinit(&text);
}

void doctor_gpus(struct report *report, const struct capabilities *found)
{
    buf_puts(report->out, "GPUs\n");
    if (found->gpu_error[0])
        doctor_line(report, false, "GPU", "%s", found->gpu_error);
    for (int i = 0; i < found->gpu_count; i++) {
        report_facts(report, &found->gpus[i]);
        report_state(report, &found->gpus[i]);
        report_peaks(report, &found->gpus[i].peaks);
    }
    if (found->gpu_count == 0)
        return;
    doctor_line(report, true, "driver", "%s%sfor CUDA %d.%d", found->driver_text,
                found->driver_text[0] ? ", " : "", found->driver_version / 1000,
                found->driver_version % 1000 / 10);
    doctor_line(report, !found->nvml_error[0], "nvml", "%s",
                found->nvml_error[0] ? found->nvml_error : found->nvml_text);
    for (int i = 0; i < OPTIONAL_COUNT; i++) {
        const struct optional_library *library = &found->libraries[i];
        bool here = library->path[0];
        doctor_line(report, here, library->name, "%s%s%s",
                    here ? library->version : "not found: ", here ? ", " : "",
                    here ? library->path : library->use);
    }
}

json_t *doctor_text(const char *text)
{
    return json_text(text[0] ? text : NULL);
}

static json_t *flag_json(int value)
{
    return value >= 0 ? json_boolean(value) : json_null();
}

static void put_state(json_t *object, const struct gpu_state *now, const struct gpu_health *health)
{
    json_t *reasons = json_array();
    for (const struct gpu_reason *reason = gpu_reasons; reason->name; reason++)
        if (now->reasons > 0 && (now->reasons & reason->bit))
            json_array_append_new(reasons, json_string(reason->name));
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"memory_free_bytes", (double)health->memory_free},
        {"sm_mhz", now->sm_mhz},
        {"sm_max_mhz", now->sm_max_mhz},
        {"memory_mhz", now->memory_mhz},
        {"memory_max_mhz", now->memory_max_mhz},
        {"temperature_c", now->temperature_c},
        {"power_w", now->power_w},
        {"power_limit_w", now->power_limit_w},
        {"busy_percent", health->busy_percent},
        {"processes", health->processes},
        {"ecc_uncorrected", (double)health->ecc_uncorrected},
    };
    for (size_t i = 0; i < COUNT(numbers); i++)
        json_put(object, numbers[i].name, json_known(numbers[i].value));
    json_put(object, "repair_pending", flag_json(health->repair_pending));
    json_put(object, "mig_mode", flag_json(health->mig_mode));
    json_put(object, "throttled", reasons);
}

static json_t *peaks_json(const struct gpu_peaks *peaks)
{
    json_t *object = json_object();
    for (int i = 0; i < GPU_PEAK_COUNT; i++)
        json_put(object, gpu_peak_names[i], json_number(peaks->measured[i]));
    return object;
}

static json_t *gpu_json(const struct gpu_capabilities *gpu)
{
    const struct gpu *facts = &gpu->facts;
    char capability[16];
    json_t *object = json_object();
    snprintf(capability, sizeof capability, "%d.%d", facts->major, facts->minor);
    json_put(object, "ordinal", json_integer(facts->ordinal));
    json_put(object, "name", json_text(facts->name));
    json_put(object, "uuid", json_text(facts->uuid));
    json_put(object, "mig", json_boolean(facts->mig));
    json_put(object, "compute_capability", json_text(capability));
    json_put(object, "memory_bytes", json_integer((json_int_t)facts->memory_bytes));
    json_put(object, "l2_bytes", json_integer((json_int_t)facts->l2_bytes));
    json_put(object, "multiprocessors", json_integer(facts->multiprocessors));
    json_put(object, "usable", json_boolean(!gpu->problem[0]));
    json_put(object, "problem", doctor_text(gpu->problem));
    put_state(object, &gpu->now, &gpu->health);
    json_put(object, "peaks", gpu->peaks.runs ? peaks_json(&gpu->peaks) : json_null());
    return object;
}

static json_t *nvidia_json(const struct capabilities *found)
{
    char cuda[32];
    json_t *object = json_object();
    snprintf(cuda, sizeof cuda, "%d.%d", found->driver_version / 1000,
             found->driver_version % 1000 / 10);
    json_put(object, "driver", doctor_text(found->driver_text));
    json_put(object, "cuda", json_text(cuda));
    json_put(object, "nvml", doctor_text(found->nvml_text));
    for (int i = 0; i < OPTIONAL_COUNT; i++) {
        const struct optional_library *library = &found->libraries[i];
        json_put(object, library->name,
                 library->path[0] ? json_pack("{s:o, s:o}", "version", json_text(library->version),
                                              "path", json_text(library->path))
                                  : json_null());
    }
    return object;
}

void doctor_gpus_json(json_t *object, const struct capabilities *found)
{
    json_t *gpus = json_array();
    for (int i = 0; i < found->gpu_count; i++)
        json_array_append_new(gpus, gpu_json(&found->gpus[i]));
    json_put(object, "gpus", gpus);
    json_put(object, "gpu_error", doctor_text(found->gpu_error));
    json_put(object, "nvidia", found->gpu_count ? nvidia_json(found) : json_null());
}
