/* Evaluators: this process with candidates of a tiny problem, and a server that a test plays. */
#include "client/evaluator.h"

#include "../support/http_fixture.h"
#include "../support/judging.h"
#include "../support/test.h"
#include "../support/verdicts.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/paths.h"
#include "judge/request/judge_settings.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define THREADS 5

static const char *status_of(const struct verdict *verdict)
{
    return verdict_status_name(verdict->status);
}

static const char *error_of(const struct verdict *verdict)
{
    return verdict->error_message ? verdict->error_message : "";
}

/* One evaluation of a thread. */
struct call {
    struct evaluator *evaluator;
    const char *request;
    const _Atomic int *stop; /* its own; NULL: the evaluator's */
    struct verdict verdict;
    struct err err;
    int result;
    pthread_t thread;
};

static void *call(void *argument)
{
    struct call *one = argument;
    json_t *request = json_loads(one->request, 0, NULL);
    one->result = one->stop ? evaluator_evaluate_until(one->evaluator, request, one->stop,
                                                       &one->verdict, &one->err)
                            : evaluator_evaluate(one->evaluator, request, &one->verdict, &one->err);
    json_decref(request);
    return NULL;
}

static void begin_calls_until(struct call *calls, size_t count, struct evaluator *evaluator,
                              const char *request, const _Atomic int *stop)
{
    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct call){.evaluator = evaluator, .request = request, .stop = stop};
        assert_int_equal(pthread_create(&calls[i].thread, NULL, call, &calls[i]), 0);
    }
}

static void begin_calls(struct call *calls, size_t count, struct evaluator *evaluator,
                        const char *request)
{
    begin_calls_until(calls, count, evaluator, request, NULL);
}

static void end_calls(struct call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pthread_join(calls[i].thread, NULL);
}

static struct {
    char *place;
    struct settings settings;
    struct paths_list search_paths;
    _Atomic int cancelled;
    struct evaluator *evaluator;
} here;

FIXTURE(open_here)
{
    static const char *const assignments[] = {"run.timeout_ms=20s", "run.threads=1",
                                              "gpu.driver=/nonexistent/libcuda.so"};
    here.place = support_directory();
    judging_settings(&here.settings, here.place);
    for (size_t i = 0; i < COUNT(assignments); i++)
        if (settings_assign(&here.settings, assignments[i], NULL) < 0)
            return -1;
    if (paths_problems("", &here.search_paths, NULL) < 0)
        return -1;
    struct evaluator_options options = {.settings = &here.settings,
                                        .search_paths = &here.search_paths,
                                        .max_in_flight = 2,
                                        .cancelled = &here.cancelled};
    return evaluator_open_local(&here.evaluator, &options, NULL);
}

FIXTURE(close_here)
{
    evaluator_close(here.evaluator);
    paths_list_deinit(&here.search_paths);
    settings_deinit(&here.settings);
    return 0;
}

TEST_GROUP(open_here, close_here);

