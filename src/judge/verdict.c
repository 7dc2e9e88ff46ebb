#include "judge/verdict.h"

#include "base/clock.h"
#include "base/json.h"
#include "judge/measure/profile_text.h"
#include "sandbox/sandbox.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
#define X(symbol, name, meaning) name,
    VERDICT_STATUSES(X)
#undef X
};

static const char *const layer_names[] = {
#define X(symbol, name, meaning) name,
    SANDBOX_LAYERS(X)
#undef X
};

static const char *const stage_names[] = {"queue", "compile", "load", "check",
                                          "time",  "profile", "other"};

void verdict_init(struct verdict *verdict)
{
    *verdict = (struct verdict){.device = "cpu",
                                .timing_meaningful = true,
                                .own_time_fraction = NAN,
                                .own_launch_fraction = NAN,
                                .problem_id = "",
                                .problem_format = "",
                                .problem_hash = "",
                                .candidate_path = "",
                                .candidate_language = ""};
    snprintf(verdict->id, sizeof verdict->id, "%016llx%016llx", (unsigned long long)clock_secret(),
             (unsigned long long)clock_secret());
}

void verdict_deinit(struct verdict *verdict)
{
    arena_deinit(&verdict->arena);
}

const char *verdict_status_name(enum verdict_status status)
{
    return status < STATUS_COUNT ? status_names[status] : "unknown";
}

void verdict_fail(struct verdict *verdict, enum verdict_status status, const char *class_name,
                  const char *message, const char *excerpt)
{
    if (verdict->error_class)
        return;
    verdict->status = status;
    verdict->error_class = arena_strdup(&verdict->arena, class_name);
    verdict->error_message = arena_strdup(&verdict->arena, message);
    verdict->error_excerpt = excerpt && *excerpt ? arena_strdup(&verdict->arena, excerpt) : NULL;
}

static void add_finding(struct arena *arena, struct finding *findings, uint32_t *count,
                        const char *code, const char *format, va_list args)
{
    char text[512];
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp(findings[i].code, code) == 0)
            return; /* one sentence for each code is enough */
    if (*count == VERDICT_FINDINGS)
        return;
    vsnprintf(text, sizeof text, format, args);
    findings[*count].code = arena_strdup(arena, code);
    findings[*count].evidence = arena_strdup(arena, text);
    (*count)++;
}

void verdict_violation(struct verdict *verdict, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_finding(&verdict->arena, verdict->violations, &verdict->violation_count, code, format,
                args);
    va_end(args);
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        if (strcmp(verdict->violations[i].code, code) == 0)
            verdict_fail(verdict, STATUS_VIOLATION, "violation", verdict->violations[i].evidence,
                         NULL);
}

void verdict_warning(struct verdict *verdict, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_finding(&verdict->arena, verdict->warnings, &verdict->warning_count, code, format, args);
    va_end(args);
}

void verdict_speedup(const struct verdict *verdict, struct interval *speedup)
{
    double value = 0;
    double low = 0;
    double high = 0;
    *speedup = (struct interval){.value = NAN, .low = 0, .high = INFINITY};
    if (verdict->case_count == 0)
        return;
    for (uint32_t i = 0; i < verdict->case_count; i++) {
        const struct interval *one = &verdict->cases[i].speedup;
        value += log(one->value);
        low += log(one->low);
        high += log(one->high);
        speedup->n += one->n;
    }
    speedup->value = exp(value / verdict->case_count);
    speedup->low = exp(low / verdict->case_count);
    speedup->high = exp(high / verdict->case_count);
}

static json_t *summary_json(const struct summary *summary)
{
    return json_pack("{s:o, s:o, s:I}", "median", json_number(summary->median), "quartiles",
                     json_pack("[o, o]", json_number(summary->quartile1),
                               json_number(summary->quartile3)),
                     "n", (json_int_t)summary->n);
}

static void put_interval(json_t *object, const char *name, const struct interval *interval)
{
    char key[64];
    json_object_set_new(object, name, json_number(interval->value));
    snprintf(key, sizeof key, "%s_interval", name);
    json_object_set_new(object, key,
                        json_pack("[o, o]", json_number(interval->low),
                                  json_number(interval->high)));
}

