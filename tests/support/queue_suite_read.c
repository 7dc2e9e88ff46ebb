#include "queue_suite_parts.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/limits.h"

#include <stdio.h>
#include <string.h>

SUITE_TEST(lists)
{
    char id[32];
    struct queue_job jobs[16];
    size_t count;
    for (int i = 0; i < 12; i++) {
        snprintf(id, sizeof id, "job %d", i);
        suite_put_full(id, i % 3 ? "odd" : "even", "cpu", QUEUE_NORMAL, id, false);
    }
    struct queue_job first = suite_claim("job 0");
    suite_finish(&first, "passed", "r");
    suite_claim("job 1");
    suite_cancel("job 2");
    static const struct {
        int state;
        const char *batch;
        size_t count;
        const char *newest, *oldest;
    } rows[] = {{QUEUE_ANY_STATE, NULL, 12, "job 11", "job 0"},
                {QUEUE_ANY_STATE, "even", 4, "job 9", "job 0"},
                {QUEUE_ANY_STATE, "absent", 0, NULL, NULL},
                {QUEUE_QUEUED, NULL, 9, "job 11", "job 3"},
                {QUEUE_QUEUED, "even", 3, "job 9", "job 3"},
                {QUEUE_RUNNING, NULL, 1, "job 1", "job 1"},
                {QUEUE_RUNNING, "even", 0, NULL, NULL},
                {QUEUE_DONE, NULL, 1, "job 0", "job 0"},
                {QUEUE_DONE, "even", 1, "job 0", "job 0"},
                {QUEUE_CANCELLED, "odd", 1, "job 2", "job 2"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct queue_filter filter = {.state = rows[i].state, .batch = rows[i].batch};
        suite_ok(queue_list(suite.queue, &filter, jobs, 16, &count, &suite.err));
        assert_int_equal(count, rows[i].count);
        if (count == 0)
            continue;
        assert_string_equal(jobs[0].id, rows[i].newest);
        assert_string_equal(jobs[count - 1].id, rows[i].oldest);
        assert_null(jobs[0].payload);
    }
}

SUITE_TEST(pages)
{
    char id[32];
    struct queue_job jobs[5];
    size_t count, seen = 0;
    struct queue_filter filter = {.state = QUEUE_ANY_STATE, .bodies = QUEUE_PAYLOAD};
    for (int i = 0; i < 12; i++) {
        snprintf(id, sizeof id, "job %d", i);
        suite_put(id);
    }
    do {
        suite_ok(queue_list(suite.queue, &filter, jobs, 5, &count, &suite.err));
        for (size_t i = 0; i < count; i++, seen++) {
            snprintf(id, sizeof id, "job %d", 11 - (int)seen);
            assert_string_equal(jobs[i].id, id);
            assert_string_equal(jobs[i].payload, id);
            filter.before = jobs[i].sequence;
            queue_job_deinit(&jobs[i]);
        }
    } while (count == 5);
    assert_int_equal(seen, 12);
    assert_int_equal(queue_list(suite.queue, &filter, jobs, LIMIT_QUEUE_LIST_JOBS + 1, &count,
                                &suite.err),
                     ERR_LIMIT);
}

SUITE_TEST(finding_by_key)
{
    struct queue_job job;
    static const struct {
        const char *id;
        bool answers;
        const char *found;
    } rows[] = {{"a", false, NULL}, {"b", true, "b"}, {"c", true, "c"}, {"d", false, "c"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct queue_submission one = {.id = rows[i].id, .key = "k", .needs = "cpu"};
        struct queue_result result = {.outcome = "passed", .answers_key = rows[i].answers};
        enum queue_finish_result finish_result;
        suite_ok(queue_put(suite.queue, &one, 1, &suite.err));
        struct queue_job taken = suite_claim(rows[i].id);
        suite_ok(queue_finish(suite.queue, &taken, &result, &finish_result, &suite.err));
        int found = queue_find(suite.queue, "k", QUEUE_RESULT, &job, &suite.err);
        assert_int_equal(found, rows[i].found ? 0 : ERR_MISSING);
        if (rows[i].found)
            assert_string_equal(job.id, rows[i].found);
        queue_job_deinit(&job);
    }
    /* A job that runs again answers for nothing until it ended again. */
    suite_put_full("c", NULL, "cpu", QUEUE_NORMAL, "", true);
    suite_ok(queue_find(suite.queue, "k", 0, &job, &suite.err));
    assert_string_equal(job.id, "b");
    assert_int_equal(queue_find(suite.queue, "other", 0, &job, &suite.err), ERR_MISSING);
}

static uint64_t ended(const struct queue_stats *stats, const char *outcome)
{
    for (size_t i = 0; i < stats->ended_count; i++)
        if (strcmp(stats->ended[i].outcome, outcome) == 0)
            return stats->ended[i].count;
    return 0;
}

SUITE_TEST(statistics)
{
    struct queue_stats stats;
    suite_ok(queue_stats(suite.queue, &stats, &suite.err));
    assert_int_equal(stats.running + stats.kept + stats.ended_count + stats.lost_leases, 0);
    suite_put_full("a", NULL, "cpu", QUEUE_HIGH, "", false);
    suite_put_full("b", NULL, "gpu", QUEUE_HIGH, "", false);
    suite_put_full("c", NULL, "cpu", QUEUE_LOW, "", false);
    suite_put_full("d", NULL, "cpu", QUEUE_LOW, "", false);
    suite_cancel("d");
    struct queue_job job = suite_claim("a");
    suite_ok(queue_stats(suite.queue, &stats, &suite.err));
    assert_int_equal(stats.running, 1);
    assert_int_equal(stats.priorities[QUEUE_HIGH].depth, 1);
    assert_int_equal(stats.priorities[QUEUE_LOW].depth, 1);
    assert_int_equal(stats.priorities[QUEUE_NORMAL].depth, 0);
    assert_int_equal(stats.priorities[QUEUE_NORMAL].oldest_ms, 0);
    suite_finish(&job, "passed", "");
    job = suite_claim("c");
    suite_finish(&job, "wrong", "");
    suite_finish(&job, "passed", "");
    suite_ok(queue_stats(suite.queue, &stats, &suite.err));
    assert_int_equal(stats.running, 0);
    assert_int_equal(stats.kept, 3);
    assert_int_equal(ended(&stats, "passed"), 1);
    assert_int_equal(ended(&stats, "wrong"), 1);
    assert_int_equal(ended(&stats, QUEUE_CANCELLED_OUTCOME), 1);
}

static void end_many(int count, const char *result)
{
    char id[32];
    for (int i = 0; i < count; i++) {
        snprintf(id, sizeof id, "%d", i);
        suite_put(id);
        struct queue_job job = suite_claim(id);
        suite_finish(&job, "passed", result);
    }
}

SUITE_TEST(retention_by_count_and_size)
{
    struct queue_job job;
    struct queue_options by_count = {.keep_jobs = 5};
    suite_reopen(&by_count);
    end_many(9, "0123456789");
    suite_put("waits");
    assert_int_equal(suite_reap().removed, 4);
    assert_int_equal(suite_reap().removed, 0);
    assert_int_equal(queue_get(suite.queue, "3", 0, &job, &suite.err), ERR_MISSING);
    assert_int_equal(suite_get("4").state, QUEUE_DONE);
    assert_int_equal(suite_put("0"), QUEUE_PUT_NEW);
    struct queue_options by_size = {.keep_bytes = 3 * 11};
    suite_reopen(&by_size);
    assert_int_equal(suite_reap().removed, 2);
    assert_int_equal(queue_get(suite.queue, "5", 0, &job, &suite.err), ERR_MISSING);
    assert_int_equal(suite_get("6").state, QUEUE_DONE);
    assert_int_equal(suite_get("waits").state, QUEUE_QUEUED);
    struct queue_stats stats;
    suite_ok(queue_stats(suite.queue, &stats, &suite.err));
    assert_int_equal(stats.kept, 3);
}

SUITE_TEST(retention_by_age)
{
    struct queue_options options = {.keep_ms = 1};
    suite_reopen(&options);
    end_many(700, "");
    suite_put("waits");
    int64_t deadline_ns = clock_now_ns() + (int64_t)WAIT_MOST_MS * 1000000;
    uint64_t removed = 0;
    while (removed < 700 && clock_now_ns() < deadline_ns) {
        suite.place->age(2);
        removed += suite_reap().removed;
    }
    assert_int_equal(removed, 700);
    assert_int_equal(suite_get("waits").state, QUEUE_QUEUED);
}

SUITE_TEST(registrations)
{
    struct queue_registration *registrations;
    size_t count;
    static char big[LIMIT_QUEUE_REGISTRATION_BYTES + 1];
    suite_ok(queue_register(suite.queue, "node b", "two\0words", 9, 60000, &suite.err));
    suite_ok(queue_register(suite.queue, "node a", "one", 3, 10000, &suite.err));
    suite_ok(queue_register(suite.queue, "node a", "1", 1, 10000, &suite.err));
    suite_ok(queue_register(suite.queue, "node c", "three", 5, 60000, &suite.err));
    suite_ok(queue_register(suite.queue, "node c", NULL, 0, 1, &suite.err));
    assert_int_equal(queue_register(suite.queue, "", "x", 1, 1, &suite.err), ERR_INPUT);
    assert_int_equal(queue_register(suite.queue, "x", "x", 1, 0, &suite.err), ERR_INPUT);
    assert_int_equal(queue_register(suite.queue, "x", big, sizeof big, 1, &suite.err), ERR_LIMIT);
    suite_ok(queue_registrations(suite.queue, &registrations, &count, &suite.err));
    assert_int_equal(count, 2);
    assert_string_equal(registrations[0].name, "node a");
    assert_string_equal(registrations[0].bytes, "1");
    assert_int_equal(registrations[1].count, 9);
    assert_memory_equal(registrations[1].bytes, "two\0words", 9);
    queue_registrations_free(registrations, count);
    suite.place->age(20000);
    suite_reap();
    suite_ok(queue_registrations(suite.queue, &registrations, &count, &suite.err));
    assert_int_equal(count, 1);
    assert_string_equal(registrations[0].name, "node b");
    queue_registrations_free(registrations, count);
}