TEST(verdicts)
{
    static const struct {
        const char *request, *status, *says;
    } rows[] = {
        {DOUBLE_REQUEST(DOUBLE_RIGHT, ""), "passed", ""},
        {DOUBLE_REQUEST(DOUBLE_HEAD "{ (void)x; (void)y; (void)n; }", ""), "wrong",
         "elements are wrong"},
        {DOUBLE_REQUEST("int broken", ""), "compile_error", ""},
        {"{\"problem\": {\"id\": \"relu\"}, \"candidate\": {\"source\": \"x\"}}", "compile_error",
         ""},
        {DOUBLE_REQUEST(DOUBLE_ENDLESS, ", \"timeout_ms\": 300"), "timeout",
         "longer than it was given"},
        {DOUBLE_REQUEST(DOUBLE_ENDLESS, ", \"settings\": {\"run.timeout_ms\": \"200ms\"}"),
         "timeout", "one call took longer"},
        {"{\"refused\": \"not today\"}", "unsupported", "not today"},
        {"{" DOUBLE_PROBLEM("name: 3") ", \"candidate\": {\"source\": \"x\"}}", "unsupported",
         "yaml"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *request = support_json(rows[i].request);
        struct verdict verdict;
        struct err err = {0};
        json_put(request, "id", json_string("mine"));
        if (evaluator_evaluate(here.evaluator, request, &verdict, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        if (strcmp(status_of(&verdict), rows[i].status) != 0 ||
            !strstr(error_of(&verdict), rows[i].says))
            fail_msg("row %zu: %s: %s", i, status_of(&verdict), error_of(&verdict));
        assert_string_equal(verdict.id, "mine");
        verdict_deinit(&verdict);
        json_decref(request);
    }
}

TEST(no_request)
{
    static const struct {
        const char *request;
        int code;
        const char *says;
    } rows[] = {
        {"[]", ERR_INPUT, "object"},
        {"{\"problem\": 3}", ERR_INPUT, "problem"},
        {DOUBLE_REQUEST(DOUBLE_RIGHT, ", \"timeout_mss\": 3"), ERR_INPUT, "timeout_mss"},
        {DOUBLE_REQUEST(DOUBLE_RIGHT, ", \"settings\": {\"cache.directory\": \"/\"}"), ERR_INPUT,
         "cache.directory"},
        {DOUBLE_REQUEST(DOUBLE_RIGHT, ", \"settings\": {\"check.trials\": \"many\"}"), ERR_INPUT,
         "check.trials"},
        {"{\"problem\": {\"id\": \"reluu\"}, \"candidate\": {\"source\": \"x\"}}", ERR_MISSING,
         "reluu"},
        {"{\"problem\": {\"id\": \"relu\", \"hash\": \"0123\"}, \"candidate\": {\"source\": "
         "\"x\"}}",
         ERR_MISSING, "0123 is wanted"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *request = support_json(rows[i].request);
        struct verdict verdict;
        struct err err = {0};
        int result = evaluator_evaluate(here.evaluator, request, &verdict, &err);
        if (result != rows[i].code || err.code != result || !strstr(err.text, rows[i].says))
            fail_msg("row %zu: %d: %s", i, result, err.text);
        assert_null(verdict.id);
        json_decref(request);
    }
}

/* All are judged; the last one waited for at least one of the others, and its verdict says so. */
TEST(crowd)
{
    struct call calls[THREADS];
    double longest_ms = 0, shortest_ms = INFINITY;
    assert_int_equal(evaluator_capacity(here.evaluator), 2);
    begin_calls(calls, THREADS, here.evaluator, DOUBLE_REQUEST(DOUBLE_RIGHT, ""));
    end_calls(calls, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        assert_ok(calls[i].result, &calls[i].err);
        assert_string_equal(status_of(&calls[i].verdict), "passed");
        longest_ms = fmax(longest_ms, calls[i].verdict.stages_ms[STAGE_QUEUE]);
        shortest_ms = fmin(shortest_ms, calls[i].verdict.stages_ms[STAGE_LOAD] +
                                            calls[i].verdict.stages_ms[STAGE_CHECK]);
        verdict_deinit(&calls[i].verdict);
    }
    if (longest_ms < shortest_ms)
        fail_msg("waited for %.3f ms, judged in %.3f ms", longest_ms, shortest_ms);
}

/* One gives up, and its seat is there for the other. */
TEST(give_up)
{
    struct call calls[3];
    _Atomic int stop = 0;
    begin_calls_until(calls, 2, here.evaluator, DOUBLE_REQUEST(DOUBLE_ENDLESS, ""), &stop);
    support_pause(300);
    begin_calls(&calls[2], 1, here.evaluator, DOUBLE_REQUEST(DOUBLE_RIGHT, ""));
    int64_t start_ns = clock_now_ns();
    stop = 1;
    end_calls(calls, 3);
    if (clock_ms_since(start_ns) > (double)run_settings(&here.settings)->timeout_ms)
        fail_msg("they ran until their calls' limit");
    assert_int_equal(calls[0].result, ERR_CANCELLED);
    assert_int_equal(calls[1].result, ERR_CANCELLED);
    assert_int_equal(calls[2].result, 0);
    assert_string_equal(status_of(&calls[2].verdict), "passed");
    for (size_t i = 0; i < COUNT(calls); i++)
        verdict_deinit(&calls[i].verdict);
}

/* Those that run and those that wait for a turn. The last test of this evaluator. */
TEST(cancel)
{
    struct call calls[THREADS];
    begin_calls(calls, THREADS, here.evaluator, DOUBLE_REQUEST(DOUBLE_ENDLESS, ""));
    support_pause(300);
    int64_t start_ns = clock_now_ns();
    here.cancelled = 1;
    end_calls(calls, THREADS);
    if (clock_ms_since(start_ns) > (double)run_settings(&here.settings)->timeout_ms)
        fail_msg("they ran until their calls' limit");
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(calls[i].result, ERR_CANCELLED);
        verdict_deinit(&calls[i].verdict);
    }
}

static struct {
    struct http_fixture server;
    _Atomic int running, most, puts, fresh, cancelled;
    _Atomic int ends_after; /* looks at an evaluation until it has ended; 0: never */
    _Atomic int looks;
    const char *_Atomic ended;  /* the status of one that has */
    const char *_Atomic before; /* likewise, of one that had when it was put; NULL: it had not */
} there;

#define PASSED                                                                                     \
    "{\"state\": \"done\", \"outcome\": \"passed\", \"verdict\": {\"status\": \"passed\"}}"

static void describe(struct http_response *response, const char *id, const char *what)
{
    json_t *object = json_loads(what, 0, NULL);
    verdict_complete(json_object_get(object, "verdict"));
    json_put(object, "id", json_text(id));
    http_set_json(response, object);
}

static void put(void *context, struct http_request *request, struct http_response *response)
{
    const json_t *body = http_json(request, response);
    if (!body)
        return;
    there.puts++;
    if (json_object_get(body, "bad")) {
        http_refuse(response, 400, "bad", "no such problem");
        return;
    }
    bool fresh = json_is_true(json_object_get(body, "fresh"));
    there.fresh += fresh;
    int running = ++there.running;
    int most = there.most;
    while (running > most && !atomic_compare_exchange_weak(&there.most, &most, running)) {
    }
    http_set_status(response, 202);
    describe(response, json_string_value(json_object_get(body, "id")),
             there.before && !fresh ? there.before : "{\"state\": \"queued\"}");
}

static void get(void *context, struct http_request *request, struct http_response *response)
{
    bool ended = ++there.looks >= there.ends_after && there.ends_after > 0;
    there.running -= ended;
    describe(response, http_parameter(request, "id"),
             ended ? there.ended : "{\"state\": \"running\"}");
}

static void cancel(void *context, struct http_request *request, struct http_response *response)
{
    there.cancelled++;
    http_set_json(response, json_object());
}

static const struct http_route routes[] = {
    {HTTP_POST, "/v1/evaluations", put, 0, 65536, NULL},
    {HTTP_GET, "/v1/evaluations/:id", get, 0, 0, NULL},
    {HTTP_DELETE, "/v1/evaluations/:id", cancel, 0, 0, NULL},
};

FIXTURE(open_there)
{
    return http_fixture_begin(&there.server, routes, COUNT(routes), NULL);
}

FIXTURE(close_there)
{
    int result = http_fixture_stop(&there.server);
    http_fixture_free(&there.server);
    return result;
}

TEST_GROUP(open_there, close_there);

static struct evaluator *connect_to(size_t at_once, _Atomic int *cancelled)
{
    struct evaluator_options options = {.settings = &there.server.settings,
                                        .max_in_flight = at_once,
                                        .cancelled = cancelled};
    struct evaluator *evaluator;
    struct err err;
    there.puts = there.fresh = there.cancelled = there.most = there.running = 0;
    there.looks = 0;
    there.ends_after = 1;
    there.ended = PASSED;
    there.before = NULL;
    assert_ok(evaluator_open_remote(&evaluator, http_address(there.server.http), &options, &err),
              &err);
    return evaluator;
}

#define CANCELLED "{\"state\": \"cancelled\", \"outcome\": \"cancelled\", \"reason\": \"by hand\"}"
#define LOST                                                                                       \
    "{\"state\": \"done\", \"outcome\": \"infrastructure_error\", \"reason\": \"lost thrice\"}"

TEST(answers)
{
    static const struct {
        const char *request, *before, *ended;
        int result, fresh;
        const char *says; /* the status, or a word of why */
    } rows[] = {
        {"{}", NULL, PASSED, 0, 0, "passed"},
        {"{}", PASSED, LOST, 0, 0, "passed"}, /* known already */
        {"{}", NULL, LOST, 0, 0, "infrastructure_error"},
        {"{}", NULL, CANCELLED, ERR_CANCELLED, 0, "by hand"},
        {"{\"id\": \"again\"}", CANCELLED, PASSED, 0, 1, "passed"},
        {"{\"id\": \"again\"}", LOST, PASSED, 0, 1, "passed"},
        {"{\"bad\": 1}", NULL, PASSED, ERR_INPUT, 0, "no such problem"},
        {"[]", NULL, PASSED, ERR_INPUT, 0, "object"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct evaluator *evaluator = connect_to(0, NULL);
        json_t *request = support_json(rows[i].request), *as_it_was = json_deep_copy(request);
        struct verdict verdict;
        struct err err = {0};
        there.before = rows[i].before;
        there.ended = rows[i].ended;
        int result = evaluator_evaluate(evaluator, request, &verdict, &err);
        if (result != rows[i].result || there.fresh != rows[i].fresh ||
            !strstr(result == 0 ? status_of(&verdict) : err.text, rows[i].says))
            fail_msg("row %zu: %d, fresh %d: %s", i, result, there.fresh, err.text);
        assert_true(json_equal(request, as_it_was));
        if (result == 0 && strcmp(rows[i].says, "infrastructure_error") == 0)
            assert_string_equal(error_of(&verdict), "lost thrice");
        verdict_deinit(&verdict);
        json_decref(as_it_was);
        json_decref(request);
        evaluator_close(evaluator);
    }
}

TEST(crowd_there)
{
    struct evaluator *evaluator = connect_to(2, NULL);
    struct call calls[4 * THREADS];
    begin_calls(calls, 4 * THREADS, evaluator, "{}");
    end_calls(calls, 4 * THREADS);
    for (size_t i = 0; i < 4 * THREADS; i++) {
        assert_int_equal(calls[i].result, 0);
        assert_string_equal(status_of(&calls[i].verdict), "passed");
        verdict_deinit(&calls[i].verdict);
    }
    assert_int_equal(there.puts, 4 * THREADS);
    assert_in_range(there.most, 1, 2);
    evaluator_close(evaluator);
}

TEST(cancel_there)
{
    _Atomic int cancelled = 0;
    struct evaluator *evaluator = connect_to(2, &cancelled);
    struct call calls[THREADS];
    there.ends_after = 0;
    begin_calls(calls, THREADS, evaluator, "{}");
    while (there.looks < 2)
        support_pause(5);
    cancelled = 1;
    end_calls(calls, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(calls[i].result, ERR_CANCELLED);
    assert_int_equal(there.cancelled, 2); /* the others never went out */
    assert_int_equal(there.puts, 2);
    evaluator_close(evaluator);
}

TEST(give_up_there)
{
    _Atomic int cancelled = 0, stop = 0;
    struct evaluator *evaluator = connect_to(2, &cancelled);
    struct call calls[2];
    there.ends_after = 0;
    begin_calls_until(calls, 1, evaluator, "{}", &stop);
    begin_calls(&calls[1], 1, evaluator, "{}");
    while (there.looks < 2)
        support_pause(5);
    stop = 1;
    end_calls(calls, 1);
    assert_int_equal(calls[0].result, ERR_CANCELLED);
    assert_int_equal(there.cancelled, 1); /* and the other is still waited for */
    cancelled = 1;
    end_calls(&calls[1], 1);
    assert_int_equal(calls[1].result, ERR_CANCELLED);
    assert_int_equal(there.cancelled, 2);
    evaluator_close(evaluator);
}

TEST(away)
{
    struct evaluator_options options = {.settings = &there.server.settings};
    struct evaluator *evaluator;
    json_t *request = json_object();
    struct verdict verdict;
    struct err err;
    assert_int_equal(settings_assign(&there.server.settings, "client.retry_budget_ms=0", &err), 0);
    assert_int_equal(evaluator_open_remote(&evaluator, "nonsense", &options, &err), ERR_INPUT);
    assert_null(evaluator);
    assert_int_equal(evaluator_open_remote(&evaluator, "http://127.0.0.1:1", &options, &err), 0);
    assert_int_equal(evaluator_capacity(evaluator), 1000);
    assert_int_equal(evaluator_evaluate(evaluator, request, &verdict, &err), ERR_IO);
    assert_non_null(strstr(err.text, "127.0.0.1:1"));
    assert_null(verdict.id);
    evaluator_close(evaluator);
    json_decref(request);
}
