/* What KernelGYM's models take and refuse, field by field, and what becomes of it. */
#include "server/kernelgym/translate.h"

#include "../support/test.h"
#include "base/json.h"
#include "judge/request/judge_settings.h"
#include "judge/request/request.h"
#include "server/kernelgym/report.h"

#define NOW_MS 1769860800000

static const char reference[] = "class Model:\n    pass\n";
static const char kernel[] = "class ModelNew:\n    pass\n";

static struct settings settings;

/* Of the last request that a test parsed, which borrows from its body. */
static json_t *body;
static struct kernelgym_request request;
static struct kernelgym_reply reply;

FIXTURE(begin)
{
    settings_init(&settings);
    return 0;
}

FIXTURE(end)
{
    json_decref(body);
    settings_deinit(&settings);
    return 0;
}

TEST_GROUP(begin, end);

/* A good request with the keys of `more` over it. */
static json_t *body_with(const char *more)
{
    json_t *over = support_json(more);
    json_t *good = json_pack("{s:s, s:s, s:s}", "task_id", "t", "reference_code", reference,
                             "kernel_code", kernel);
    json_object_update(good, over);
    json_decref(over);
    return good;
}

/* Takes the body. */
static int parse(json_t *given)
{
    json_decref(body);
    body = given;
    return kernelgym_request_parse(body, NOW_MS, &request, &reply);
}

static const char *message(void)
{
    const char *detail = json_string_value(json_object_get(reply.body, "detail"));
    return detail ? detail : json_string_value(json_object_get(reply.body, "message"));
}

static void assert_refused_as(int status, const char *code, const char *text)
{
    if (!strstr(message(), text))
        fail_msg("'%s' lacks '%s'", message(), text);
    assert_int_equal(reply.status, status);
    if (code)
        assert_string_equal(reply.error_code, code);
    else
        assert_null(reply.error_code);
    kernelgym_reply_deinit(&reply);
}

static void assert_refused(int result, const char *text)
{
    assert_int_equal(result, ERR_INPUT);
    assert_refused_as(400, "VALIDATION_ERROR", text);
}

/* The last request as one of our API, which borrows from *evaluation. */
static struct evaluation_request translate(const char *more, json_t **evaluation)
{
    struct evaluation_request ours;
    struct err err = {0};
    *evaluation = kernelgym_translate(&request, &settings);
    if (evaluation_request_parse(*evaluation, &ours, &err) < 0)
        fail_msg("%s: %s", more, err.text);
    return ours;
}

TEST(defaults)
{
    assert_int_equal(parse(body_with("{\"detect_decoy_kernel\": true, \"unknown\": [1, {}]}")), 0);
    assert_string_equal(request.task_id, "t");
    assert_string_equal(request.toolkit, "kernelbench");
    assert_string_equal(request.backend, "triton");
    assert_string_equal(request.priority, "normal");
    assert_string_equal(request.entry_point, "Model");
    assert_int_equal(request.num_correct_trials, 5);
    assert_int_equal(request.num_perf_trials, 100);
    assert_int_equal(request.num_warmup, 3);
    assert_int_equal(request.timeout_s, 300);
    assert_int_equal(request.verbose_errors, -1);
    assert_int_equal(request.workflow, KERNELGYM_KERNELBENCH);
    assert_false(request.force_refresh);
    assert_null(request.uuid);
    assert_true(kernelgym_wants_timing(&request));
    assert_true(kernelgym_wants_decoys(&request));
}

TEST(taken)
{
    static const char *const taken[] = {
        "{}",
        "{\"num_correct_trials\": 1, \"num_perf_trials\": 1}",
        "{\"num_correct_trials\": 20, \"num_perf_trials\": 1000}",
        "{\"num_warmup\": 0, \"timeout\": 10}",
        "{\"num_warmup\": 100, \"timeout\": 3600}",
        "{\"timeout\": \"300\", \"num_perf_trials\": 10.0}",
        "{\"num_correct_trials\": true}",
        "{\"is_valid\": \"yes\", \"force_refresh\": 1, \"verbose_errors\": \"off\"}",
        "{\"reference_backend\": null, \"uuid\": null, \"resources\": null}",
        "{\"workflow\": null, \"cases\": null, \"device_preference\": null}",
        "{\"verbose_errors\": null}",
        "{\"backend\": \"cuda\", \"priority\": \"high\"}",
        "{\"workflow\": \" KernelBench \", \"toolkit\": \"KERNELBENCH\"}",
        "{\"workflow\": \"kernel_simple\", \"reference_code\": null}",
        "{\"workflow\": \"kernel_simple\", \"toolkit\": \"kernel_simple\"}",
        "{\"task_id\": \"gr\\u00fc\\u00dfe / 1\"}",
    };
    for (size_t i = 0; i < COUNT(taken); i++)
        if (parse(body_with(taken[i])) < 0)
            fail_msg("%s: %s", taken[i], message());
}

