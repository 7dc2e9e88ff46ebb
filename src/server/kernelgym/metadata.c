/* kernelgym_metadata: the `metadata` of a result, and the profile in KernelGYM's names. */
#include "server/kernelgym/result.h"

#include "base/array.h"
#include "base/json.h"
#include "judge/verdict.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const json_t *member_at(const json_t *object, const char *first, const char *second)
{
    return json_object_get(json_object_get(object, first), second);
}

/* A number, or 0 if there is none. */
static json_t *number_or_zero(const json_t *value)
{
    return json_is_number(value) ? json_deep_copy(value) : json_integer(0);
}

static void put_copy(json_t *object, const char *key, const json_t *value)
{
    if (value && !json_is_null(value))
        json_put(object, key, json_deep_copy(value));
}

void kernelgym_put_coverage(json_t *object, const json_t *verdict)
{
    static const char *const names[] = {"num_custom_kernels", "num_total_kernels",
                                        "custom_kernel_cuda_time_in_profiling_us",
                                        "total_kernel_run_time_in_profiling_us"};
    const json_t *traced = member_at(verdict, "profile", "kernelgym");
    for (size_t i = 0; i < COUNT(names); i++)
        json_put(object, names[i], number_or_zero(json_object_get(traced, names[i])));
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
        put_copy(row, more[i], json_object_get(kernel, more[i]));
    return row;
}

json_t *kernelgym_profiling(const json_t *verdict)
{
    const json_t *profile = json_object_get(verdict, "profile");
    const json_t *traced = json_object_get(profile, "kernelgym");
    const json_t *kernels = json_object_get(profile, "kernels");
    if (!traced)
        return json_null();
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(kernels); i++)
        json_array_append_new(rows, kernel_json(json_array_get(kernels, i)));
    const json_t *time = json_object_get(traced, "total_kernel_run_time_in_profiling_us");
    const json_t *launches = json_object_get(profile, "launches");
    json_t *answer = json_object();
    json_put(answer, "kernel_count", json_integer((json_int_t)json_array_size(rows)));
    json_put(answer, "kernels", rows);
    json_put(answer, "total_cpu_time_us", json_real(0.0));
    json_put(answer, "total_cuda_time_us", number_or_zero(time));
    json_put(answer, "total_self_cuda_time_us", number_or_zero(time));
    json_put(answer, "cuda_device_event_count", number_or_zero(launches));
    json_put(answer, "cuda_time_event_count", number_or_zero(launches));
    json_put(answer, "self_cuda_time_event_count", number_or_zero(launches));
    put_copy(answer, "text", json_object_get(profile, "text"));
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
static json_t *error_name(const json_t *verdict)
{
    const char *message = verdict_json_error(verdict, "message");
    size_t length = 0;
    while (isalnum((unsigned char)message[length]) || (length > 0 && message[length] == '.') ||
           message[length] == '_')
        length++;
    if (length > 0 && message[length] == ':' && isalpha((unsigned char)message[0]) &&
        message[length + 1] == ' ')
        return json_text_bytes(message, length);
    return json_text(verdict_json_error(verdict, "class"));
}

static void put_named(json_t *metadata, const char *key, const json_t *verdict, bool verbose)
{
    char name[64];
    json_put(metadata, key, json_text(kernelgym_error_text(verdict, verbose)));
    snprintf(name, sizeof name, "%s_name", key);
    json_put(metadata, name, error_name(verdict));
}

