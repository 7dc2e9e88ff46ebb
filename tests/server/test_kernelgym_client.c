/* What the training client bundled with KernelGYM does, for every outcome: POST /evaluate, GET
 * /status until the task ends, GET /results where it has completed. tests/server/vectors holds one
 * file for each outcome: what is sent, the verdict, and every field that the client then reads.
 * What several of them share is in its folder base. */
#include "server/kernelgym/result.h"
#include "server/kernelgym/translate.h"

#include "../support/test.h"
#include "../support/vectors.h"
#include "base/json.h"
#include "judge/request/request.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>

#define VECTORS_LEAST 20
#define PUT_MS 1769860800000 /* 2026-01-31T12:00:00Z */

static struct settings settings;

FIXTURE(begin)
{
    settings_init(&settings);
    return 0;
}

FIXTURE(end)
{
    settings_deinit(&settings);
    return 0;
}

/* Everything in `wanted` is in `got`, numbers to 12 digits; more may be there. */
static bool includes(const json_t *got, const json_t *wanted)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_object(wanted)) {
        json_object_foreach((json_t *)wanted, key,
                            value) if (!includes(json_object_get(got, key), value)) return false;
        return json_is_object(got);
    }
    if (json_is_array(wanted)) {
        json_array_foreach(wanted, i,
                           value) if (!includes(json_array_get(got, i), value)) return false;
        return json_array_size(got) == json_array_size(wanted);
    }
    if (json_is_number(wanted))
        return json_is_number(got) && fabs(json_number_value(got) - json_number_value(wanted)) <=
                                          1e-12 * fabs(json_number_value(wanted));
    return got && json_equal(got, wanted);
}

static void assert_includes(const char *name, const char *what, const json_t *got,
                            const json_t *wanted)
{
    if (includes(got, wanted))
        return;
    char *one = json_dumps(got, JSON_INDENT(1));
    char *two = json_dumps(wanted, JSON_INDENT(1));
    fail_msg("%s: %s is\n%s\nand should hold\n%s", name, what, one, two);
}

static const json_t *at_path(const json_t *json, const char *path)
{
    const char *dot = strchr(path, '.');
    char head[64];
    if (!dot)
        return json_object_get(json, path);
    snprintf(head, sizeof head, "%.*s", (int)(dot - path), path);
    return at_path(json_object_get(json, head), dot + 1);
}

/* As the client looks for the numbers of a profile: in metadata, then at the top level. */
static json_t *find_number(const json_t *result, const char *key)
{
    json_t *value = json_object_get(json_object_get(result, "metadata"), key);
    json_t *top = json_object_get(result, key);
    assert_true(json_is_number(value));
    assert_true(json_is_number(top));
    assert_true(json_equal(value, top));
    return json_incref(value);
}

/* The fields that the client keeps, and nothing else. */
static json_t *client_reads(const json_t *status, const json_t *result)
{
    static const char *const fields[] = {"status",      "error_message", "compiled",
                                         "correctness", "decoy_kernel",  "speedup"};
    static const char *const numbers[] = {"num_custom_kernels", "num_total_kernels",
                                          "custom_kernel_cuda_time_in_profiling_us",
                                          "total_kernel_run_time_in_profiling_us"};
    json_t *read = json_object();
    bool completed = strcmp(json_string_value(json_object_get(status, "status")), "completed") == 0;
    for (size_t i = 0; i < (completed ? 6 : 2); i++) {
        json_t *value = json_object_get(completed ? result : status, fields[i]);
        assert_non_null(value);
        json_object_set(read, fields[i], value);
    }
    for (size_t i = 0; completed && i < 4; i++)
        json_object_set_new(read, numbers[i], find_number(result, numbers[i]));
    return read;
}

static void assert_status(const struct kernelgym_job *job, enum kernelgym_state state,
                          const char *expected)
{
    struct kernelgym_job now = *job;
    now.state = state;
    now.queue_position = 3;
    json_t *status = kernelgym_status(&now, KERNELGYM_WHOLE);
    assert_string_equal(json_string_value(json_object_get(status, "status")), expected);
    assert_string_equal(json_string_value(json_object_get(status, "task_id")), job->id);
    assert_true(json_is_null(json_object_get(status, "error_message")));
    assert_int_equal(json_integer_value(json_object_get(status, "queue_position")),
                     state == KERNELGYM_PENDING ? 3 : 0);
    assert_null(kernelgym_result(&now, KERNELGYM_WHOLE));
    assert_null(kernelgym_workflow_result(&now, KERNELGYM_WHOLE));
    json_decref(status);
}