#define BOUND(key, least, most, below, above)                                                      \
    {"{\"" key "\": " below "}",                                                                   \
     "\"greater_than_equal\", \"loc\": [\"body\", \"" key                                          \
     "\"], \"msg\": \"Input should be greater than or equal to " least "\""},                      \
    {                                                                                              \
        "{\"" key "\": " above "}", "Input should be less than or equal to " most                  \
    }

TEST(refused)
{
    static const struct {
        const char *more, *text;
    } refused[] = {
        BOUND("num_correct_trials", "1", "20", "0", "21"),
        BOUND("num_perf_trials", "1", "1000", "0", "1001"),
        BOUND("num_warmup", "0", "100", "-1", "101"),
        BOUND("timeout", "10", "3600", "9", "3601"),
        {"{\"timeout\": 10.5}", "got a number with a fractional part"},
        {"{\"timeout\": \"soon\"}", "unable to parse string as an integer"},
        {"{\"timeout\": null}", "Input should be a valid integer"},
        {"{\"timeout\": 1e300}", "valid integer"},
        {"{\"task_id\": \"\"}", "String should have at least 1 character\""},
        {"{\"task_id\": 5}", "Input should be a valid string"},
        {"{\"task_id\": \"a\\nb\"}", "control characters"},
        {"{\"kernel_code\": null}", "Input should be a valid string"},
        {"{\"reference_code\": \"short\"}", "[\"body\", \"reference_code\"]"},
        {"{\"reference_code\": null}", "reference_code is required"},
        {"{\"reference_code\": null, \"workflow\": null}", "reference_code is required"},
        {"{\"backend\": \"tilelang\"}", "Input should be 'cuda' or 'triton'"},
        {"{\"priority\": \"urgent\"}", "Input should be 'low', 'normal' or 'high'"},
        {"{\"force_refresh\": null}", "Input should be a valid boolean"},
        {"{\"is_valid\": \"maybe\"}", "unable to interpret input"},
        {"{\"resources\": [1]}", "Input should be a valid dictionary"},
        {"{\"cases\": {}}", "Input should be a valid list"},
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        int result = parse(body_with(refused[i].more));
        if (result == 0)
            fail_msg("%s was taken", refused[i].more);
        assert_refused(result, refused[i].text);
    }
}

TEST(unregistered)
{
    static const struct {
        const char *more;
        int status;
        const char *code, *text;
    } rows[] = {
        {"{\"workflow\": \" Other \"}", 400, NULL, "\"Registry missing 'other'\""},
        {"{\"toolkit\": \"other\"}", 500, "SYSTEM_ERROR",
         "Failed to submit task: \"Registry missing 'other'\""},
        {"{\"backend_adapter\": \"other\"}", 500, "SYSTEM_ERROR", "Failed to submit task: "},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (parse(body_with(rows[i].more)) == 0)
            fail_msg("%s was taken", rows[i].more);
        assert_refused_as(rows[i].status, rows[i].code, rows[i].text);
    }
}

TEST(lengths)
{
    static const struct {
        const char *key;
        size_t most;
    } limits[] = {{"task_id", 100}, {"reference_code", 100000}};
    char *text = mem_alloc(100002);
    for (size_t i = 0; i < COUNT(limits); i++) {
        json_t *given = body_with("{}");
        memset(text, 'x', 100001);
        text[limits[i].most + 1] = '\0';
        json_object_set_new(given, limits[i].key, json_text(text));
        assert_refused(parse(json_incref(given)), limits[i].key);
        text[limits[i].most] = '\0';
        json_object_set_new(given, limits[i].key, json_text(text));
        assert_int_equal(parse(given), 0);
    }
    mem_free(text);
}

