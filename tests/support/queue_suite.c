#include "base/array.h"
#include "queue_suite_parts.h"

#include <string.h>

struct suite suite;

static struct suite_test *suite_tests;

void suite_register(struct suite_test *test)
{
    struct suite_test **at = &suite_tests;
    while (*at)
        at = &(*at)->next;
    *at = test;
}

struct queue *queue_suite_open(const struct queue_place *place, const char *url,
                               const struct queue_options *options)
{
    struct queue_options with = options ? *options : (struct queue_options){0};
    struct queue *opened;
    with.clock = place->clock;
    suite_ok(queue_open(&opened, url, &with, &suite.err));
    return opened;
}

int suite_set_up(void **state)
{
    suite.url = suite.place->fresh();
    suite.queue = queue_suite_open(suite.place, suite.url, NULL);
    return 0;
}

int suite_tear_down(void **state)
{
    queue_close(suite.queue);
    return 0;
}

void suite_reopen(const struct queue_options *options)
{
    queue_close(suite.queue);
    suite.queue = queue_suite_open(suite.place, suite.url, options);
}

enum queue_put_result suite_put_full(const char *id, const char *batch, const char *needs,
                                     enum queue_priority priority, const char *payload, bool force)
{
    struct queue_submission one = {.id = id,
                                   .batch = batch,
                                   .needs = needs,
                                   .priority = priority,
                                   .payload = payload,
                                   .payload_bytes = strlen(payload),
                                   .force = force};
    suite_ok(queue_put(suite.queue, &one, 1, &suite.err));
    assert_string_equal(one.put_id, id);
    return one.put_result;
}

enum queue_put_result suite_put(const char *id)
{
    return suite_put_full(id, NULL, "cpu", QUEUE_NORMAL, id, false);
}

bool suite_claim_with(struct queue *from, const char *worker, const char *needs, int timeout_ms,
                      struct queue_job *job)
{
    const char *words[] = {needs, "gpu"};
    bool both = strcmp(needs, "both") == 0;
    struct queue_claim claim = {.worker = worker,
                                .needs = words,
                                .needs_count = both ? 2 : 1,
                                .timeout_ms = timeout_ms};
    bool got;
    if (both)
        words[0] = "cpu";
    suite_ok(queue_claim(from, &claim, job, &got, &suite.err));
    return got;
}

struct queue_job suite_claim(const char *expected)
{
    struct queue_job job;
    assert_true(suite_claim_with(suite.queue, "worker", "cpu", 0, &job));
    assert_string_equal(job.id, expected);
    queue_job_deinit(&job);
    return job;
}

void suite_assert_nothing_to_claim(void)
{
    struct queue_job job;
    assert_false(suite_claim_with(suite.queue, "worker", "both", 0, &job));
}

enum queue_finish_result suite_finish(const struct queue_job *job, const char *outcome,
                                      const char *bytes)
{
    enum queue_finish_result finish_result;
    struct queue_result result = {.outcome = outcome, .bytes = bytes, .count = strlen(bytes)};
    suite_ok(queue_finish(suite.queue, job, &result, &finish_result, &suite.err));
    return finish_result;
}

enum queue_lease_state suite_renew(const struct queue_job *job)
{
    enum queue_lease_state lease_state;
    suite_ok(queue_renew(suite.queue, &job, 1, 0, &lease_state, &suite.err));
    return lease_state;
}

struct queue_job suite_get(const char *id)
{
    struct queue_job job;
    suite_ok(queue_get(suite.queue, id, QUEUE_NO_BODIES, &job, &suite.err));
    assert_null(job.payload);
    assert_null(job.result);
    return job;
}

struct queue_reaping suite_reap(void)
{
    struct queue_reaping reaping, all = {0};
    do {
        suite_ok(queue_reap(suite.queue, &reaping, &suite.err));
        all.returned += reaping.returned;
        all.lost += reaping.lost;
        all.removed += reaping.removed;
        all.expired += reaping.expired;
    } while (reaping.more);
    return all;
}

enum queue_state suite_cancel(const char *id)
{
    enum queue_state state;
    suite_ok(queue_cancel(suite.queue, id, &state, &suite.err));
    return state;
}

int queue_suite_run(const struct queue_place *place)
{
    struct CMUnitTest tests[64];
    size_t count = 0;
    suite.place = place;
    for (const struct suite_test *one = suite_tests; one; one = one->next) {
        assert_true(count < COUNT(tests));
        tests[count++] = one->test;
    }
    return _cmocka_run_group_tests(place->name, tests, count, NULL, NULL);
}
