/* Records that vanish, removed by hand or by a Redis that evicts keys: what else knows of a job
 * must neither stop the queue nor come back with the job's name. */
#include "../support/queue_suite_parts.h"
#include "../support/redis_server.h"

#include "base/log.h"

#include <stdlib.h>

#define SPAN_MS "86400001" /* what a pending entry is idle for when its lease is over */

static struct redis_server server;
static redisContext *control;

static const char *fresh(void)
{
    freeReplyObject(redis_server_ask(control, "FLUSHALL"));
    return server.url;
}

static const struct queue_place place = {"redis://", fresh, NULL, NULL};

static void vanish(const char *id)
{
    redisReply *reply = redis_server_ask(control, "DEL warpgym:job:%s", id);
    assert_int_equal(reply->integer, 1);
    freeReplyObject(reply);
}

static void vanish_first(int count)
{
    for (int i = 0; i < count; i++) {
        char id[32];
        snprintf(id, sizeof id, "%d", i);
        vanish(id);
    }
}

static long long number_of(const char *command)
{
    redisReply *reply = redis_server_ask(control, command);
    long long number = reply->type == REDIS_REPLY_INTEGER ? reply->integer
                       : reply->str                       ? strtoll(reply->str, NULL, 10)
                                                          : 0;
    freeReplyObject(reply);
    return number;
}

static struct queue_stats stats_of(void)
{
    struct queue_stats stats;
    suite_ok(queue_stats(suite.queue, &stats, &suite.err));
    return stats;
}

static void end_one(const char *id)
{
    suite_put_full(id, "batch", "cpu", QUEUE_NORMAL, id, false);
    struct queue_job job = suite_claim(id);
    suite_finish(&job, "passed", "0123456789");
}

static void end_many(int count)
{
    char id[32];
    for (int i = 0; i < count; i++) {
        snprintf(id, sizeof id, "%d", i);
        end_one(id);
    }
}

static void assert_listed(int state, const char *batch, size_t expected)
{
    struct queue_job jobs[16];
    size_t count;
    struct queue_filter filter = {.state = state, .batch = batch};
    suite_ok(queue_list(suite.queue, &filter, jobs, 16, &count, &suite.err));
    assert_int_equal(count, expected);
}

TEST_EACH(suite_set_up, suite_tear_down);

TEST(retention_by_count)
{
    struct queue_options options = {.keep_jobs = 4};
    suite_reopen(&options);
    end_many(9);
    vanish("0");
    vanish("2");
    vanish("8");
    assert_listed(QUEUE_ANY_STATE, NULL, 6);
    assert_int_equal(suite_reap().removed, 5);
    assert_int_equal(number_of("ZCARD warpgym:ended"), 4);
    assert_int_equal(number_of("ZCARD warpgym:all"), 4);
    assert_int_equal(number_of("ZCARD warpgym:state:2"), 4);
    assert_listed(QUEUE_ANY_STATE, NULL, 3);
    assert_listed(QUEUE_DONE, NULL, 3);
    assert_listed(QUEUE_ANY_STATE, "batch", 3);
    assert_int_equal(number_of("ZCARD warpgym:batch:batch"), 3);
    assert_int_equal(suite_get("5").state, QUEUE_DONE);
}

/* Their sizes are lost; those of the others still decide. */
TEST(retention_by_size)
{
    struct queue_options options = {.keep_bytes = 3 * 11};
    suite_reopen(&options);
    end_many(9);
    vanish_first(6);
    assert_int_equal(suite_reap().removed, 6);
    assert_int_equal(suite_get("6").state, QUEUE_DONE);
    assert_int_equal(number_of("HGET warpgym:meta kept_bytes"), 3 * 11);
}

TEST(retention_removes_a_bounded_number)
{
    struct queue_reaping reaping;
    struct queue_options options = {.keep_jobs = 1};
    suite_reopen(&options);
    end_many(700);
    vanish_first(699);
    suite_ok(queue_reap(suite.queue, &reaping, &suite.err));
    assert_true(reaping.more);
    assert_true(reaping.removed < 699);
    assert_int_equal(reaping.removed + suite_reap().removed, 699);
    assert_int_equal(suite_get("699").state, QUEUE_DONE);
}

