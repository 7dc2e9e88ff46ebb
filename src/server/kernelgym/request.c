#include "server/kernelgym/request.h"

#include "base/array.h"
#include "judge/request/request.h"
#include "server/kernelgym/fields.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CODE_LEAST 10
#define CODE_MOST 100000
#define TASK_ID_MOST 100
#define BLANKS " \t\r\n"
#define TEXT_OF(number) TEXT_OF_NUMBER(number)
#define TEXT_OF_NUMBER(number) #number

#define AT(member) offsetof(struct kernelgym_request, member)
#define TEXT(key, member, standard)                                                                \
    {                                                                                              \
        .name = key, .kind = FIELD_TEXT, .offset = AT(member), .text = (standard)                  \
    }
#define MAYBE_TEXT(key, member)                                                                    \
    {                                                                                              \
        .name = key, .kind = FIELD_TEXT, .offset = AT(member), .nullable = true                    \
    }
#define INT(key, member, standard, least, most)                                                    \
    {                                                                                              \
        .name = key, .kind = FIELD_INT, .offset = AT(member), .number = (standard),                \
        .low = (least), .high = (most)                                                             \
    }
#define FLAG(key, member)                                                                          \
    {                                                                                              \
        .name = key, .kind = FIELD_FLAG, .offset = AT(member), .nullable = true                    \
    }
#define BOOL(key, member)                                                                          \
    {                                                                                              \
        .name = key, .kind = FIELD_BOOL, .offset = AT(member)                                      \
    }

static const struct kernelgym_field fields[] = {
    {.name = "task_id",
     .kind = FIELD_TEXT,
     .offset = AT(task_id),
     .required = true,
     .low = 1,
     .high = TASK_ID_MOST},
    MAYBE_TEXT("reference_code", reference_code),
    {.name = "kernel_code", .kind = FIELD_TEXT, .offset = AT(kernel_code), .required = true},
    TEXT("toolkit", toolkit, "kernelbench"),
    TEXT("backend_adapter", backend_adapter, "kernelbench"),
    {.name = "backend",
     .kind = FIELD_CHOICE,
     .offset = AT(backend),
     .text = "triton",
     .choices = {"cuda", "triton"}},
    INT("num_correct_trials", num_correct_trials, 5, 1, 20),
    INT("num_perf_trials", num_perf_trials, 100, 1, 1000),
    INT("num_warmup", num_warmup, 3, 0, 100),
    INT("timeout", timeout_s, 300, 10, 3600),
    {.name = "priority",
     .kind = FIELD_CHOICE,
     .offset = AT(priority),
     .text = "normal",
     .choices = {"low", "normal", "high"}},
    MAYBE_TEXT("device_preference", device_preference),
    BOOL("force_refresh", force_refresh),
    TEXT("entry_point", entry_point, "Model"),
    MAYBE_TEXT("reference_backend", reference_backend),
    MAYBE_TEXT("uuid", uuid),
    BOOL("use_reference_cache", use_reference_cache),
    BOOL("is_valid", is_valid),
    FLAG("verbose_errors", verbose_errors),
    FLAG("enable_profiling", enable_profiling),
    FLAG("enable_triton_detection", enable_triton_detection),
    FLAG("measure_performance", measure_performance),
    FLAG("run_correctness", run_correctness),
    FLAG("run_triton_detection", run_triton_detection),
    FLAG("run_performance", run_performance),
    MAYBE_TEXT("cases_code", cases_code),
    {.name = "cases", .kind = FIELD_LIST, .offset = AT(cases), .nullable = true},
    MAYBE_TEXT("workflow", workflow_name),
    {.name = "resources", .kind = FIELD_OBJECT, .offset = AT(resources), .nullable = true},
};

/* Of a payload; the envelope checks whether task_id is missing. */
static const struct kernelgym_field payload_id = MAYBE_TEXT("task_id", payload_id);

