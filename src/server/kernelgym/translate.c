#include "server/kernelgym/translate.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "judge/request/judge_settings.h"
#include "judge/request/request.h"

#include <stdio.h>
#include <string.h>

#define CLASS_NAME_BYTES (LIMIT_NAME_BYTES + 8)

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Not a prefix alone: `class ModelNew` does not define `class Model`. */
static bool defines_class(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, "class")); at += strlen("class")) {
        const char *behind = at + strlen("class");
        size_t blanks = strspn(behind, " \t");
        if (blanks > 0 && (at == text || !is_word(at[-1])) &&
            strncmp(behind + blanks, name, length) == 0 && !is_word(behind[blanks + length]))
            return true;
    }
    return false;
}

/* Of the candidate. "" if the entry point is not an identifier. */
static void kernel_class(const struct kernelgym_request *request, char name[CLASS_NAME_BYTES])
{
    const char *given = request->entry_point;
    name[0] = '\0';
    if (request->workflow == KERNELGYM_KERNELBENCH) {
        if (evaluation_is_identifier(given))
            snprintf(name, CLASS_NAME_BYTES, "%sNew", given);
        return;
    }
    bool unsaid = given[0] == '\0' || strcmp(given, "Model") == 0;
    if (unsaid && defines_class(request->kernel_code, "ModelNew"))
        given = "ModelNew";
    else if (given[0] == '\0')
        given = "Model";
    if (evaluation_is_identifier(given))
        snprintf(name, CLASS_NAME_BYTES, "%s", given);
}

/* {"valid", "error", "entry_point"} of one text; also appends the error to the list. */
static json_t *check_class(const char *what, const char *text, const char *name,
                           const char *entry_point, json_t *errors)
{
    char error[256] = "";
    if (!*name)
        snprintf(error, sizeof error, "entry_point '%.64s' is not the name of a class",
                 entry_point);
    else if (!text || !defines_class(text, name))
        snprintf(error, sizeof error, "%s code must define class %s", what, name);
    if (*error)
        json_array_append_new(errors, json_text(error));
    return json_pack("{s:b, s:o, s:o}", "valid", !*error, "error", json_text(*error ? error : NULL),
                     "entry_point", json_text(*name ? name : entry_point));
}

static void check_terms(const struct kernelgym_request *request, json_t *errors)
{
    const json_t *gpus = json_object_get(request->resources, "gpus");
    if (gpus && (!json_is_integer(gpus) || json_integer_value(gpus) < 1))
        json_array_append_new(errors, json_text("resources.gpus must be an integer of at least 1"));
    if (request->use_reference_cache && (!request->uuid || !*request->uuid))
        json_array_append_new(errors,
                              json_text("UUID is required when use_reference_cache is set"));
}

static json_t *request_info(const struct kernelgym_request *request)
{
    json_t *info = json_object();
    json_put(info, "backend", json_text(request->backend));
    json_put(info, "num_correct_trials", json_integer(request->num_correct_trials));
    json_put(info, "num_perf_trials", json_integer(request->num_perf_trials));
    json_put(info, "timeout", json_integer(request->timeout_s));
    json_put(info, "priority", json_text(request->priority));
    json_put(info, "device_preference", json_text(request->device_preference));
    json_put(info, "force_refresh", json_boolean(request->force_refresh));
    json_put(info, "workflow", json_text(request->workflow_name));
    return info;
}

json_t *kernelgym_validation(const struct kernelgym_request *request)
{
    char name[CLASS_NAME_BYTES];
    json_t *errors = json_array();
    json_t *answer = json_object();
    bool simple = request->workflow == KERNELGYM_SIMPLE;
    kernel_class(request, name);
    if (request->unregistered) {
        char error[256];
        snprintf(error, sizeof error, "Registry missing '%.128s'", request->unregistered);
        json_array_append_new(errors, json_text(error));
    }
    const char *why = kernelgym_code_error(request->kernel_code);
    if (why) {
        char error[256];
        snprintf(error, sizeof error, "kernel_code %s", why);
        json_array_append_new(errors, json_text(error));
    }
    if (!simple) {
        const char *reference = evaluation_is_identifier(request->entry_point)
                                    ? request->entry_point
                                    : "";
        check_terms(request, errors);
        json_put(answer, "reference",
                 check_class("Reference", request->reference_code, reference, request->entry_point,
                             errors));
        json_put(answer, "cache",
                 json_pack("{s:b, s:o}", "use_reference_cache", request->use_reference_cache,
                           "uuid", json_text(request->uuid)));
        json_put(answer, "resources",
                 request->resources ? json_deep_copy(request->resources) : json_null());
    }
    json_put(answer, "kernel",
             check_class("Kernel", request->kernel_code, name, request->entry_point, errors));
    json_put(answer, "valid", json_boolean(json_array_size(errors) == 0));
    json_put(answer, "errors", errors);
    json_put(answer, "task_id", json_text(request->task_id));
    json_put(answer, "workflow", json_text(simple ? "kernel_simple" : "kernelbench"));
    json_put(answer, "request_info", request_info(request));
    return answer;
}

static bool wants_compiled_reference(const struct kernelgym_request *request)
{
    static const char *const names[] = {"torch_compile", "torch-compile", "compile"};
    for (size_t i = 0; request->reference_backend && i < COUNT(names); i++)
        if (strcmp(request->reference_backend, names[i]) == 0)
            return true;
    return false;
}

