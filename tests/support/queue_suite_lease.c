#include "base/array.h"
#include "queue_suite_parts.h"

#include <stdio.h>
#include <string.h>

SUITE_TEST(the_first_result_wins)
{
    suite_put("a");
    struct queue_job job = suite_claim("a");
    assert_int_equal(suite_finish(&job, "passed", "result"), QUEUE_FINISHED);
    assert_int_equal(suite_finish(&job, "passed", "result"), QUEUE_REPEATED);
    assert_int_equal(suite_finish(&job, "passed", "another"), QUEUE_REFUSED);
    assert_int_equal(suite_finish(&job, "wrong", "result"), QUEUE_REFUSED);
    assert_int_equal(suite_renew(&job), QUEUE_LOST);
    suite_ok(queue_fail(suite.queue, &job, "no longer mine", true, &suite.err));
    struct queue_job done;
    suite_ok(queue_get(suite.queue, "a", QUEUE_RESULT, &done, &suite.err));
    assert_int_equal(done.state, QUEUE_DONE);
    assert_string_equal(done.outcome, "passed");
    assert_string_equal(done.result, "result");
    assert_true(done.ended_ms >= done.claimed_ms);
    queue_job_deinit(&done);
}

SUITE_TEST(only_who_claimed_may_finish)
{
    suite_put("a");
    struct queue_job job = suite_get("a");
    assert_int_equal(suite_finish(&job, "passed", ""), QUEUE_REFUSED);
    job.claims = 5;
    assert_int_equal(suite_finish(&job, "passed", ""), QUEUE_REFUSED);
    snprintf(job.id, sizeof job.id, "b");
    assert_int_equal(suite_finish(&job, "passed", ""), QUEUE_REFUSED);
    assert_int_equal(suite_renew(&job), QUEUE_LOST);
    assert_int_equal(suite_get("a").state, QUEUE_QUEUED);
}

SUITE_TEST(a_lost_lease_puts_the_job_back)
{
    struct queue_options options = {.lease_ms = 60000, .attempts = 3};
    suite_reopen(&options);
    suite_put("a");
    suite_put("b");
    struct queue_job first = suite_claim("a");
    suite.place->age(40000);
    assert_int_equal(suite_renew(&first), QUEUE_HELD);
    suite.place->age(40000);
    assert_int_equal(suite_reap().returned, 0);
    suite.place->age(40000);
    struct queue_reaping reaping = suite_reap();
    assert_int_equal(reaping.returned, 1);
    assert_int_equal(reaping.lost, 0);
    assert_int_equal(suite_renew(&first), QUEUE_LOST);
    struct queue_job job = suite_get("a");
    assert_int_equal(job.state, QUEUE_QUEUED);
    assert_non_null(strstr(job.reason, "attempt 1 was lost: worker worker"));
    /* Before b, which came later. */
    struct queue_job second = suite_claim("a");
    assert_int_equal(second.attempt, 2);
    assert_int_equal(second.claims, 2);
    /* The first worker was slow, not dead, and is first. */
    assert_int_equal(suite_finish(&first, "passed", "slow"), QUEUE_FINISHED);
    assert_int_equal(suite_renew(&second), QUEUE_LOST);
    assert_int_equal(suite_finish(&second, "passed", "fast"), QUEUE_REFUSED);
    suite_claim("b");
    suite_assert_nothing_to_claim();
}

SUITE_TEST(a_result_for_a_job_that_was_put_back)
{
    suite_put("a");
    struct queue_job job = suite_claim("a");
    suite.place->age(70000);
    assert_int_equal(suite_reap().returned, 1);
    assert_int_equal(suite_finish(&job, "passed", "slow"), QUEUE_FINISHED);
    suite_assert_nothing_to_claim();
    assert_int_equal(suite_get("a").state, QUEUE_DONE);
}

SUITE_TEST(attempts_run_out)
{
    suite_put("lost");
    for (int attempt = 1; attempt <= 3; attempt++) {
        struct queue_job job = suite_claim("lost");
        assert_int_equal(job.attempt, attempt);
        suite.place->age(70000);
        struct queue_reaping reaping = suite_reap();
        assert_int_equal(reaping.returned, attempt < 3);
        assert_int_equal(reaping.lost, attempt == 3);
    }
    struct queue_job job = suite_get("lost");
    assert_int_equal(job.state, QUEUE_DONE);
    assert_string_equal(job.outcome, QUEUE_LOST_OUTCOME);
    assert_non_null(strstr(job.reason, "no attempts left"));
    suite_put("failed");
    for (int attempt = 1; attempt <= 3; attempt++) {
        job = suite_claim("failed");
        suite_ok(queue_fail(suite.queue, &job, "the GPU fell off", true, &suite.err));
    }
    job = suite_get("failed");
    assert_int_equal(job.state, QUEUE_DONE);
    assert_string_equal(job.outcome, QUEUE_LOST_OUTCOME);
    assert_non_null(strstr(job.reason, "the GPU fell off"));
    struct queue_stats stats;
    suite_ok(queue_stats(suite.queue, &stats, &suite.err));
    assert_int_equal(stats.lost_leases, 3);
}

