/* kernelgym_metadata: the `metadata` of a result, and the profile in KernelGYM's names. */
#include "server/kernelgym/result.h"

#include "base/array.h"
#include "base/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A number, or 0 if there is none. */
static json_t *number_or_zero(const json_t *value)
{
    return json_is_number(value) ? json_deep_copy(value) : json_integer(0);
}

/* Takes `value`; leaves out null. */
static void put_known(json_t *object, const char *key, json_t *value)
{
    if (json_is_null(value))
        json_decref(value);
    else
        json_put(object, key, value);
}

/* The part of a verdict at a path, if there is one. */
static void put_part(json_t *object, const char *key, const struct verdict *verdict,
                     const char *path)
{
    if (verdict)
        put_known(object, key, verdict_json_at(verdict, path));
}

static bool was_traced(const struct verdict *verdict)
{
    return verdict && verdict->launched.calls > 0;
}

void kernelgym_put_coverage(json_t *object, const struct verdict *verdict)
{
    static const char *const names[] = {"num_custom_kernels", "num_total_kernels",
                                        "custom_kernel_cuda_time_in_profiling_us",
                                        "total_kernel_run_time_in_profiling_us"};
    json_t *traced = was_traced(verdict) ? verdict_json_at(verdict, "profile.kernelgym") : NULL;
    for (size_t i = 0; i < COUNT(names); i++)
        json_put(object, names[i], number_or_zero(json_object_get(traced, names[i])));
    json_decref(traced);
}

static json_t *kernel_json(const json_t *kernel)
{
    static const char *const more[] = {"own",  "source", "registers", "shared_bytes", "local_bytes",
                                       "grid", "block",  "occupancy", "limited_by"};
    json_t *row = json_object();
    json_put(row, "name", json_text(json_text_at(kernel, "name")));
    json_put(row, "cuda_time_us", number_or_zero(json_object_get(kernel, "time_us")));
    json_put(row, "cpu_time_us", json_real(0.0));
    json_put(row, "count", number_or_zero(json_object_get(kernel, "launches")));
    for (size_t i = 0; i < COUNT(more); i++)
        if (json_object_get(kernel, more[i]))
            put_known(row, more[i], json_deep_copy(json_object_get(kernel, more[i])));
    return row;
}

json_t *kernelgym_profiling(const struct verdict *verdict)
{
    if (!was_traced(verdict))
        return json_null();
    const struct launch_totals *all = &verdict->launched;
    json_t *kernels = verdict_json_at(verdict, "profile.kernels"), *rows = json_array();
    for (size_t i = 0; i < json_array_size(kernels); i++)
        json_array_append_new(rows, kernel_json(json_array_get(kernels, i)));
    json_decref(kernels);
    json_t *answer = json_object();
    json_put(answer, "kernel_count", json_integer((json_int_t)json_array_size(rows)));
    json_put(answer, "kernels", rows);
    json_put(answer, "total_cpu_time_us", json_real(0.0));
    json_put(answer, "total_cuda_time_us", json_number(all->time_us));
    json_put(answer, "total_self_cuda_time_us", json_number(all->time_us));
    json_put(answer, "cuda_device_event_count", json_integer((json_int_t)all->launches));
    json_put(answer, "cuda_time_event_count", json_integer((json_int_t)all->launches));
    json_put(answer, "self_cuda_time_event_count", json_integer((json_int_t)all->launches));
    put_part(answer, "text", verdict, "profile.text");
    if (json_array_size(rows) == 0)
        json_put(answer, "profiling_warning", json_text("nothing ran on the GPU"));
    return answer;
}

/* "cuda:1 NVIDIA H200" -> "cuda:1" and "NVIDIA H200". */
static void put_device(json_t *metadata, const char *device)
{
    size_t length = strcspn(device, " ");
    const char *name = device[length] ? device + length + 1 : NULL;
    if (!*device)
        return;
    json_put(metadata, "device", json_text_bytes(device, length));
    json_put(metadata, "hardware", json_text(name ? name : device));
    if (name)
        json_put(metadata, "gpu_name", json_text(name));
}