/* All mistakes at once, in the envelope. */
TEST(envelope)
{
    struct err err = {.code = ERR_INPUT, .text = "body:1:1: not JSON"};
    assert_int_equal(parse(support_json("{\"kernel_code\": 5, \"timeout\": 1}")), ERR_INPUT);
    assert_string_equal(json_string_value(json_object_get(reply.body, "error")),
                        "RequestValidationError");
    assert_string_equal(json_string_value(json_object_get(reply.body, "error_code")),
                        "VALIDATION_ERROR");
    assert_true(json_is_null(json_object_get(reply.body, "task_id")));
    assert_string_equal(json_string_value(json_object_get(reply.body, "timestamp")),
                        "2026-01-31T12:00:00.000Z");
    json_t *errors = support_json(message());
    assert_int_equal(json_array_size(errors), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(errors, 0), "msg")),
                        "Field required");
    kernelgym_reply_deinit(&reply);
    json_decref(errors);
    assert_refused(parse(support_json("[]")), "valid dictionary or object");
    assert_refused(kernelgym_refuse_body(&reply, &err, NOW_MS), "json_invalid");
    kernelgym_refuse_fault(&reply, &err, NOW_MS);
    assert_refused_as(500, "SYSTEM_ERROR", "not JSON");
}

TEST(batch)
{
    struct kernelgym_batch *batch = mem_alloc(sizeof *batch);
    json_t *tasks = json_array();
    json_t *given = json_pack("{s:s, s:O}", "batch_id", "b", "tasks", tasks);
    assert_refused(kernelgym_batch_parse(given, NOW_MS, batch, &reply),
                   "List should have at least 1 item after");
    for (int i = 0; i < KERNELGYM_BATCH_MOST; i++)
        json_array_append_new(tasks, body_with(i == 7 ? "{\"toolkit\": \"other\"}" : "{}"));
    assert_int_equal(kernelgym_batch_parse(given, NOW_MS, batch, &reply), 0);
    assert_int_equal(batch->count, KERNELGYM_BATCH_MOST);
    assert_null(batch->tasks[6].unregistered);
    json_t *evaluation = kernelgym_translate(&batch->tasks[7], &settings);
    assert_string_equal(json_string_value(json_object_get(evaluation, "refused")),
                        "Registry missing 'other'");
    json_decref(evaluation);
    json_array_append_new(tasks, body_with("{}"));
    assert_refused(kernelgym_batch_parse(given, NOW_MS, batch, &reply),
                   "at most 100 items after validation, not 101");
    json_array_clear(tasks);
    json_array_append_new(tasks, body_with("{}"));
    json_array_append_new(tasks, body_with("{\"timeout\": 5}"));
    assert_refused(kernelgym_batch_parse(given, NOW_MS, batch, &reply),
                   "[\"body\", \"tasks\", 1, \"timeout\"]");
    json_decref(tasks);
    json_decref(given);
    mem_free(batch);
}