/* Skips blanks; the count of bytes of what is left without those at its end. */
static size_t trim(const char **text, const char *blanks)
{
    *text += strspn(*text, blanks);
    size_t length = strlen(*text);
    while (length > 0 && strchr(blanks, (*text)[length - 1]))
        length--;
    return length;
}

/* Names are compared without surrounding blanks and case. */
static bool is_called(const char *given, const char *name)
{
    size_t length = trim(&given, BLANKS);
    return length == strlen(name) && strncasecmp(given, name, length) == 0;
}

static bool find_workflow(struct kernelgym_request *request)
{
    if (!request->workflow_name)
        request->workflow_name = "kernelbench";
    request->workflow = is_called(request->workflow_name, "kernel_simple") ? KERNELGYM_SIMPLE
                                                                           : KERNELGYM_KERNELBENCH;
    return request->workflow == KERNELGYM_SIMPLE ||
           is_called(request->workflow_name, "kernelbench");
}

static void copy_lower_case(const char *from, char *to, size_t to_bytes)
{
    int length = (int)trim(&from, BLANKS);
    snprintf(to, to_bytes, "%.*s", length, from);
    for (char *at = to; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at += 'a' - 'A';
}

static void find_names(struct kernelgym_request *request)
{
    if (!find_workflow(request))
        request->unregistered = request->workflow_name;
    else if (!is_called(request->toolkit, "kernelbench") &&
             !is_called(request->toolkit, "kernel_simple"))
        request->unregistered = request->toolkit;
    else if (!is_called(request->backend_adapter, "kernelbench"))
        request->unregistered = request->backend_adapter;
}

/* An unknown workflow is the client's mistake, any other name an error of submitting, prefixed
 * with `prefix`. The text is that of Python's KeyError, quotes included. */
static int check_names(struct kernelgym_request *request, const char *prefix,
                       struct kernelgym_reply *reply)
{
    char name[128];
    find_names(request);
    if (!request->unregistered)
        return 0;
    copy_lower_case(request->unregistered, name, sizeof name);
    bool workflow = request->unregistered == request->workflow_name;
    return kernelgym_refuse(reply, workflow ? 400 : 500,
                            workflow ? KERNELGYM_NO_CODE : KERNELGYM_SYSTEM,
                            "%s\"Registry missing '%s'\"", workflow ? "" : prefix, name);
}

static size_t trimmed_characters(const char *text)
{
    size_t bytes = trim(&text, BLANKS "\v\f\x1c\x1d\x1e\x1f");
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

const char *kernelgym_code_error(const char *text)
{
    if (text && trimmed_characters(text) < CODE_LEAST)
        return "must have at least " TEXT_OF(CODE_LEAST) " characters";
    if (text && kernelgym_characters(text) > CODE_MOST)
        return "must have at most " TEXT_OF(CODE_MOST) " characters";
    return NULL;
}

/* KernelGYM's checks across fields, and our queue's on ids. What a model wrote is not among them:
 * it is judged (translate.h). */
static void check_texts(struct kernelgym_request *request, const json_t *at, json_t *errors)
{
    if (!request->task_id || !request->kernel_code)
        return;
    const char *why = kernelgym_code_error(request->reference_code);
    if (why)
        kernelgym_fields_complain(errors, at, "reference_code", "value_error",
                                  "Value error, reference_code %s", why);
    if (!evaluation_is_id(request->task_id))
        kernelgym_fields_complain(errors, at, "task_id", "value_error",
                                  "Value error, task_id must have at most 255 bytes and no control "
                                  "characters");
    if (!request->reference_code && find_workflow(request) &&
        request->workflow == KERNELGYM_KERNELBENCH)
        kernelgym_fields_complain(errors, at, NULL, "value_error",
                                  "Value error, reference_code is required for workflow "
                                  "kernelbench");
}

static void read_request(const json_t *object, const json_t *at, struct kernelgym_request *request,
                         json_t *errors)
{
    *request = (struct kernelgym_request){0};
    kernelgym_fields_read(object, at, fields, COUNT(fields), FIELDS_CHECKED, request, errors);
    check_texts(request, at, errors);
}

static int read_whole(const json_t *body, int64_t now_ms, struct kernelgym_request *request,
                      struct kernelgym_reply *reply)
{
    json_t *errors = json_array();
    json_t *at = json_pack("[s]", "body");
    read_request(body, at, request, errors);
    json_decref(at);
    return kernelgym_refuse_request(reply, errors, now_ms);
}

int kernelgym_request_parse(const json_t *body, int64_t now_ms, struct kernelgym_request *request,
                            struct kernelgym_reply *reply)
{
    int result = read_whole(body, now_ms, request, reply);
    return result == 0 ? check_names(request, "Failed to submit task: ", reply) : result;
}

int kernelgym_validate_parse(const json_t *body, int64_t now_ms, struct kernelgym_request *request,
                             struct kernelgym_reply *reply)
{
    int result = read_whole(body, now_ms, request, reply);
    if (result < 0)
        return result;
    if (!find_workflow(request))
        return check_names(request, "", reply);
    find_names(request);
    return 0;
}

static const struct kernelgym_field batch_fields[] = {
    {.name = "batch_id", .kind = FIELD_TEXT, .offset = 0, .required = true},
    {.name = "tasks",
     .kind = FIELD_LIST,
     .offset = sizeof(char *),
     .required = true,
     .low = 1,
     .high = KERNELGYM_BATCH_MOST},
};

int kernelgym_batch_parse(const json_t *body, int64_t now_ms, struct kernelgym_batch *batch,
                          struct kernelgym_reply *reply)
{
    struct {
        const char *batch_id;
        const json_t *tasks;
    } envelope;
    json_t *errors = json_array();
    json_t *at = json_pack("[s]", "body");
    kernelgym_fields_read(body, at, batch_fields, COUNT(batch_fields), FIELDS_CHECKED, &envelope,
                          errors);
    batch->batch_id = envelope.batch_id;
    batch->count = json_array_size(envelope.tasks);
    for (size_t i = 0; i < batch->count; i++) {
        json_t *place = json_pack("[s, s, i]", "body", "tasks", (int)i);
        read_request(json_array_get(envelope.tasks, i), place, &batch->tasks[i], errors);
        json_decref(place);
    }
    json_decref(at);
    int result = kernelgym_refuse_request(reply, errors, now_ms);
    for (size_t i = 0; i < batch->count && result == 0; i++)
        find_names(&batch->tasks[i]);
    return result;
}

struct envelope {
    const char *workflow, *task_id;
    const json_t *payload, *resources;
    bool force_refresh;
};

#define ENVELOPE(member) offsetof(struct envelope, member)

static const struct kernelgym_field envelope_fields[] = {
    {.name = "workflow", .kind = FIELD_TEXT, .offset = ENVELOPE(workflow), .text = "kernelbench"},
    {.name = "payload", .kind = FIELD_OBJECT, .offset = ENVELOPE(payload)},
    {.name = "task_id", .kind = FIELD_TEXT, .offset = ENVELOPE(task_id), .nullable = true},
    {.name = "force_refresh", .kind = FIELD_BOOL, .offset = ENVELOPE(force_refresh)},
    {.name = "resources", .kind = FIELD_OBJECT, .offset = ENVELOPE(resources), .nullable = true},
};

static bool has_text(const json_t *payload, const char *key)
{
    return json_is_string(json_object_get(payload, key));
}

/* The required arguments of the workflow's tasks. */
static int check_payload(const struct kernelgym_request *request, const json_t *payload,
                         struct kernelgym_reply *reply)
{
    const char *missing = NULL;
    if (!has_text(payload, "kernel_code"))
        missing = "kernel_code";
    if (request->workflow == KERNELGYM_KERNELBENCH && !has_text(payload, "reference_code"))
        missing = "reference_code";
    if (!missing)
        return 0;
    return kernelgym_refuse(reply, 500, KERNELGYM_SYSTEM,
                            "Failed to submit workflow: missing required argument: '%s'", missing);
}

/* Payloads have no limits, so numbers are clamped instead of refused. */
static void read_payload(const json_t *payload, const struct envelope *envelope,
                         struct kernelgym_request *request, json_t *errors)
{
    json_t *at = json_pack("[s, s]", "body", "payload");
    kernelgym_fields_read(payload, at, fields + 1, COUNT(fields) - 1, FIELDS_CLAMPED, request,
                          errors);
    kernelgym_fields_read(payload, at, &payload_id, 1, FIELDS_CLAMPED, request, errors);
    request->workflow_name = envelope->workflow;
    request->task_id = envelope->task_id && *envelope->task_id ? envelope->task_id
                                                               : request->payload_id;
    request->force_refresh |= envelope->force_refresh;
    if (!request->resources)
        request->resources = envelope->resources;
    if (strcmp(request->priority, "low") != 0 && strcmp(request->priority, "high") != 0)
        request->priority = "normal";
    json_decref(at);
}

static int check_envelope(struct kernelgym_request *request, const json_t *payload,
                          struct kernelgym_reply *reply)
{
    int result = check_names(request, "Failed to submit workflow: ", reply);
    if (result == 0 && request->workflow == KERNELGYM_SIMPLE && !has_text(payload, "entry_point"))
        request->entry_point = "ModelNew";
    if (result == 0 && (!request->task_id || !*request->task_id))
        result = kernelgym_refuse(reply, 400, KERNELGYM_NO_CODE, "task_id is required");
    if (result == 0 && !evaluation_is_id(request->task_id))
        result = kernelgym_refuse(reply, 400, KERNELGYM_NO_CODE,
                                  "task_id must have at most 255 bytes and no control characters");
    return result == 0 ? check_payload(request, payload, reply) : result;
}

int kernelgym_workflow_parse(const json_t *body, int64_t now_ms, struct kernelgym_request *request,
                             struct kernelgym_reply *reply)
{
    struct envelope envelope;
    json_t *errors = json_array();
    json_t *at = json_pack("[s]", "body");
    json_t *empty = json_object();
    *request = (struct kernelgym_request){0};
    kernelgym_fields_read(body, at, envelope_fields, COUNT(envelope_fields), FIELDS_CHECKED,
                          &envelope, errors);
    const json_t *payload = envelope.payload ? envelope.payload : empty;
    if (json_array_size(errors) == 0) {
        read_payload(payload, &envelope, request, errors);
        if (json_array_size(errors) == 1 && !json_object_get(payload, "kernel_code"))
            json_array_clear(errors); /* a missing argument has its own answer */
    }
    int result = kernelgym_refuse_request(reply, errors, now_ms);
    if (result == 0)
        result = check_envelope(request, payload, reply);
    json_decref(at);
    json_decref(empty);
    return result;
}

bool kernelgym_wants_timing(const struct kernelgym_request *request)
{
    int wanted = request->run_performance >= 0 ? request->run_performance
                                               : request->measure_performance;
    return wanted != 0;
}

/* Detection is on for Triton unless requested otherwise; the profile covers all kernels. */
bool kernelgym_wants_decoys(const struct kernelgym_request *request)
{
    int wanted = request->run_triton_detection >= 0 ? request->run_triton_detection
                                                    : request->enable_triton_detection;
    if (wanted < 0)
        wanted = strcmp(request->backend, "triton") == 0;
    return wanted || request->enable_profiling != 0;
}

enum kernelgym_part kernelgym_part(const char *id, size_t *base_bytes)
{
    static const struct {
        const char *suffix;
        enum kernelgym_part part;
    } parts[] = {{"_kernel", KERNELGYM_KERNEL_PART}, {"_ref", KERNELGYM_REFERENCE_PART}};
    size_t length = strlen(id);
    for (size_t i = 0; i < COUNT(parts); i++) {
        size_t suffix = strlen(parts[i].suffix);
        if (length > suffix && strcmp(id + length - suffix, parts[i].suffix) == 0) {
            *base_bytes = length - suffix;
            return parts[i].part;
        }
    }
    *base_bytes = length;
    return KERNELGYM_WHOLE;
}