TEST(answers_of_a_key)
{
    static const char *const ids[] = {"a", "b", "c"};
    struct queue_job job;
    for (size_t i = 0; i < COUNT(ids); i++) {
        struct queue_result known = {.outcome = "passed", .answers_key = true};
        struct queue_submission one = {.id = ids[i], .key = "k", .needs = "cpu", .result = &known};
        suite_ok(queue_put(suite.queue, &one, 1, &suite.err));
    }
    vanish("c");
    suite_ok(queue_find(suite.queue, "k", 0, &job, &suite.err));
    assert_string_equal(job.id, "b");
    /* Put anew, it has not ended yet. */
    vanish("b");
    assert_int_equal(suite_put("b"), QUEUE_PUT_NEW);
    suite_ok(queue_find(suite.queue, "k", 0, &job, &suite.err));
    assert_string_equal(job.id, "a");
    vanish("a");
    assert_int_equal(queue_find(suite.queue, "k", 0, &job, &suite.err), ERR_MISSING);
}

TEST(statistics)
{
    suite_put("a");
    suite_put("b");
    suite_put("c");
    suite_put_full("d", NULL, "gpu", QUEUE_LOW, "", false);
    vanish("a");
    vanish("b");
    vanish("d");
    struct queue_stats stats = stats_of();
    assert_int_equal(stats.priorities[QUEUE_NORMAL].depth, 1);
    assert_int_equal(stats.priorities[QUEUE_LOW].depth, 0);
    assert_int_equal(number_of("ZCARD warpgym:all"), 1);
    assert_int_equal(number_of("ZCARD warpgym:state:0"), 1);
    suite_claim("c");
    suite_assert_nothing_to_claim();
}

TEST(claims)
{
    suite_put("a");
    suite_put("b");
    vanish("a");
    suite_claim("b");
    vanish("b");
    suite_assert_nothing_to_claim();
    assert_int_equal(number_of("ZCARD warpgym:state:0"), 0);
    assert_int_equal(number_of("ZCARD warpgym:all"), 1);
}

TEST(leases)
{
    suite_put("a");
    struct queue_job job = suite_claim("a");
    vanish("a");
    assert_int_equal(suite_renew(&job), QUEUE_LOST);
    assert_int_equal(suite_finish(&job, "passed", ""), QUEUE_REFUSED);
    assert_int_equal(stats_of().running, 1);
    freeReplyObject(redis_server_ask(control, "XCLAIM warpgym:stream:2:cpu workers held 0 1-0 "
                                              "IDLE " SPAN_MS " JUSTID"));
    assert_int_equal(suite_reap().returned, 0);
    assert_int_equal(stats_of().running, 0);
    assert_int_equal(number_of("XLEN warpgym:stream:2:cpu"), 0);
    assert_int_equal(number_of("ZCARD warpgym:all"), 0);
}

/* Under the same name, whatever the old one was doing: it runs, once, and ends. */
TEST(submitted_anew)
{
    static const char *const needs[] = {"cpu", "gpu"};
    for (size_t i = 0; i < 2 * 3; i++) {
        struct queue_job job;
        fresh();
        suite_put("a");
        if (i / 2 > 0)
            job = suite_claim("a");
        if (i / 2 > 1)
            suite_finish(&job, "wrong", "");
        suite_put("b");
        vanish("a");
        suite_put_full("a", NULL, needs[i % 2], QUEUE_HIGH, "", false);
        assert_int_equal(stats_of().priorities[QUEUE_HIGH].depth, 1);
        assert_int_equal(stats_of().priorities[QUEUE_NORMAL].depth, 1);
        assert_true(suite_claim_with(suite.queue, "worker", "both", 0, &job));
        assert_string_equal(job.id, "a");
        queue_job_deinit(&job);
        assert_int_equal(stats_of().running, 1);
        assert_int_equal(suite_finish(&job, "passed", ""), QUEUE_FINISHED);
        suite_claim("b");
        suite_assert_nothing_to_claim();
        assert_listed(QUEUE_DONE, NULL, 1);
        assert_int_equal(stats_of().kept, 1);
    }
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    if (!redis_server_usable())
        return 0;
    redis_server_start(&server);
    control = redis_server_connect(&server);
    suite.place = &place;
    int result = tests_run();
    redisFree(control);
    redis_server_remove(&server);
    return result;
}