/* The class of an exception, which Python writes before its text: "torch.OutOfMemoryError: …". */
static json_t *error_name(const struct verdict *verdict)
{
    const char *message = kernelgym_error_text(verdict, false);
    size_t length = 0;
    while (isalnum((unsigned char)message[length]) || (length > 0 && message[length] == '.') ||
           message[length] == '_')
        length++;
    if (length > 0 && message[length] == ':' && isalpha((unsigned char)message[0]) &&
        message[length + 1] == ' ')
        return json_text_bytes(message, length);
    return json_text(verdict->error_class);
}

static void put_named(json_t *metadata, const char *key, const struct verdict *verdict,
                      bool verbose)
{
    char name[64];
    json_put(metadata, key, json_text(kernelgym_error_text(verdict, verbose)));
    snprintf(name, sizeof name, "%s_name", key);
    json_put(metadata, name, error_name(verdict));
}

/* The texts that help the author of a candidate. */
static void put_errors(json_t *metadata, const struct verdict *verdict,
                       const struct kernelgym_terms *terms, const struct kernelgym_outcome *outcome)
{
    const char *class = verdict ? verdict->error_class : NULL;
    if (!class)
        return;
    if (strcmp(class, "validation") == 0)
        json_put(metadata, "validation_error",
                 json_text(kernelgym_error_text(verdict, terms->verbose)));
    else if (outcome->code == KERNELGYM_COMPILATION)
        put_named(metadata, "compilation_error", verdict, terms->verbose);
    else if (outcome->code == KERNELGYM_RUNTIME && terms->simple)
        put_named(metadata, "error", verdict, terms->verbose);
    else if (outcome->code == KERNELGYM_RUNTIME)
        put_named(metadata, "runtime_error", verdict, terms->verbose);
    else if (strcmp(class, "reference") == 0)
        put_named(metadata, "model_load_error", verdict, terms->verbose);
    else if (outcome->code != KERNELGYM_CORRECTNESS)
        put_named(metadata, "error", verdict, terms->verbose);
}

static void put_issue(json_t *metadata, const struct verdict *verdict)
{
    char text[1024];
    bool values = verdict->mismatch.any;
    if (verdict->status != STATUS_WRONG)
        return;
    snprintf(text, sizeof text, "%s%s", values ? "Output mismatch: " : "",
             kernelgym_error_text(verdict, false));
    json_put(metadata, "correctness_issue", json_text(text));
    json_put(metadata, "correctness_issue_name", json_text("correctness_issue"));
    if (!values)
        return;
    snprintf(text, sizeof text, "%.6f",
             isfinite(verdict->max_absolute) ? verdict->max_absolute : 0);
    json_put(metadata, "max_difference", json_pack("[s]", text));
}

static void put_correctness(json_t *metadata, const struct verdict *verdict)
{
    char text[64];
    if (!verdict)
        return;
    if (verdict->trials > 0) {
        snprintf(text, sizeof text, "(%u / %u)", verdict->trials_passed, verdict->trials);
        json_put(metadata, "correctness_trials", json_text(text));
    }
    put_issue(metadata, verdict);
}

static void put_reference(json_t *metadata, const struct kernelgym_job *job,
                          const struct kernelgym_terms *terms,
                          const struct kernelgym_outcome *outcome)
{
    char id[512];
    snprintf(id, sizeof id, "%s_kernel", job->id);
    json_put(metadata, "kernel_task_id", json_text(id));
    if (outcome->reference_ms > 0) {
        snprintf(id, sizeof id, "%s_ref", job->id);
        json_put(metadata, "reference_task_id", json_text(id));
    }
    if (terms->reference_backend) {
        bool compiled = strstr(terms->reference_backend, "compile");
        json_put(metadata, "reference_backend", json_text(terms->reference_backend));
        json_put(metadata, "reference_backend_compiled", json_boolean(compiled));
    }
    if (terms->uuid)
        json_put(metadata, "uuid", json_text(terms->uuid));
}