static json_t *case_json(const struct timed_case *timed)
{
    double fraction = timed->floor_ms / timed->candidate.median;
    json_t *object = json_object();
    json_t *candidate = summary_json(&timed->candidate);
    json_object_set_new(object, "sizes", json_text(timed->sizes));
    json_object_set_new(object, "candidate", candidate);
    json_object_set_new(object, "reference", summary_json(&timed->reference));
    put_interval(object, "speedup", &timed->speedup);
    json_object_set_new(object, "roofline_fraction",
                        timed->floor_ms > 0 ? json_number(fraction) : json_null());
    return object;
}

static json_t *clocks_json(const struct gpu_watch *clocks)
{
    if (!clocks->known)
        return json_null();
    json_t *reasons = json_array();
    for (const struct gpu_reason *reason = gpu_reasons; reason->name; reason++)
        if (clocks->reasons & reason->bit)
            json_array_append_new(reasons, json_string(reason->name));
    return json_pack("{s:[o, o], s:o, s:o, s:o, s:o, s:o, s:o}", "sm_mhz",
                     json_known(clocks->before.sm_mhz), json_known(clocks->after.sm_mhz),
                     "sm_lowest_mhz", json_known(clocks->sm_lowest_mhz), "sm_max_mhz",
                     json_known(clocks->after.sm_max_mhz), "memory_mhz",
                     json_known(clocks->after.memory_mhz), "temperature_c",
                     json_known(clocks->after.temperature_c), "power_w",
                     json_known(clocks->after.power_w), "throttled", reasons);
}

static json_t *timing_json(const struct verdict *verdict)
{
    struct interval speedup;
    if (verdict->case_count == 0 && !verdict->timing_note)
        return json_null();
    json_t *object = verdict->case_count > 0 ? case_json(&verdict->cases[0]) : json_object();
    verdict_speedup(verdict, &speedup);
    if (verdict->case_count > 0)
        put_interval(object, "speedup", &speedup);
    json_object_set_new(object, "meaningful", json_boolean(verdict->timing_meaningful));
    json_object_set_new(object, "note", json_text(verdict->timing_note));
    json_object_set_new(object, "handover_us", json_number(verdict->handover_us));
    json_object_set_new(object, "clocks", clocks_json(&verdict->clocks));
    if (verdict->case_count > 1) {
        json_t *cases = json_array();
        for (uint32_t i = 0; i < verdict->case_count; i++)
            json_array_append_new(cases, case_json(&verdict->cases[i]));
        json_object_set_new(object, "cases", cases);
    }
    return object;
}

static json_t *correctness_json(const struct verdict *verdict)
{
    json_t *first = json_null();
    if (verdict->mismatch.any)
        first = json_pack("{s:o, s:I, s:o, s:o}", "output", json_text(verdict->mismatch.output),
                          "index", (json_int_t)verdict->mismatch.index, "got",
                          json_number(verdict->mismatch.got), "expected",
                          json_number(verdict->mismatch.expected));
    return json_pack("{s:i, s:i, s:o, s:o, s:o}", "trials", (int)verdict->trials, "passed",
                     (int)verdict->trials_passed, "max_absolute_error",
                     json_number(verdict->max_absolute), "max_relative_error",
                     json_number(verdict->max_relative), "first_mismatch", first);
}

static json_t *profile_json(const struct verdict *verdict)
{
    json_t *kernels = json_array();
    for (uint32_t i = 0; i < verdict->kernel_count; i++) {
        const struct kernel_share *kernel = &verdict->kernels[i];
        json_t *object = json_pack("{s:o, s:I, s:o, s:b}", "name", json_text(kernel->name),
                                   "launches", (json_int_t)kernel->launches, "time_us",
                                   json_number(kernel->time_us), "own", kernel->own);
        profile_kernel_json(kernel, object);
        json_array_append_new(kernels, object);
    }
    json_t *profile = json_pack("{s:o, s:o, s:o, s:{s:I}}", "kernels", kernels, "own_time_fraction",
                                json_number(verdict->own_time_fraction), "own_launch_fraction",
                                json_number(verdict->own_launch_fraction), "memory", "peak_bytes",
                                (json_int_t)verdict->peak_memory_bytes);
    profile_totals_json(verdict, profile);
    return profile;
}