static json_t *problem_json(const struct kernelgym_request *request)
{
    char name[CLASS_NAME_BYTES];
    json_t *problem = json_object();
    if (request->workflow == KERNELGYM_KERNELBENCH) {
        json_put(problem, "format", json_text("torch"));
        json_put(problem, "source", json_text(request->reference_code));
        json_put(problem, "entry_point", json_text(request->entry_point));
        return problem;
    }
    kernel_class(request, name);
    json_put(problem, "format", json_text("simple"));
    json_put(problem, "entry_point", json_text(name));
    if (json_array_size(request->cases) > 0)
        json_put(problem, "cases", json_deep_copy(request->cases));
    else if (request->cases_code)
        json_put(problem, "cases", json_text(request->cases_code));
    if (request->run_correctness == 0)
        json_put(problem, "compare", json_false());
    return problem;
}

static json_t *settings_json(const struct kernelgym_request *request,
                             const struct settings *settings)
{
    const struct timing_settings *timing = timing_settings(settings);
    int64_t samples = request->num_perf_trials;
    json_t *values = json_object();
    if (samples < timing->min_samples)
        samples = timing->min_samples;
    json_put(values, "run.first_call_timeout_ms", json_integer(request->timeout_s * 1000));
    json_put(values, "check.trials", json_integer(request->num_correct_trials));
    json_put(values, "timing.max_samples", json_integer(samples));
    if (request->workflow == KERNELGYM_KERNELBENCH)
        json_put(values, "torch.compile",
                 json_text(wants_compiled_reference(request) ? "default" : "none"));
    return values;
}

/* What the answer repeats of the request, and how it is formatted. */
static json_t *notes_json(const struct kernelgym_request *request)
{
    json_t *notes = json_object();
    bool simple = request->workflow == KERNELGYM_SIMPLE;
    json_put(notes, "workflow", json_text(simple ? "kernel_simple" : "kernelbench"));
    json_put(notes, "backend", json_text(request->backend));
    json_put(notes, "num_correct_trials", json_integer(request->num_correct_trials));
    json_put(notes, "num_perf_trials", json_integer(request->num_perf_trials));
    json_put(notes, "verbose", json_boolean(request->verbose_errors != 0));
    json_put(notes, "profiling", json_boolean(request->enable_profiling != 0));
    json_put(notes, "decoys", json_boolean(kernelgym_wants_decoys(request)));
    json_put(notes, "timing", json_boolean(kernelgym_wants_timing(request)));
    json_put(notes, "compare", json_boolean(request->run_correctness != 0));
    json_put(notes, "is_valid", json_boolean(request->is_valid));
    if (request->reference_backend)
        json_put(notes, "reference_backend", json_text(request->reference_backend));
    if (request->uuid)
        json_put(notes, "uuid", json_text(request->uuid));
    if (request->device_preference)
        json_put(notes, "device_preference", json_text(request->device_preference));
    return json_pack("{s:o}", "kernelgym", notes);
}

/* Texts without a bound of their own must fit among the notes. */
static const char *too_long(const struct kernelgym_request *request)
{
    const struct {
        const char *text, *error;
    } texts[] = {{request->uuid, "uuid is too long"},
                 {request->backend, "backend is too long"},
                 {request->reference_backend, "reference_backend is too long"},
                 {request->device_preference, "device_preference is too long"}};
    for (size_t i = 0; i < COUNT(texts); i++)
        if (texts[i].text && strlen(texts[i].text) > LIMIT_NAME_BYTES)
            return texts[i].error;
    size_t cases = json_dumpb(request->cases, NULL, 0, JSON_COMPACT);
    if (cases > LIMIT_SOURCE_BYTES ||
        (request->cases_code && strlen(request->cases_code) > LIMIT_SOURCE_BYTES))
        return "cases are too large";
    if (request->reference_code && strlen(request->reference_code) > LIMIT_SOURCE_BYTES)
        return "the code is too long";
    return NULL;
}

/* Makes it a refusal: nothing is evaluated, and the texts are not kept. */
static void evaluation_refuse(json_t *evaluation, const char *why, bool keep_notes)
{
    json_object_del(evaluation, "problem");
    json_object_del(evaluation, "candidate");
    if (!keep_notes)
        json_object_del(evaluation, "notes");
    json_put(evaluation, "refused", json_text(why));
}

json_t *kernelgym_translate(const struct kernelgym_request *request,
                            const struct settings *settings)
{
    json_t *evaluation = json_object();
    json_t *validation = kernelgym_validation(request);
    const char *why = json_string_value(json_array_get(json_object_get(validation, "errors"), 0));
    const char *large = too_long(request);
    json_put(evaluation, "id", json_text(request->task_id));
    json_put(evaluation, "problem", problem_json(request));
    json_put(evaluation, "candidate",
             json_pack("{s:o, s:s}", "source", json_text(request->kernel_code), "name",
                       "candidate.py"));
    json_put(evaluation, "settings", settings_json(request, settings));
    json_put(evaluation, "timing", json_boolean(kernelgym_wants_timing(request)));
    json_put(evaluation, "timeout_ms", json_integer(request->timeout_s * 1000));
    json_put(evaluation, "priority", json_text(request->priority));
    json_put(evaluation, "fresh", json_boolean(request->force_refresh));
    json_put(evaluation, "notes", notes_json(request));
    if (why || large)
        evaluation_refuse(evaluation, large ? large : why, !large);
    json_decref(validation);
    return evaluation;
}