TEST(workflow)
{
    static const struct {
        const char *payload, *envelope;
        int status; /* 0: taken */
        const char *text;
    } cases[] = {
        {"{}", "{\"task_id\": \"top\"}", 0, "top"},
        {"{\"task_id\": \"inner\"}", "{\"task_id\": null}", 0, "inner"},
        {"{\"task_id\": \"inner\"}", "{\"task_id\": \"\"}", 0, "inner"},
        {"{\"task_id\": \"inner\", \"timeout\": 5, \"num_perf_trials\": 5000, \"backend\": "
         "\"tilelang\", \"priority\": \"urgent\", \"device\": \"cuda:0\"}",
         "{}", 0, "inner"},
        {"{\"task_id\": \"i\"}", "{\"workflow\": \"kernel_simple\"}", 0, "i"},
        {"{}", "{}", 400, "task_id is required"},
        {"{\"task_id\": \"i\"}", "{\"workflow\": \"other\"}", 400, "Registry missing 'other'"},
        {"{\"task_id\": \"i\", \"toolkit\": \"x\"}", "{}", 500, "Failed to submit workflow: "},
        {"{\"task_id\": \"i\", \"kernel_code\": null}", "{}", 400, "Input should be a valid str"},
        {"{\"task_id\": \"i\", \"reference_code\": null}", "{}", 500,
         "Failed to submit workflow: missing required argument: 'reference_code'"},
        {"{\"task_id\": \"i\", \"timeout\": \"x\"}", "{}", 400, "[\"body\", \"payload\""},
        {"{\"task_id\": \"i\"}", "{\"resources\": 5}", 400, "valid dictionary"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *given = support_json(cases[i].envelope);
        json_t *payload = body_with(cases[i].payload);
        if (!json_object_get(given, "task_id") && !strstr(cases[i].payload, "task_id"))
            json_object_del(payload, "task_id");
        json_object_set_new(given, "payload", payload);
        int result = kernelgym_workflow_parse(given, NOW_MS, &request, &reply);
        assert_int_equal(result, cases[i].status ? ERR_INPUT : 0);
        if (cases[i].status) {
            assert_int_equal(reply.status, cases[i].status);
            assert_non_null(strstr(message(), cases[i].text));
            kernelgym_reply_deinit(&reply);
        } else {
            assert_string_equal(request.task_id, cases[i].text);
            assert_true(request.timeout_s >= 10 && request.num_perf_trials <= 1000);
        }
        json_decref(given);
    }
}

TEST(workflow_without_code)
{
    json_t *given = support_json("{\"task_id\": \"x\"}");
    assert_int_equal(kernelgym_workflow_parse(given, NOW_MS, &request, &reply), ERR_INPUT);
    assert_refused_as(500, "SYSTEM_ERROR", "missing required argument");
    json_object_set_new(given, "workflow", json_null());
    assert_refused(kernelgym_workflow_parse(given, NOW_MS, &request, &reply),
                   "[\"body\", \"workflow\"]");
    json_decref(given);
}

TEST(content)
{
    static const struct {
        const char *more, *error; /* NULL: valid */
    } cases[] = {
        {"{}", NULL},
        {"{\"entry_point\": \"Net\", \"reference_code\": \"class Net: pass\", \"kernel_code\": "
         "\"class NetNew: pass\"}",
         NULL},
        {"{\"use_reference_cache\": true, \"uuid\": \"u\", \"resources\": {\"gpus\": 2}}", NULL},
        {"{\"reference_code\": \"class ModelNew: pass\"}",
         "Reference code must define class Model"},
        {"{\"kernel_code\": \"class ModelNewer: pass\"}", "Kernel code must define class ModelNew"},
        {"{\"kernel_code\": \"subclass ModelNew\"}", "Kernel code must define class ModelNew"},
        {"{\"kernel_code\": \"   short       \"}", "kernel_code must have at least 10 characters"},
        {"{\"entry_point\": \"M(\"}", "entry_point 'M(' is not the name of a class"},
        {"{\"entry_point\": \"\"}", "entry_point '' is not the name of a class"},
        {"{\"use_reference_cache\": true}", "UUID is required when use_reference_cache is set"},
        {"{\"resources\": {\"gpus\": 0}}", "resources.gpus must be an integer of at least 1"},
        {"{\"resources\": {\"gpus\": \"1\"}}", "resources.gpus must be an integer of at least 1"},
        {"{\"workflow\": \"kernel_simple\"}", NULL},
        {"{\"workflow\": \"kernel_simple\", \"entry_point\": \"Other\"}",
         "Kernel code must define class Other"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *evaluation;
        assert_int_equal(parse(body_with(cases[i].more)), 0);
        json_t *answer = kernelgym_validation(&request);
        struct evaluation_request ours = translate(cases[i].more, &evaluation);
        assert_int_equal(json_is_true(json_object_get(answer, "valid")), !cases[i].error);
        assert_int_equal(ours.refused != NULL, cases[i].error != NULL);
        if (cases[i].error)
            assert_string_equal(ours.refused, cases[i].error);
        json_decref(evaluation);
        json_decref(answer);
    }
}

/* What a model wrote is judged, however long it is. */
TEST(long_code)
{
    char *text = mem_alloc(100002);
    for (int more = 0; more < 2; more++) {
        json_t *given = body_with("{}");
        memset(text, 'x', 100001);
        snprintf(text, 20, "class ModelNew:");
        text[15] = ' ';
        text[100000 + more] = '\0';
        json_object_set_new(given, "kernel_code", json_text(text));
        assert_int_equal(parse(given), 0);
        json_t *evaluation = kernelgym_translate(&request, &settings);
        const char *why = json_text_at(evaluation, "refused");
        assert_string_equal(why, more ? "kernel_code must have at most 100000 characters" : "");
        json_decref(evaluation);
    }
    mem_free(text);
}

TEST(evaluation)
{
    static const char more[] =
        "{\"num_correct_trials\": 7, \"num_perf_trials\": 2, \"timeout\": 60, "
        "\"priority\": \"low\", \"force_refresh\": true, \"run_performance\": "
        "false, \"reference_backend\": \"torch-compile\"}";
    struct settings applied;
    struct err err;
    json_t *evaluation;
    assert_int_equal(parse(body_with(more)), 0);
    struct evaluation_request ours = translate(more, &evaluation);
    assert_ok(evaluation_request_settings(&ours, &settings, &applied, &err), &err);
    assert_string_equal(ours.id, "t");
    assert_int_equal(ours.format, EVALUATION_TORCH);
    assert_string_equal(ours.problem_source, reference);
    assert_string_equal(ours.candidate_source, kernel);
    assert_string_equal(ours.candidate_name, "candidate.py");
    assert_string_equal(ours.entry_point, "Model");
    assert_int_equal(ours.timeout_ms, 60000);
    assert_int_equal(ours.priority, EVALUATION_LOW);
    assert_true(ours.fresh);
    assert_false(ours.timing);
    assert_int_equal(check_settings(&applied)->trials, 7);
    assert_int_equal(timing_settings(&applied)->max_samples,
                     timing_settings(&settings)->min_samples);
    assert_int_equal(torch_settings(&applied)->compile, TORCH_COMPILE_DEFAULT);
    settings_deinit(&applied);
    json_decref(evaluation);
}

TEST(simple)
{
    static const struct {
        const char *more, *entry_point;
        bool source, list, compare;
    } cases[] = {
        {"{\"cases\": [[1]], \"cases_code\": \"def get_cases(): pass\"}", "ModelNew", false, true,
         true},
        {"{\"cases_code\": \"def get_cases(): pass\"}", "ModelNew", true, false, true},
        {"{\"run_correctness\": false, \"entry_point\": \"\"}", "ModelNew", false, false, false},
        {"{\"kernel_code\": \"class Other: pass\", \"entry_point\": \"Other\"}", "Other", false,
         false, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *evaluation, *given = body_with(cases[i].more);
        json_object_set_new(given, "workflow", json_string("kernel_simple"));
        assert_int_equal(parse(given), 0);
        struct evaluation_request ours = translate(cases[i].more, &evaluation);
        assert_int_equal(ours.format, EVALUATION_SIMPLE);
        assert_string_equal(ours.entry_point, cases[i].entry_point);
        assert_int_equal(ours.cases_source != NULL, cases[i].source);
        assert_int_equal(ours.cases != NULL, cases[i].list);
        assert_int_equal(ours.compare, cases[i].compare);
        json_decref(evaluation);
    }
}

TEST(flags)
{
    static const struct {
        const char *more;
        bool timing, decoys;
    } cases[] = {
        {"{}", true, true},
        {"{\"measure_performance\": false}", false, true},
        {"{\"measure_performance\": false, \"run_performance\": true}", true, true},
        {"{\"enable_profiling\": false}", true, true},
        {"{\"enable_profiling\": false, \"backend\": \"cuda\"}", true, false},
        {"{\"enable_profiling\": false, \"enable_triton_detection\": false}", true, false},
        {"{\"enable_profiling\": false, \"enable_triton_detection\": false, "
         "\"run_triton_detection\": true}",
         true, true},
        {"{\"backend\": \"cuda\"}", true, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(parse(body_with(cases[i].more)), 0);
        assert_int_equal(kernelgym_wants_timing(&request), cases[i].timing);
        assert_int_equal(kernelgym_wants_decoys(&request), cases[i].decoys);
    }
}

TEST(queries)
{
    static const struct {
        enum kernelgym_query_kind kind;
        const char *query, *refusal; /* NULL: accepted */
    } rows[] = {
        {KERNELGYM_NODE, "{\"hostname\": \"h\", \"min_errors\": \"x\"}", NULL},
        {KERNELGYM_NODE, "{}", "Field required"},
        {KERNELGYM_NODE, "{\"hostname\": \"\"}", "at least 1 character"},
        {KERNELGYM_WORKER, "{\"hostname\": \"h\", \"worker_id\": \"w\"}", NULL},
        {KERNELGYM_WORKER, "{\"hostname\": \"h\"}", "[\"query\", \"worker_id\"]"},
        {KERNELGYM_NEW_WORKER, "{\"worker_id\": \"w\"}", "[\"query\", \"device\"]"},
        {KERNELGYM_PROBLEMATIC, "{\"min_errors\": \"5\"}", NULL},
        {KERNELGYM_PROBLEMATIC, "{}", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct kernelgym_query query;
        json_t *given = support_json(rows[i].query);
        int result = kernelgym_query_parse(given, rows[i].kind, NOW_MS, &query, &reply);
        assert_int_equal(result, rows[i].refusal ? ERR_INPUT : 0);
        if (rows[i].refusal) {
            assert_refused(result, rows[i].refusal);
        } else if (rows[i].kind == KERNELGYM_PROBLEMATIC) {
            assert_int_equal(query.min_errors, json_object_size(given) ? 5 : 3);
        } else {
            assert_string_equal(query.hostname, "h");
            assert_null(query.node_name);
            if (rows[i].kind == KERNELGYM_WORKER)
                assert_string_equal(query.worker_id, "w");
        }
        json_decref(given);
    }
}

TEST(workers_do_not_register)
{
    kernelgym_refuse_worker(&reply);
    assert_refused_as(501, NULL, "warpgym worker");
}