static json_t *findings_json(const struct finding *findings, uint32_t count)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, json_pack("{s:o, s:o}", "code", json_text(findings[i].code),
                                               "evidence", json_text(findings[i].evidence)));
    return array;
}

static json_t *layers_json(uint32_t layers, bool present)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < SANDBOX_LAYER_COUNT; i++)
        if (((layers >> i) & 1) == present)
            json_array_append_new(array, json_string(layer_names[i]));
    return array;
}

static json_t *missing_json(uint32_t layers)
{
    json_t *array = layers_json(layers, false);
    for (int i = 0; i < SANDBOX_LIMIT_COUNT; i++) {
        const char *name = sandbox_limit_missing(layers, i);
        if (name)
            json_array_append_new(array, json_sprintf("resource limit: %s", name));
    }
    return array;
}

static json_t *cases_json(const struct verdict *verdict)
{
    json_t *failed = json_array();
    if (verdict->failed_case)
        json_array_append_new(failed, json_text(verdict->failed_case));
    return json_pack("{s:o, s:i, s:i, s:o}", "source", json_text(verdict->cases_from), "count",
                     (int)verdict->case_total, "expected", (int)verdict->cases_compared, "failed",
                     failed);
}

static json_t *stages_json(const struct verdict *verdict)
{
    json_t *stages = json_object();
    for (int i = 0; i < STAGE_COUNT; i++)
        json_object_set_new(stages, stage_names[i], json_number(verdict->stages_ms[i]));
    return stages;
}

json_t *verdict_json(const struct verdict *verdict)
{
    json_t *object = json_object();
    json_object_set_new(object, "schema", json_integer(1));
    json_object_set_new(object, "id", json_text(verdict->id));
    json_object_set_new(object, "problem",
                        json_pack("{s:o, s:o, s:o}", "id", json_text(verdict->problem_id), "format",
                                  json_text(verdict->problem_format), "hash",
                                  json_text(verdict->problem_hash)));
    json_object_set_new(object, "candidate",
                        json_pack("{s:o, s:o, s:o}", "path", json_text(verdict->candidate_path),
                                  "language", json_text(verdict->candidate_language), "hash",
                                  json_text(verdict->candidate_hash)));
    json_object_set_new(object, "device", json_text(verdict->device));
    json_object_set_new(object, "environment",
                        json_pack("{s:{s:o, s:o}, s:b}", "sandbox", "layers",
                                  layers_json(verdict->layers, true), "missing",
                                  missing_json(verdict->layers), "build_cached",
                                  verdict->build_cached));
    json_object_set_new(object, "status", json_string(verdict_status_name(verdict->status)));
    json_object_set_new(object, "compiled", json_boolean(verdict->compiled));
    json_object_set_new(object, "correct", json_boolean(verdict->correct));
    json_object_set_new(object, "correctness", correctness_json(verdict));
    if (verdict->cases_from)
        json_object_set_new(object, "cases", cases_json(verdict));
    json_object_set_new(object, "timing", timing_json(verdict));
    json_object_set_new(object, "profile", profile_json(verdict));
    json_object_set_new(object, "integrity",
                        json_pack("{s:o, s:o}", "violations",
                                  findings_json(verdict->violations, verdict->violation_count),
                                  "warnings",
                                  findings_json(verdict->warnings, verdict->warning_count)));
    if (verdict->extensions)
        json_object_set_new(object, "build",
                            json_pack("{s:i, s:i}", "extensions", (int)verdict->extensions, "slim",
                                      (int)verdict->extensions_slim));
    json_object_set_new(object, "stages_ms", stages_json(verdict));
    json_object_set_new(object, "calls_ms",
                        json_pack("{s:o, s:o}", "reference", json_number(verdict->reference_ms),
                                  "candidate", json_number(verdict->candidate_ms)));
    json_object_set_new(object, "error",
                        verdict->error_class
                            ? json_pack("{s:o, s:o, s:o}", "class", json_text(verdict->error_class),
                                        "message", json_text(verdict->error_message), "excerpt",
                                        json_text(verdict->error_excerpt))
                            : json_null());
    return object;
}
