/* remote_batch against a server that ends what is asked for, refuses some, and counts. */
#include "../support/http_fixture.h"
#include "client/remote_batch.h"

#include "../support/test.h"
#include "base/json.h"
#include "base/limits.h"

#define JOBS 230

static struct {
    struct http_fixture server;
    _Atomic int batches, singles, cancelled, refuse, never, largest;
} world;

static json_t *evaluation(const char *id, const char *state)
{
    return json_pack("{s:s, s:s, s:{s:s}}", "id", id, "state", state, "verdict", "status",
                     "passed");
}

static bool is_bad(const json_t *request)
{
    return world.refuse && json_is_true(json_object_get(request, "bad"));
}

static void put_one(void *context, struct http_request *request, struct http_response *response)
{
    const json_t *body = http_json(request, response);
    if (!body)
        return;
    world.singles++;
    if (is_bad(body)) {
        http_refuse(response, 400, "bad", "no such problem");
        return;
    }
    http_set_status(response, 202);
    http_set_json(response, evaluation(json_string_value(json_object_get(body, "id")), "queued"));
}

static void put_many(void *context, struct http_request *request, struct http_response *response)
{
    const json_t *body = http_json(request, response);
    if (!body)
        return;
    const json_t *items = json_object_get(body, "evaluations");
    int count = (int)json_array_size(items);
    world.batches++;
    world.largest = count > world.largest ? count : world.largest;
    for (int i = 0; i < count; i++)
        if (is_bad(json_array_get(items, (size_t)i))) {
            http_refuse(response, 400, "bad", "evaluations[%d]: no such problem", i);
            return;
        }
    http_set_status(response, 202);
    http_set_json(response, json_pack("{s:O}", "id", json_object_get(body, "id")));
}

static void get_one(void *context, struct http_request *request, struct http_response *response)
{
    http_set_json(response,
                  evaluation(http_parameter(request, "id"), world.never ? "running" : "done"));
}

static void cancel(void *context, struct http_request *request, struct http_response *response)
{
    world.cancelled++;
    http_set_json(response, json_object());
}

static const struct http_route routes[] = {
    {HTTP_POST, "/v1/evaluations", put_one, 0, 65536, NULL},
    {HTTP_POST, "/v1/batches", put_many, 0, 16 << 20, NULL},
    {HTTP_GET, "/v1/evaluations/:id", get_one, 0, 0, NULL},
    {HTTP_DELETE, "/v1/batches/:id", cancel, 0, 0, NULL},
};

FIXTURE(begin)
{
    return http_fixture_begin(&world.server, routes, COUNT(routes), NULL);
}

FIXTURE(end)
{
    int result = http_fixture_stop(&world.server);
    http_fixture_free(&world.server);
    return result;
}

TEST_GROUP(begin, end);

struct seen {
    int reported[JOBS], refused[JOBS];
    int ticks;
    _Atomic int cancelled;
    bool cancel_at_tick;
};

static json_t *make(void *context, size_t index)
{
    return json_pack("{s:i, s:b}", "number", (int)index, "bad", index % 50 == 7);
}

static void report(void *context, size_t index, const struct remote_evaluation *one)
{
    struct seen *seen = context;
    assert_string_equal(json_string_value(json_object_get(one->verdict, "status")), "passed");
    seen->reported[index]++;
}

static void refuse(void *context, size_t index, const struct err *err)
{
    struct seen *seen = context;
    assert_non_null(strstr(err->text, "no such problem"));
    seen->refused[index]++;
}

static void tick(void *context)
{
    struct seen *seen = context;
    seen->ticks++;
    seen->cancelled = seen->cancel_at_tick;
}

static int run(struct seen *seen, size_t count, size_t at_once, struct err *err)
{
    struct remote_work work = {.count = count,
                               .max_in_flight = at_once,
                               .make = make,
                               .report = report,
                               .refuse = refuse,
                               .tick = tick,
                               .context = seen};
    world.batches = world.singles = world.cancelled = world.largest = 0;
    return remote_batch_run(&world.server.settings, http_address(world.server.http), &work,
                            &seen->cancelled, err);
}

TEST(all)
{
    static const struct {
        size_t count, at_once;
        int largest;
    } rows[] = {{0, 0, 0}, {1, 0, 1}, {JOBS, 0, LIMIT_CLIENT_BATCH_JOBS}, {JOBS, 9, 9}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct seen seen = {0};
        struct err err = {0};
        if (run(&seen, rows[i].count, rows[i].at_once, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        for (size_t k = 0; k < JOBS; k++)
            assert_int_equal(seen.reported[k], k < rows[i].count);
        assert_int_equal(world.largest, rows[i].largest);
        assert_int_equal(world.cancelled, 0);
        assert_int_equal(world.singles, 0);
    }
}

TEST(refused)
{
    struct seen seen = {0};
    world.refuse = 1;
    int result = run(&seen, JOBS, 0, NULL);
    world.refuse = 0;
    assert_int_equal(result, 0);
    for (size_t k = 0; k < JOBS; k++) {
        assert_int_equal(seen.refused[k], k % 50 == 7);
        assert_int_equal(seen.reported[k], k % 50 != 7);
    }
}

TEST(cancelled)
{
    struct seen seen = {.cancel_at_tick = true};
    world.never = 1;
    int result = run(&seen, JOBS, 0, NULL);
    world.never = 0;
    assert_int_equal(result, ERR_CANCELLED);
    assert_true(world.cancelled >= 1);
    for (size_t k = 0; k < JOBS; k++)
        assert_int_equal(seen.reported[k], 0);
}

TEST(away)
{
    struct seen seen = {0};
    struct err err = {0};
    struct remote_work work = {
        .count = 5, .make = make, .report = report, .refuse = refuse, .context = &seen};
    assert_int_equal(settings_assign(&world.server.settings, "client.retry_budget_ms=0", &err), 0);
    assert_int_equal(remote_batch_run(&world.server.settings, "http://127.0.0.1:1", &work, NULL,
                                      &err),
                     ERR_IO);
    assert_non_null(strstr(err.text, "127.0.0.1:1"));
    assert_int_equal(remote_batch_run(&world.server.settings, "nonsense", &work, NULL, &err),
                     ERR_INPUT);
}