/* The texts that help the author of a candidate. */
static void put_errors(json_t *metadata, const json_t *verdict, const struct kernelgym_terms *terms,
                       const struct kernelgym_outcome *outcome)
{
    const char *class = verdict_json_error(verdict, "class");
    if (!*class)
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

static json_t *six_decimals(const json_t *value)
{
    char text[512];
    snprintf(text, sizeof text, "%.6f", json_number_value(value));
    return json_text(text);
}

static void put_issue(json_t *metadata, const json_t *verdict)
{
    const char *message = verdict_json_error(verdict, "message");
    const json_t *mismatch = member_at(verdict, "correctness", "first_mismatch");
    char text[1024];
    if (verdict_json_status(verdict) != STATUS_WRONG)
        return;
    bool values = json_is_object(mismatch);
    snprintf(text, sizeof text, "%s%s", values ? "Output mismatch: " : "", message);
    json_put(metadata, "correctness_issue", json_text(text));
    json_put(metadata, "correctness_issue_name", json_text("correctness_issue"));
    if (values)
        json_put(metadata, "max_difference",
                 json_pack("[o]",
                           six_decimals(member_at(verdict, "correctness", "max_absolute_error"))));
}

static void put_correctness(json_t *metadata, const json_t *verdict)
{
    const json_t *correctness = json_object_get(verdict, "correctness");
    long long trials = json_integer_value(json_object_get(correctness, "trials"));
    long long passed = json_integer_value(json_object_get(correctness, "passed"));
    char text[64];
    if (trials > 0) {
        snprintf(text, sizeof text, "(%lld / %lld)", passed, trials);
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
static void put_cases(json_t *metadata, const json_t *verdict, const struct kernelgym_terms *terms)
{
    const json_t *cases = json_object_get(verdict, "cases");
    put_copy(metadata, "cases_source", json_object_get(cases, "source"));
    put_copy(metadata, "num_cases", json_object_get(cases, "count"));
    put_copy(metadata, "correctness_failed_cases", json_object_get(cases, "failed"));
    if (!terms->compare)
        json_put(metadata, "correctness_skipped", json_true());
    else if (json_is_integer(json_object_get(cases, "expected")) &&
             json_integer_value(json_object_get(cases, "expected")) == 0)
        json_put(metadata, "correctness_skipped", json_text("no_expected_outputs"));
    if (!terms->timing)
        json_put(metadata, "performance_skipped", json_true());
    put_copy(metadata, "runtime_stats", member_at(verdict, "timing", "candidate"));
}

static void put_profile(json_t *metadata, const json_t *verdict,
                        const struct kernelgym_terms *terms)
{
    const json_t *traced = member_at(verdict, "profile", "kernelgym");
    kernelgym_put_coverage(metadata, verdict);
    put_copy(metadata, "triton_kernel_coverage", json_object_get(traced, "triton_kernel_coverage"));
    put_copy(metadata, "custom_kernel_cuda_time_coverage",
             json_object_get(traced, "custom_kernel_cuda_time_coverage"));
    if (!terms->profiling || !traced)
        return;
    const json_t *kernels = member_at(verdict, "profile", "kernels");
    json_t *own = json_array();
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *kernel = json_array_get(kernels, i);
        if (json_is_true(json_object_get(kernel, "own")))
            json_array_append_new(own, json_text(json_text_at(kernel, "name")));
    }
    json_put(metadata, "triton_profiler_matches", own);
    json_put(metadata, "profiling", kernelgym_profiling(verdict));
}

/* Why a correct kernel has no time. A part of a task keeps one of the two. */
static void put_untimed(json_t *metadata, const json_t *verdict,
                        const struct kernelgym_terms *terms,
                        const struct kernelgym_outcome *outcome)
{
    const char *note = json_text_at(json_object_get(verdict, "timing"), "note");
    bool timed = outcome->candidate_ms > 0 || outcome->reference_ms > 0;
    if (outcome->correct && terms->timing && !timed)
        json_put(metadata, "error_during_performance", json_text(*note ? note : "not timed"));
}

static json_t *own_metadata(const struct kernelgym_job *job)
{
    static const char *const keys[] = {"id", "status", "correctness", "timing", "stages_ms"};
    json_t *object = json_object();
    for (size_t i = 0; i < COUNT(keys); i++)
        put_copy(object, keys[i], json_object_get(job->verdict, keys[i]));
    if (job->worker)
        json_put(object, "worker", json_text(job->worker));
    return object;
}

json_t *kernelgym_metadata(const struct kernelgym_job *job, const struct kernelgym_terms *terms,
                           const struct kernelgym_outcome *outcome)
{
    json_t *metadata = json_object();
    put_device(metadata, json_text_at(job->verdict, "device"));
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
    put_copy(metadata, "integrity", json_object_get(job->verdict, "integrity"));
    json_put(metadata, "warpgym", own_metadata(job));
    return metadata;
}