SUITE_TEST(a_drained_job_keeps_place_and_attempts)
{
    suite_put("a");
    suite_put("b");
    suite_put("c");
    struct queue_job jobs[] = {suite_claim("a"), suite_claim("b")};
    suite_ok(queue_fail(suite.queue, &jobs[1], "draining", false, &suite.err));
    suite_ok(queue_fail(suite.queue, &jobs[0], "draining", false, &suite.err));
    assert_string_equal(suite_get("a").reason, "draining");
    assert_int_equal(suite_get("a").attempt, 0);
    for (int i = 0; i < 10; i++) {
        struct queue_job job = suite_claim("a");
        assert_int_equal(job.attempt, 1);
        assert_int_equal(job.claims, i + 2);
        suite_ok(queue_fail(suite.queue, &job, NULL, false, &suite.err));
        suite_ok(queue_fail(suite.queue, &job, NULL, true, &suite.err));
    }
    suite_claim("a");
    suite_claim("b");
    suite_claim("c");
}

SUITE_TEST(renewing_many)
{
    suite_put("a");
    suite_put("b");
    suite_put("c");
    struct queue_job jobs[] = {suite_claim("a"), suite_claim("b"), suite_claim("c")};
    const struct queue_job *all[] = {&jobs[0], &jobs[1], &jobs[2]};
    enum queue_lease_state lease_states[3];
    suite_finish(&jobs[0], "passed", "");
    assert_int_equal(suite_cancel("b"), QUEUE_RUNNING);
    assert_int_equal(queue_renew(suite.queue, all, 3, 3600001, lease_states, &suite.err),
                     ERR_INPUT);
    suite_ok(queue_renew(suite.queue, all, 3, 3600000, lease_states, &suite.err));
    assert_int_equal(lease_states[0], QUEUE_LOST);
    assert_int_equal(lease_states[1], QUEUE_CANCEL_REQUESTED);
    assert_int_equal(lease_states[2], QUEUE_HELD);
    suite.place->age(3500000);
    assert_int_equal(suite_reap().returned, 0);
}

SUITE_TEST(cancelling)
{
    enum queue_state unused;
    suite_put("queued");
    assert_int_equal(suite_cancel("queued"), QUEUE_CANCELLED);
    assert_int_equal(suite_cancel("queued"), QUEUE_CANCELLED);
    assert_string_equal(suite_get("queued").outcome, QUEUE_CANCELLED_OUTCOME);
    suite_assert_nothing_to_claim();
    assert_int_equal(queue_cancel(suite.queue, "absent", &unused, &suite.err), ERR_MISSING);

    static const struct {
        const char *id;
        enum { ENDS_CANCELLED, ENDS_PASSED, IS_LOST, IS_HANDED_BACK } then;
        enum queue_state state;
    } rows[] = {{"obeys", ENDS_CANCELLED, QUEUE_CANCELLED},
                {"too late", ENDS_PASSED, QUEUE_DONE},
                {"dies", IS_LOST, QUEUE_CANCELLED},
                {"drains", IS_HANDED_BACK, QUEUE_CANCELLED}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        suite_put(rows[i].id);
        struct queue_job job = suite_claim(rows[i].id);
        assert_int_equal(suite_cancel(rows[i].id), QUEUE_RUNNING);
        assert_int_equal(suite_cancel(rows[i].id), QUEUE_RUNNING);
        assert_true(suite_get(rows[i].id).cancel_requested);
        assert_int_equal(suite_renew(&job), QUEUE_CANCEL_REQUESTED);
        if (rows[i].then == ENDS_CANCELLED || rows[i].then == ENDS_PASSED)
            suite_finish(&job, rows[i].then == ENDS_PASSED ? "passed" : QUEUE_CANCELLED_OUTCOME,
                         "");
        else if (rows[i].then == IS_HANDED_BACK)
            suite_ok(queue_fail(suite.queue, &job, "draining", false, &suite.err));
        else {
            suite.place->age(70000);
            assert_int_equal(suite_reap().lost, 1);
        }
        assert_int_equal(suite_get(rows[i].id).state, rows[i].state);
        assert_int_equal(suite_cancel(rows[i].id), rows[i].state);
        suite_assert_nothing_to_claim();
    }
}

SUITE_TEST(a_returned_job_can_be_cancelled)
{
    suite_put("a");
    struct queue_job job = suite_claim("a");
    suite_ok(queue_fail(suite.queue, &job, "draining", false, &suite.err));
    assert_int_equal(suite_cancel("a"), QUEUE_CANCELLED);
    suite_assert_nothing_to_claim();
    assert_int_equal(suite_finish(&job, "passed", "late"), QUEUE_REFUSED);
}