/* All cases, and those that failed. */
static void put_cases(json_t *metadata, const struct verdict *verdict,
                      const struct kernelgym_terms *terms)
{
    put_part(metadata, "cases_source", verdict, "cases.source");
    put_part(metadata, "num_cases", verdict, "cases.count");
    put_part(metadata, "correctness_failed_cases", verdict, "cases.failed");
    if (!terms->compare)
        json_put(metadata, "correctness_skipped", json_true());
    else if (verdict && verdict->cases_from && verdict->cases_compared == 0)
        json_put(metadata, "correctness_skipped", json_text("no_expected_outputs"));
    if (!terms->timing)
        json_put(metadata, "performance_skipped", json_true());
    put_part(metadata, "runtime_stats", verdict, "timing.candidate");
}

static void put_profile(json_t *metadata, const struct verdict *verdict,
                        const struct kernelgym_terms *terms)
{
    kernelgym_put_coverage(metadata, verdict);
    if (!was_traced(verdict))
        return;
    put_part(metadata, "triton_kernel_coverage", verdict,
             "profile.kernelgym.triton_kernel_coverage");
    put_part(metadata, "custom_kernel_cuda_time_coverage", verdict,
             "profile.kernelgym.custom_kernel_cuda_time_coverage");
    if (!terms->profiling)
        return;
    json_t *own = json_array();
    for (uint32_t i = 0; i < verdict->kernel_count; i++)
        if (verdict->kernels[i].own)
            json_array_append_new(own, json_text(verdict->kernels[i].name));
    json_put(metadata, "triton_profiler_matches", own);
    json_put(metadata, "profiling", kernelgym_profiling(verdict));
}

/* Why a correct kernel has no time. A part of a task keeps one of the two. */
static void put_untimed(json_t *metadata, const struct verdict *verdict,
                        const struct kernelgym_terms *terms,
                        const struct kernelgym_outcome *outcome)
{
    const char *note = verdict && verdict->timing_note ? verdict->timing_note : "";
    bool timed = outcome->candidate_ms > 0 || outcome->reference_ms > 0;
    if (outcome->correct && terms->timing && !timed)
        json_put(metadata, "error_during_performance", json_text(*note ? note : "not timed"));
}

static json_t *own_metadata(const struct kernelgym_job *job)
{
    static const char *const keys[] = {"id",     "status", "correctness",
                                       "timing", "output", "stages_ms"};
    json_t *object = json_object();
    for (size_t i = 0; i < COUNT(keys); i++)
        put_part(object, keys[i], job->verdict, keys[i]);
    if (job->worker)
        json_put(object, "worker", json_text(job->worker));
    return object;
}

json_t *kernelgym_metadata(const struct kernelgym_job *job, const struct kernelgym_terms *terms,
                           const struct kernelgym_outcome *outcome)
{
    json_t *metadata = json_object();
    put_device(metadata, job->verdict ? job->verdict->device : "");
    json_put(metadata, "backend", json_text(terms->backend));
    json_put(metadata, "num_correct_trials", json_integer(terms->num_correct_trials));
    json_put(metadata, "num_perf_trials", json_integer(terms->num_perf_trials));
    put_correctness(metadata, job->verdict);
    put_errors(metadata, job->verdict, terms, outcome);
    put_untimed(metadata, job->verdict, terms, outcome);
    put_profile(metadata, job->verdict, terms);
    if (terms->simple)
        put_cases(metadata, job->verdict, terms);
    else
        put_reference(metadata, job, terms, outcome);
    if (terms->device_preference)
        json_put(metadata, "device_preference", json_text(terms->device_preference));
    put_part(metadata, "integrity", job->verdict, "integrity");
    json_put(metadata, "warpgym", own_metadata(job));
    return metadata;
}
