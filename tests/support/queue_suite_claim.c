#include "queue_suite_parts.h"

#include "base/array.h"
#include "base/clock.h"

#include <pthread.h>
#include <time.h>

SUITE_TEST(claims_follow_priority_then_order)
{
    static const struct {
        const char *id, *needs;
        enum queue_priority priority;
    } jobs[] = {
        {"low", "cpu", QUEUE_LOW},     {"normal 1", "cpu", QUEUE_NORMAL},
        {"gpu 1", "gpu", QUEUE_HIGH},  {"high 1", "cpu", QUEUE_HIGH},
        {"gpu 2", "gpu", QUEUE_HIGH},  {"normal 2", "cpu", QUEUE_NORMAL},
        {"high 2", "cpu", QUEUE_HIGH}, {"urgent", "cpu", QUEUE_URGENT},
    };
    static const struct {
        const char *needs, *expected;
    } claims[] = {
        {"cpu", "urgent"},   {"both", "gpu 1"}, {"both", "high 1"}, {"cpu", "high 2"},
        {"cpu", "normal 1"}, {"gpu", "gpu 2"},  {"gpu", NULL},      {"both", "normal 2"},
        {"both", "low"},     {"both", NULL},
    };
    for (size_t i = 0; i < COUNT(jobs); i++)
        suite_put_full(jobs[i].id, NULL, jobs[i].needs, jobs[i].priority, jobs[i].id, false);
    for (size_t i = 0; i < COUNT(claims); i++) {
        struct queue_job job;
        bool got = suite_claim_with(suite.queue, "node 7", claims[i].needs, 0, &job);
        assert_int_equal(got, claims[i].expected != NULL);
        if (!got)
            continue;
        assert_string_equal(job.id, claims[i].expected);
        assert_string_equal(job.payload, claims[i].expected);
        assert_string_equal(job.worker, "node 7");
        assert_int_equal(job.state, QUEUE_RUNNING);
        assert_int_equal(job.attempt, 1);
        assert_int_equal(job.claims, 1);
        assert_true(job.claimed_ms >= job.put_ms);
        queue_job_deinit(&job);
    }
}

SUITE_TEST(refused_claims)
{
    const char *needs[QUEUE_NEEDS_MAX + 1] = {"cpu", "cpu", "cpu", "cpu", "cpu",
                                              "cpu", "cpu", "cpu", "cpu"};
    const char *bad[] = {"GPU"};
    const struct queue_claim rows[] = {
        {.worker = "w", .needs = needs, .needs_count = 0},
        {.worker = "w", .needs = needs, .needs_count = QUEUE_NEEDS_MAX + 1},
        {.worker = "w", .needs = bad, .needs_count = 1},
        {.worker = "", .needs = needs, .needs_count = 1},
        {.worker = "w", .needs = needs, .needs_count = 1, .lease_ms = 3600001},
        {.worker = "w", .needs = needs, .needs_count = 1, .lease_ms = -1},
    };
    struct queue_job job;
    bool got;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(queue_claim(suite.queue, &rows[i], &job, &got, &suite.err), ERR_INPUT);
}

struct waiter {
    struct queue *from;
    pthread_t thread;
    struct queue_job job;
    bool got;
    _Atomic bool started;
    double waited_ms;
};

static void *wait_for_job(void *argument)
{
    struct waiter *waiter = argument;
    const char *needs[] = {"cpu"};
    struct queue_claim wanted = {.worker = "waiter",
                                 .needs = needs,
                                 .needs_count = 1,
                                 .timeout_ms = WAIT_MOST_MS};
    int64_t start_ns = clock_now_ns();
    waiter->started = true;
    if (queue_claim(waiter->from, &wanted, &waiter->job, &waiter->got, NULL) < 0)
        waiter->got = false;
    waiter->waited_ms = clock_ms_since(start_ns);
    return NULL;
}

static void start_waiter(struct waiter *waiter, struct queue *from)
{
    *waiter = (struct waiter){.from = from};
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_job, waiter), 0);
    while (!waiter->started)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

SUITE_TEST(a_put_wakes_a_claim)
{
    struct queue *other = queue_suite_open(suite.place, suite.url, NULL);
    struct queue *from[] = {suite.queue, other};
    for (int i = 0; i < 6; i++) {
        struct waiter waiter;
        start_waiter(&waiter, from[i % 2]);
        suite_put_full(i < 4 ? "one" : "two", NULL, "cpu", QUEUE_NORMAL, "", true);
        pthread_join(waiter.thread, NULL);
        assert_true(waiter.got);
        assert_true(waiter.waited_ms < WAIT_MOST_MS / 2.0);
        suite_finish(&waiter.job, "passed", "");
        queue_job_deinit(&waiter.job);
    }
    queue_close(other);
}

SUITE_TEST(a_returned_job_wakes_a_claim)
{
    struct waiter waiter;
    suite_put("a");
    struct queue_job job = suite_claim("a");
    start_waiter(&waiter, suite.queue);
    suite_ok(queue_fail(suite.queue, &job, "draining", false, &suite.err));
    pthread_join(waiter.thread, NULL);
    assert_true(waiter.got);
    queue_job_deinit(&waiter.job);
}

SUITE_TEST(a_claim_ends_without_a_job)
{
    struct queue_job job;
    int64_t start_ns = clock_now_ns();
    assert_false(suite_claim_with(suite.queue, "worker", "cpu", 60, &job));
    assert_true(clock_ms_since(start_ns) >= 60);
    struct waiter waiter;
    start_waiter(&waiter, suite.queue);
    queue_interrupt(suite.queue);
    pthread_join(waiter.thread, NULL);
    assert_false(waiter.got);
    assert_true(waiter.waited_ms < WAIT_MOST_MS / 2.0);
    suite_put("a");
    assert_true(suite_claim_with(suite.queue, "worker", "cpu", WAIT_MOST_MS, &job));
    queue_job_deinit(&job);
}