/* The workflow's answer is the same result in its envelope. */
static void check_workflow(const struct kernelgym_job *job, const json_t *result)
{
    json_t *answer = kernelgym_workflow_result(job, KERNELGYM_WHOLE);
    const json_t *inner = json_object_get(answer, "result");
    assert_true(json_equal(json_object_get(answer, "status"), json_object_get(result, "status")));
    assert_true(json_equal(json_object_get(answer, "error_message"),
                           json_object_get(result, "error_message")));
    assert_null(json_object_get(inner, "status"));
    assert_true(
        json_equal(json_object_get(inner, "metadata"), json_object_get(result, "metadata")));
    json_decref(answer);
}

static void check_answers(const char *name, const json_t *vector, const struct kernelgym_job *job)
{
    size_t i;
    json_t *path;
    assert_status(job, KERNELGYM_PENDING, "pending");
    assert_status(job, KERNELGYM_PROCESSING, "processing");
    json_t *status = kernelgym_status(job, KERNELGYM_WHOLE);
    json_t *result = kernelgym_result(job, KERNELGYM_WHOLE);
    assert_true(json_equal(json_object_get(status, "status"), json_object_get(result, "status")));
    assert_true(json_equal(json_object_get(status, "error_message"),
                           json_object_get(result, "error_message")));
    json_t *read = client_reads(status, result);
    assert_includes(name, "what the client reads", read, json_object_get(vector, "client"));
    assert_int_equal(json_object_size(read), json_object_size(json_object_get(vector, "client")));
    assert_includes(name, "the result", result, json_object_get(vector, "result"));
    json_array_foreach(json_object_get(vector, "absent"), i,
                       path) if (at_path(result, json_string_value(path)))
        fail_msg("%s: %s is there", name, json_string_value(path));
    check_workflow(job, result);
    json_decref(read);
    json_decref(status);
    json_decref(result);
}

static void check_vector(const char *name)
{
    struct kernelgym_request request;
    struct kernelgym_reply reply;
    struct evaluation_request ours;
    struct err err = {0};
    json_t *vector = vector_load(name);
    json_t *body = vector_load("request");
    assert_non_null(vector);
    assert_non_null(body);
    json_object_update(body, json_object_get(vector, "request"));
    assert_int_equal(kernelgym_request_parse(body, PUT_MS, &request, &reply), 0);
    json_t *evaluation = kernelgym_translate(&request, &settings);
    if (evaluation_request_parse(evaluation, &ours, &err) < 0)
        fail_msg("%s: %s", name, err.text);
    const json_t *refused = json_object_get(vector, "refused");
    const json_t *json = json_object_get(vector, "verdict");
    struct verdict verdict = {0};
    if (json && verdict_read(json, &verdict, &err) < 0)
        fail_msg("%s: %s", name, err.text);
    if (refused) {
        assert_non_null(ours.refused);
        assert_string_equal(ours.refused, json_string_value(refused));
        evaluation_request_refuse(&ours, ours.refused, &verdict);
    } else {
        assert_null(ours.refused);
    }
    const struct kernelgym_job job = {
        .id = request.task_id,
        .state = KERNELGYM_ENDED,
        .cancelled = json_is_true(json_object_get(vector, "cancelled")),
        .put_ms = PUT_MS,
        .started_ms = PUT_MS + 1000,
        .ended_ms = PUT_MS + 3500,
        .queue_position = -1,
        .worker = "node-1",
        .reason = json_string_value(json_object_get(vector, "reason")),
        .notes = ours.notes,
        .verdict = json || refused ? &verdict : NULL,
    };
    check_answers(name, vector, &job);
    verdict_deinit(&verdict);
    json_decref(evaluation);
    json_decref(body);
    json_decref(vector);
}

TEST_WITH(every_outcome, begin, end)
{
    int count = 0;
    DIR *directory = opendir(VECTORS);
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char name[256];
        snprintf(name, sizeof name, "%s", entry->d_name);
        char *end = strstr(name, ".json");
        if (!end || strcmp(name, "request.json") == 0)
            continue;
        *end = '\0';
        check_vector(name);
        count++;
    }
    closedir(directory);
    assert_true(count >= VECTORS_LEAST);
}

TEST(parts)
{
    static const struct {
        const char *id;
        enum kernelgym_part part;
        size_t base_bytes;
    } cases[] = {
        {"x", KERNELGYM_WHOLE, 1},
        {"x_kernel", KERNELGYM_KERNEL_PART, 1},
        {"x_ref", KERNELGYM_REFERENCE_PART, 1},
        {"_ref", KERNELGYM_WHOLE, 4},
        {"x_kernel_ref", KERNELGYM_REFERENCE_PART, 8},
        {"x_refs", KERNELGYM_WHOLE, 6},
    };
    size_t bytes;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(kernelgym_part(cases[i].id, &bytes), cases[i].part);
        assert_int_equal(bytes, cases[i].base_bytes);
    }
    json_t *vector = vector_load("correct");
    struct verdict verdict;
    struct err err = {0};
    assert_ok(verdict_read(json_object_get(vector, "verdict"), &verdict, &err), &err);
    const struct kernelgym_job job = {.id = "x", .state = KERNELGYM_ENDED, .verdict = &verdict};
    json_t *kernel = kernelgym_result(&job, KERNELGYM_KERNEL_PART);
    json_t *reference = kernelgym_result(&job, KERNELGYM_REFERENCE_PART);
    json_t *expected =
        json_pack("[{s:s, s:s, s:b, s:b, s:f, s:f, s:f}, {s:s, s:s, s:n, s:n, s:n, s:f, s:f, s:f}]",
                  "task_id", "x_kernel", "status", "completed", "compiled", 1, "correctness", 1,
                  "reference_runtime", -1.0, "kernel_runtime", 0.25, "speedup", 0.0, "task_id",
                  "x_ref", "status", "completed", "compiled", "correctness", "decoy_kernel",
                  "reference_runtime", 0.5, "kernel_runtime", -1.0, "speedup", 0.0);
    assert_includes("kernel", "part", kernel, json_array_get(expected, 0));
    assert_includes("reference", "part", reference, json_array_get(expected, 1));
    assert_null(at_path(kernel, "metadata.error_during_performance"));
    assert_null(at_path(reference, "metadata.error_during_performance"));
    json_decref(expected);
    json_decref(kernel);
    json_decref(reference);
    verdict_deinit(&verdict);
    json_decref(vector);
}

TEST(batch)
{
    json_t *results = json_pack("[{s:s}, {s:s}, {s:s}, {s:s}]", "status", "completed", "status",
                                "failed", "status", "timeout", "status", "completed");
    json_t *answer = kernelgym_batch_result("b", results, PUT_MS, PUT_MS + 5);
    json_t *expected = json_pack("{s:s, s:i, s:i, s:i, s:s, s:s, s:s}", "batch_id", "b",
                                 "total_tasks", 4, "completed_tasks", 2, "failed_tasks", 2,
                                 "batch_status", "completed", "submitted_at",
                                 "2026-01-31T12:00:00.000Z", "completed_at",
                                 "2026-01-31T12:00:00.005Z");
    assert_includes("batch", "answer", answer, expected);
    assert_int_equal(json_array_size(json_object_get(answer, "results")), 4);
    json_decref(expected);
    json_decref(answer);
}

/* A queue keeps what it was given: any JSON at all gets an answer, with all of its fields. */
TEST(strange_verdicts)
{
    static const char *const strange[] = {
        "{}",
        "[]",
        "{\"status\": 5}",
        "{\"status\": \"passed\"}",
        "{\"status\": \"passed\", \"correct\": true, \"timing\": [], \"profile\": \"x\", "
        "\"integrity\": {\"warnings\": [1]}, \"error\": [], \"cases\": 3, \"device\": 1}",
        "{\"status\": \"passed\", \"correct\": true, \"timing\": {\"candidate\": {\"median\": "
        "\"1\"}, \"speedup\": 1e999}, \"profile\": {\"kernelgym\": 1, \"kernels\": [1, {}]}}",
    };
    for (size_t i = 0; i < COUNT(strange); i++) {
        json_t *verdict = NULL;
        if (json_parse("verdict", strange[i], strlen(strange[i]), &verdict, NULL) < 0)
            verdict = json_object(); /* jansson takes no number beyond double's */
        struct verdict read;
        verdict_recover(&(struct verdict_source){.id = "x", .json = verdict}, &read);
        const struct kernelgym_job job = {.id = "x", .state = KERNELGYM_ENDED, .verdict = &read};
        json_t *status = kernelgym_status(&job, KERNELGYM_WHOLE);
        json_t *result = kernelgym_result(&job, KERNELGYM_WHOLE);
        json_decref(client_reads(status, result));
        assert_true(json_is_number(json_object_get(result, "speedup")));
        assert_string_equal(json_text_at(result, "status"), "failed");
        json_decref(status);
        json_decref(result);
        verdict_deinit(&read);
        json_decref(verdict);
    }
}
