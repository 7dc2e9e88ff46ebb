#include "queue_suite.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PATIENCE_MS 30000 /* no slow machine reaches it */

static const struct queue_place *place;
static const char *url;
static struct queue *queue;
static struct err err;

#define ok(call)                                                                                   \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            fail_msg("%s: %s", #call, err.text);                                                   \
    } while (0)

struct queue *queue_suite_open(const struct queue_place *where, const char *address,
                               const struct queue_options *options)
{
    struct queue_options with = options ? *options : (struct queue_options){0};
    struct queue *opened;
    with.clock = where->clock;
    ok(queue_open(&opened, address, &with, &err));
    return opened;
}

static int set_up(void **state)
{
    (void)state;
    url = place->fresh();
    queue = queue_suite_open(place, url, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    queue_close(queue);
    return 0;
}

static void reopen(const struct queue_options *options)
{
    queue_close(queue);
    queue = queue_suite_open(place, url, options);
}

/* ------------------------------------------------------------------------------------ short forms */

static enum queue_putting put_full(const char *id, const char *batch, const char *needs,
                                   enum queue_priority priority, const char *payload, bool force)
{
    struct queue_submission one = {.id = id,
                                   .batch = batch,
                                   .needs = needs,
                                   .priority = priority,
                                   .payload = payload,
                                   .payload_bytes = strlen(payload),
                                   .force = force};
    ok(queue_put(queue, &one, 1, &err));
    assert_string_equal(one.put_id, id);
    return one.putting;
}

static enum queue_putting put(const char *id)
{
    return put_full(id, NULL, "cpu", QUEUE_NORMAL, id, false);
}

static bool claim_with(struct queue *from, const char *worker, const char *needs, int timeout_ms,
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
    ok(queue_claim(from, &claim, job, &got, &err));
    return got;
}

/* Claims what must be there; the bytes are dropped. */
static struct queue_job claim(const char *expected)
{
    struct queue_job job;
    assert_true(claim_with(queue, "worker", "cpu", 0, &job));
    assert_string_equal(job.id, expected);
    queue_job_deinit(&job);
    return job;
}

static void assert_nothing_to_claim(void)
{
    struct queue_job job;
    assert_false(claim_with(queue, "worker", "both", 0, &job));
}

static enum queue_finishing finish(const struct queue_job *job, const char *outcome,
                                   const char *bytes)
{
    enum queue_finishing finishing;
    struct queue_result result = {.outcome = outcome, .bytes = bytes, .count = strlen(bytes)};
    ok(queue_finish(queue, job, &result, &finishing, &err));
    return finishing;
}

static enum queue_standing renew(const struct queue_job *job)
{
    enum queue_standing standing;
    ok(queue_renew(queue, &job, 1, 0, &standing, &err));
    return standing;
}

static struct queue_job get(const char *id)
{
    struct queue_job job;
    ok(queue_get(queue, id, QUEUE_NO_BODIES, &job, &err));
    assert_null(job.payload);
    assert_null(job.result);
    return job;
}

static struct queue_reaping reap(void)
{
    struct queue_reaping reaping, all = {0};
    do {
        ok(queue_reap(queue, &reaping, &err));
        all.returned += reaping.returned;
        all.lost += reaping.lost;
        all.removed += reaping.removed;
    } while (reaping.more);
    return all;
}

static enum queue_state cancel(const char *id)
{
    enum queue_state state;
    ok(queue_cancel(queue, id, &state, &err));
    return state;
}

/* ---------------------------------------------------------------------------------------- putting */

static void test_put_and_get(void **state)
{
    (void)state;
    static const char payload[] = "a\0b\xff\n";
    struct queue_submission one = {.id = "é id \"with' things",
                                   .batch = "batch",
                                   .key = "key",
                                   .needs = "gpu",
                                   .priority = QUEUE_HIGH,
                                   .payload = payload,
                                   .payload_bytes = sizeof payload};
    struct queue_job job;
    ok(queue_put(queue, &one, 1, &err));
    assert_int_equal(one.putting, QUEUE_PUT_NEW);
    ok(queue_get(queue, one.id, QUEUE_PAYLOAD | QUEUE_RESULT, &job, &err));
    assert_string_equal(job.id, one.id);
    assert_string_equal(job.batch, "batch");
    assert_string_equal(job.key, "key");
    assert_string_equal(job.needs, "gpu");
    assert_int_equal(job.priority, QUEUE_HIGH);
    assert_int_equal(job.state, QUEUE_QUEUED);
    assert_true(job.sequence > 0);
    assert_int_equal(job.claims, 0);
    assert_int_equal(job.attempt, 0);
    assert_true(job.put_ms > 0);
    assert_int_equal(job.claimed_ms, 0);
    assert_int_equal(job.ended_ms, 0);
    assert_string_equal(job.outcome, "");
    assert_int_equal(job.payload_bytes, sizeof payload);
    assert_memory_equal(job.payload, payload, sizeof payload);
    assert_null(job.result);
    queue_job_deinit(&job);
    assert_int_equal(queue_get(queue, "nobody", 0, &job, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "nobody"));
}

static void test_made_ids_differ(void **state)
{
    (void)state;
    struct queue_submission two[2] = {{.needs = "cpu"}, {.needs = "cpu"}};
    ok(queue_put(queue, two, 2, &err));
    assert_int_equal(strlen(two[0].put_id), 32);
    assert_string_not_equal(two[0].put_id, two[1].put_id);
    struct queue_job job;
    ok(queue_get(queue, two[1].put_id, QUEUE_PAYLOAD, &job, &err));
    assert_int_equal(job.payload_bytes, 0);
    assert_non_null(job.payload);
    queue_job_deinit(&job);
}

static void test_an_id_in_flight_is_joined(void **state)
{
    (void)state;
    assert_int_equal(put("a"), QUEUE_PUT_NEW);
    int64_t sequence = get("a").sequence;
    assert_int_equal(put("a"), QUEUE_PUT_JOINED);
    struct queue_job job = claim("a");
    assert_int_equal(put_full("a", NULL, "cpu", QUEUE_LOW, "other", true), QUEUE_PUT_JOINED);
    assert_int_equal(job.sequence, sequence);
    assert_int_equal(get("a").payload_bytes, 1);
    struct queue_submission three[] = {{.id = "x", .needs = "cpu"},
                                       {.id = "x", .needs = "cpu"},
                                       {.id = "a", .needs = "cpu"}};
    ok(queue_put(queue, three, 3, &err));
    assert_int_equal(three[0].putting, QUEUE_PUT_NEW);
    assert_int_equal(three[1].putting, QUEUE_PUT_JOINED);
    assert_int_equal(three[2].putting, QUEUE_PUT_JOINED);
}

static void test_an_ended_id_answers_or_is_replaced(void **state)
{
    (void)state;
    put("a");
    struct queue_job old = claim("a");
    assert_int_equal(finish(&old, "passed", "first"), QUEUE_FINISHED);
    assert_int_equal(put("a"), QUEUE_PUT_ANSWERED);
    assert_int_equal(get("a").result_bytes, 5);
    assert_nothing_to_claim();
    assert_int_equal(put_full("a", NULL, "cpu", QUEUE_NORMAL, "new one", true), QUEUE_PUT_REPLACED);
    struct queue_job job = get("a");
    assert_int_equal(job.state, QUEUE_QUEUED);
    assert_true(job.sequence > old.sequence);
    assert_int_equal(job.result_bytes, 0);
    assert_int_equal(job.payload_bytes, 7);
    assert_int_equal(job.claims, 0);
    assert_string_equal(job.outcome, "");
    /* The old worker has nothing to say about the new job. */
    assert_int_equal(finish(&old, "wrong", "late"), QUEUE_REFUSED);
    assert_int_equal(renew(&old), QUEUE_LOST);
    job = claim("a");
    assert_int_equal(finish(&old, "wrong", "late"), QUEUE_REFUSED);
    assert_int_equal(finish(&job, "wrong", "second"), QUEUE_FINISHED);
}

static void test_a_known_result_ends_a_job_as_it_is_put(void **state)
{
    (void)state;
    struct queue_result known = {.outcome = "passed",
                                 .bytes = "verdict",
                                 .count = 7,
                                 .answers_key = true};
    struct queue_submission one = {.id = "a",
                                   .key = "k",
                                   .needs = "cpu",
                                   .payload = "p",
                                   .payload_bytes = 1,
                                   .result = &known};
    struct queue_job job;
    ok(queue_put(queue, &one, 1, &err));
    assert_int_equal(one.putting, QUEUE_PUT_NEW);
    assert_nothing_to_claim();
    ok(queue_find(queue, "k", QUEUE_RESULT, &job, &err));
    assert_int_equal(job.state, QUEUE_DONE);
    assert_string_equal(job.result, "verdict");
    assert_true(job.ended_ms > 0);
    queue_job_deinit(&job);
}

static char long_id[QUEUE_ID_BYTES + 1];

static void test_refused_arguments(void **state)
{
    (void)state;
    static char big[1];
    memset(long_id, 'x', QUEUE_ID_BYTES);
    const struct {
        struct queue_submission one;
        int code;
        const char *text;
    } rows[] = {
        {{.id = "", .needs = "cpu"}, ERR_INPUT, "id has 0 bytes"},
        {{.id = long_id, .needs = "cpu"}, ERR_INPUT, "256 bytes"},
        {{.id = "a\nb", .needs = "cpu"}, ERR_INPUT, "control character at byte 2"},
        {{.id = "a\xff", .needs = "cpu"}, ERR_INPUT, "UTF-8"},
        {{.batch = "", .needs = "cpu"}, ERR_INPUT, "batch"},
        {{.key = "\x7f", .needs = "cpu"}, ERR_INPUT, "key"},
        {{.needs = ""}, ERR_INPUT, "needs"},
        {{.needs = "CPU"}, ERR_INPUT, "CPU"},
        {{.needs = "c p"}, ERR_INPUT, "needs"},
        {{.needs = "abcdefghijklmnopqrstuvwxyz0123456789"}, ERR_INPUT, "needs"},
        {{.needs = "cpu", .priority = (enum queue_priority)4}, ERR_INPUT, "priority 4"},
        {{.needs = "cpu", .payload = big, .payload_bytes = LIMIT_QUEUE_BODY_BYTES + 1},
         ERR_LIMIT,
         "payload"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct queue_submission two[2] = {{.id = "fine", .needs = "cpu"}, rows[i].one};
        assert_int_equal(queue_put(queue, two, 2, &err), rows[i].code);
        assert_non_null(strstr(err.text, rows[i].text));
    }
    struct queue_job job;
    assert_int_equal(queue_get(queue, "fine", 0, &job, &err), ERR_MISSING);
    assert_int_equal(queue_get(queue, "", 0, &job, &err), ERR_INPUT);
    long_id[QUEUE_ID_BYTES - 1] = '\0';
    put(long_id);
    assert_string_equal(get(long_id).id, long_id);
}

static void test_the_largest_payload_and_result(void **state)
{
    (void)state;
    size_t count = LIMIT_QUEUE_BODY_BYTES;
    char *bytes = mem_alloc(count);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    struct queue_submission one = {.id = "big",
                                   .needs = "cpu",
                                   .payload = bytes,
                                   .payload_bytes = count};
    struct queue_job job;
    ok(queue_put(queue, &one, 1, &err));
    assert_true(claim_with(queue, "worker", "cpu", 0, &job));
    assert_int_equal(job.payload_bytes, count);
    assert_memory_equal(job.payload, bytes, count);
    struct queue_result result = {.outcome = "passed", .bytes = bytes, .count = count};
    enum queue_finishing finishing;
    ok(queue_finish(queue, &job, &result, &finishing, &err));
    queue_job_deinit(&job);
    ok(queue_get(queue, "big", QUEUE_RESULT, &job, &err));
    assert_int_equal(job.result_bytes, count);
    assert_memory_equal(job.result, bytes, count);
    queue_job_deinit(&job);
    mem_free(bytes);
}

/* --------------------------------------------------------------------------------------- claiming */

static void test_claims_follow_priority_then_order(void **state)
{
    (void)state;
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
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        put_full(jobs[i].id, NULL, jobs[i].needs, jobs[i].priority, jobs[i].id, false);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        struct queue_job job;
        bool got = claim_with(queue, "node 7", claims[i].needs, 0, &job);
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

static void test_refused_claims(void **state)
{
    (void)state;
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(queue_claim(queue, &rows[i], &job, &got, &err), ERR_INPUT);
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
    struct err problem;
    const char *needs[] = {"cpu"};
    struct queue_claim wanted = {.worker = "waiter",
                                 .needs = needs,
                                 .needs_count = 1,
                                 .timeout_ms = PATIENCE_MS};
    int64_t start_ns = clock_now_ns();
    waiter->started = true;
    if (queue_claim(waiter->from, &wanted, &waiter->job, &waiter->got, &problem) < 0)
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

static void test_a_put_wakes_a_claim(void **state)
{
    (void)state;
    struct queue *other = queue_suite_open(place, url, NULL);
    struct queue *from[] = {queue, other};
    for (int i = 0; i < 6; i++) {
        struct waiter waiter;
        start_waiter(&waiter, from[i % 2]);
        put_full(i < 4 ? "one" : "two", NULL, "cpu", QUEUE_NORMAL, "", true);
        pthread_join(waiter.thread, NULL);
        assert_true(waiter.got);
        assert_true(waiter.waited_ms < PATIENCE_MS / 2.0);
        finish(&waiter.job, "passed", "");
        queue_job_deinit(&waiter.job);
    }
    queue_close(other);
}

static void test_a_returned_job_wakes_a_claim(void **state)
{
    (void)state;
    struct waiter waiter;
    put("a");
    struct queue_job job = claim("a");
    start_waiter(&waiter, queue);
    ok(queue_fail(queue, &job, "draining", false, &err));
    pthread_join(waiter.thread, NULL);
    assert_true(waiter.got);
    queue_job_deinit(&waiter.job);
}

static void test_a_claim_ends_without_a_job(void **state)
{
    (void)state;
    struct queue_job job;
    int64_t start_ns = clock_now_ns();
    assert_false(claim_with(queue, "worker", "cpu", 60, &job));
    assert_true(clock_ms_since(start_ns) >= 60);
    struct waiter waiter;
    start_waiter(&waiter, queue);
    queue_interrupt(queue);
    pthread_join(waiter.thread, NULL);
    assert_false(waiter.got);
    assert_true(waiter.waited_ms < PATIENCE_MS / 2.0);
    put("a");
    assert_true(claim_with(queue, "worker", "cpu", PATIENCE_MS, &job));
    queue_job_deinit(&job);
}

/* ------------------------------------------------------------------------------ leases and results */

static void test_the_first_result_wins(void **state)
{
    (void)state;
    put("a");
    struct queue_job job = claim("a");
    assert_int_equal(finish(&job, "passed", "result"), QUEUE_FINISHED);
    assert_int_equal(finish(&job, "passed", "result"), QUEUE_REPEATED);
    assert_int_equal(finish(&job, "passed", "another"), QUEUE_REFUSED);
    assert_int_equal(finish(&job, "wrong", "result"), QUEUE_REFUSED);
    assert_int_equal(renew(&job), QUEUE_LOST);
    ok(queue_fail(queue, &job, "no longer mine", true, &err));
    struct queue_job done;
    ok(queue_get(queue, "a", QUEUE_RESULT, &done, &err));
    assert_int_equal(done.state, QUEUE_DONE);
    assert_string_equal(done.outcome, "passed");
    assert_string_equal(done.result, "result");
    assert_true(done.ended_ms >= done.claimed_ms);
    queue_job_deinit(&done);
}

static void test_only_who_claimed_may_finish(void **state)
{
    (void)state;
    put("a");
    struct queue_job job = get("a");
    assert_int_equal(finish(&job, "passed", ""), QUEUE_REFUSED);
    job.claims = 5;
    assert_int_equal(finish(&job, "passed", ""), QUEUE_REFUSED);
    snprintf(job.id, sizeof job.id, "b");
    assert_int_equal(finish(&job, "passed", ""), QUEUE_REFUSED);
    assert_int_equal(renew(&job), QUEUE_LOST);
    assert_int_equal(get("a").state, QUEUE_QUEUED);
}

static void test_a_lost_lease_puts_the_job_back(void **state)
{
    (void)state;
    struct queue_options options = {.lease_ms = 60000, .attempts = 3};
    reopen(&options);
    put("a");
    put("b");
    struct queue_job first = claim("a");
    place->age(40000);
    assert_int_equal(renew(&first), QUEUE_HELD);
    place->age(40000);
    assert_int_equal(reap().returned, 0);
    place->age(40000);
    struct queue_reaping reaping = reap();
    assert_int_equal(reaping.returned, 1);
    assert_int_equal(reaping.lost, 0);
    assert_int_equal(renew(&first), QUEUE_LOST);
    struct queue_job job = get("a");
    assert_int_equal(job.state, QUEUE_QUEUED);
    assert_non_null(strstr(job.reason, "attempt 1 was lost: worker worker"));
    /* Before b, which came later. */
    struct queue_job second = claim("a");
    assert_int_equal(second.attempt, 2);
    assert_int_equal(second.claims, 2);
    /* The first worker was slow, not dead, and is first. */
    assert_int_equal(finish(&first, "passed", "slow"), QUEUE_FINISHED);
    assert_int_equal(renew(&second), QUEUE_LOST);
    assert_int_equal(finish(&second, "passed", "fast"), QUEUE_REFUSED);
    claim("b");
    assert_nothing_to_claim();
}

static void test_a_result_for_a_job_that_was_put_back(void **state)
{
    (void)state;
    put("a");
    struct queue_job job = claim("a");
    place->age(70000);
    assert_int_equal(reap().returned, 1);
    assert_int_equal(finish(&job, "passed", "slow"), QUEUE_FINISHED);
    assert_nothing_to_claim();
    assert_int_equal(get("a").state, QUEUE_DONE);
}

static void test_attempts_run_out(void **state)
{
    (void)state;
    put("lost");
    for (int attempt = 1; attempt <= 3; attempt++) {
        struct queue_job job = claim("lost");
        assert_int_equal(job.attempt, attempt);
        place->age(70000);
        struct queue_reaping reaping = reap();
        assert_int_equal(reaping.returned, attempt < 3);
        assert_int_equal(reaping.lost, attempt == 3);
    }
    struct queue_job job = get("lost");
    assert_int_equal(job.state, QUEUE_DONE);
    assert_string_equal(job.outcome, QUEUE_LOST_OUTCOME);
    assert_non_null(strstr(job.reason, "no attempts left"));
    put("failed");
    for (int attempt = 1; attempt <= 3; attempt++) {
        job = claim("failed");
        ok(queue_fail(queue, &job, "the GPU fell off", true, &err));
    }
    job = get("failed");
    assert_int_equal(job.state, QUEUE_DONE);
    assert_string_equal(job.outcome, QUEUE_LOST_OUTCOME);
    assert_non_null(strstr(job.reason, "the GPU fell off"));
    struct queue_stats stats;
    ok(queue_stats(queue, &stats, &err));
    assert_int_equal(stats.lost_leases, 3);
}

static void test_a_drained_job_keeps_place_and_attempts(void **state)
{
    (void)state;
    put("a");
    put("b");
    put("c");
    struct queue_job jobs[] = {claim("a"), claim("b")};
    ok(queue_fail(queue, &jobs[1], "draining", false, &err));
    ok(queue_fail(queue, &jobs[0], "draining", false, &err));
    assert_string_equal(get("a").reason, "draining");
    assert_int_equal(get("a").attempt, 0);
    for (int i = 0; i < 10; i++) {
        struct queue_job job = claim("a");
        assert_int_equal(job.attempt, 1);
        assert_int_equal(job.claims, i + 2);
        ok(queue_fail(queue, &job, NULL, false, &err));
        ok(queue_fail(queue, &job, NULL, true, &err));
    }
    claim("a");
    claim("b");
    claim("c");
}

static void test_renewing_many(void **state)
{
    (void)state;
    put("a");
    put("b");
    put("c");
    struct queue_job jobs[] = {claim("a"), claim("b"), claim("c")};
    const struct queue_job *all[] = {&jobs[0], &jobs[1], &jobs[2]};
    enum queue_standing standings[3];
    finish(&jobs[0], "passed", "");
    assert_int_equal(cancel("b"), QUEUE_RUNNING);
    assert_int_equal(queue_renew(queue, all, 3, 3600001, standings, &err), ERR_INPUT);
    ok(queue_renew(queue, all, 3, 3600000, standings, &err));
    assert_int_equal(standings[0], QUEUE_LOST);
    assert_int_equal(standings[1], QUEUE_CANCEL_REQUESTED);
    assert_int_equal(standings[2], QUEUE_HELD);
    place->age(3500000);
    assert_int_equal(reap().returned, 0);
}

static void test_cancelling(void **state)
{
    (void)state;
    enum queue_state unused;
    put("queued");
    assert_int_equal(cancel("queued"), QUEUE_CANCELLED);
    assert_int_equal(cancel("queued"), QUEUE_CANCELLED);
    assert_string_equal(get("queued").outcome, QUEUE_CANCELLED_OUTCOME);
    assert_nothing_to_claim();
    assert_int_equal(queue_cancel(queue, "nobody", &unused, &err), ERR_MISSING);

    static const struct {
        const char *id;
        enum { ENDS_CANCELLED, ENDS_PASSED, IS_LOST, IS_HANDED_BACK } then;
        enum queue_state state;
    } rows[] = {{"obeys", ENDS_CANCELLED, QUEUE_CANCELLED},
                {"too late", ENDS_PASSED, QUEUE_DONE},
                {"dies", IS_LOST, QUEUE_CANCELLED},
                {"drains", IS_HANDED_BACK, QUEUE_CANCELLED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put(rows[i].id);
        struct queue_job job = claim(rows[i].id);
        assert_int_equal(cancel(rows[i].id), QUEUE_RUNNING);
        assert_int_equal(cancel(rows[i].id), QUEUE_RUNNING);
        assert_true(get(rows[i].id).cancel_asked);
        assert_int_equal(renew(&job), QUEUE_CANCEL_REQUESTED);
        if (rows[i].then == ENDS_CANCELLED || rows[i].then == ENDS_PASSED)
            finish(&job, rows[i].then == ENDS_PASSED ? "passed" : QUEUE_CANCELLED_OUTCOME, "");
        else if (rows[i].then == IS_HANDED_BACK)
            ok(queue_fail(queue, &job, "draining", false, &err));
        else {
            place->age(70000);
            assert_int_equal(reap().lost, 1);
        }
        assert_int_equal(get(rows[i].id).state, rows[i].state);
        assert_int_equal(cancel(rows[i].id), rows[i].state);
        assert_nothing_to_claim();
    }
}

static void test_a_returned_job_can_be_cancelled(void **state)
{
    (void)state;
    put("a");
    struct queue_job job = claim("a");
    ok(queue_fail(queue, &job, "draining", false, &err));
    assert_int_equal(cancel("a"), QUEUE_CANCELLED);
    assert_nothing_to_claim();
    assert_int_equal(finish(&job, "passed", "late"), QUEUE_REFUSED);
}

/* ---------------------------------------------------------------------------------------- reading */

static void test_lists(void **state)
{
    (void)state;
    char id[32];
    struct queue_job jobs[16];
    size_t count;
    for (int i = 0; i < 12; i++) {
        snprintf(id, sizeof id, "job %d", i);
        put_full(id, i % 3 ? "odd" : "even", "cpu", QUEUE_NORMAL, id, false);
    }
    struct queue_job first = claim("job 0");
    finish(&first, "passed", "r");
    claim("job 1");
    cancel("job 2");
    static const struct {
        int state;
        const char *batch;
        size_t count;
        const char *newest, *oldest;
    } rows[] = {{QUEUE_ANY_STATE, NULL, 12, "job 11", "job 0"},
                {QUEUE_ANY_STATE, "even", 4, "job 9", "job 0"},
                {QUEUE_ANY_STATE, "nobody", 0, NULL, NULL},
                {QUEUE_QUEUED, NULL, 9, "job 11", "job 3"},
                {QUEUE_QUEUED, "even", 3, "job 9", "job 3"},
                {QUEUE_RUNNING, NULL, 1, "job 1", "job 1"},
                {QUEUE_RUNNING, "even", 0, NULL, NULL},
                {QUEUE_DONE, NULL, 1, "job 0", "job 0"},
                {QUEUE_DONE, "even", 1, "job 0", "job 0"},
                {QUEUE_CANCELLED, "odd", 1, "job 2", "job 2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct queue_filter filter = {.state = rows[i].state, .batch = rows[i].batch};
        ok(queue_list(queue, &filter, jobs, 16, &count, &err));
        assert_int_equal(count, rows[i].count);
        if (count == 0)
            continue;
        assert_string_equal(jobs[0].id, rows[i].newest);
        assert_string_equal(jobs[count - 1].id, rows[i].oldest);
        assert_null(jobs[0].payload);
    }
}

static void test_pages(void **state)
{
    (void)state;
    char id[32];
    struct queue_job jobs[5];
    size_t count, seen = 0;
    struct queue_filter filter = {.state = QUEUE_ANY_STATE, .bodies = QUEUE_PAYLOAD};
    for (int i = 0; i < 12; i++) {
        snprintf(id, sizeof id, "job %d", i);
        put(id);
    }
    do {
        ok(queue_list(queue, &filter, jobs, 5, &count, &err));
        for (size_t i = 0; i < count; i++, seen++) {
            snprintf(id, sizeof id, "job %d", 11 - (int)seen);
            assert_string_equal(jobs[i].id, id);
            assert_string_equal(jobs[i].payload, id);
            filter.before = jobs[i].sequence;
            queue_job_deinit(&jobs[i]);
        }
    } while (count == 5);
    assert_int_equal(seen, 12);
    assert_int_equal(queue_list(queue, &filter, jobs, LIMIT_QUEUE_LIST_JOBS + 1, &count, &err),
                     ERR_LIMIT);
}

static void test_finding_by_key(void **state)
{
    (void)state;
    struct queue_job job;
    static const struct {
        const char *id;
        bool answers;
        const char *found;
    } rows[] = {{"a", false, NULL}, {"b", true, "b"}, {"c", true, "c"}, {"d", false, "c"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct queue_submission one = {.id = rows[i].id, .key = "k", .needs = "cpu"};
        struct queue_result result = {.outcome = "passed", .answers_key = rows[i].answers};
        enum queue_finishing finishing;
        ok(queue_put(queue, &one, 1, &err));
        struct queue_job taken = claim(rows[i].id);
        ok(queue_finish(queue, &taken, &result, &finishing, &err));
        int found = queue_find(queue, "k", QUEUE_RESULT, &job, &err);
        assert_int_equal(found, rows[i].found ? 0 : ERR_MISSING);
        if (rows[i].found)
            assert_string_equal(job.id, rows[i].found);
        queue_job_deinit(&job);
    }
    /* A job that runs again answers for nothing until it ended again. */
    put_full("c", NULL, "cpu", QUEUE_NORMAL, "", true);
    ok(queue_find(queue, "k", 0, &job, &err));
    assert_string_equal(job.id, "b");
    assert_int_equal(queue_find(queue, "other", 0, &job, &err), ERR_MISSING);
}

static uint64_t ended(const struct queue_stats *stats, const char *outcome)
{
    for (size_t i = 0; i < stats->ended_count; i++)
        if (strcmp(stats->ended[i].outcome, outcome) == 0)
            return stats->ended[i].count;
    return 0;
}

static void test_statistics(void **state)
{
    (void)state;
    struct queue_stats stats;
    ok(queue_stats(queue, &stats, &err));
    assert_int_equal(stats.running + stats.kept + stats.ended_count + stats.lost_leases, 0);
    put_full("a", NULL, "cpu", QUEUE_HIGH, "", false);
    put_full("b", NULL, "gpu", QUEUE_HIGH, "", false);
    put_full("c", NULL, "cpu", QUEUE_LOW, "", false);
    put_full("d", NULL, "cpu", QUEUE_LOW, "", false);
    cancel("d");
    struct queue_job job = claim("a");
    ok(queue_stats(queue, &stats, &err));
    assert_int_equal(stats.running, 1);
    assert_int_equal(stats.priorities[QUEUE_HIGH].depth, 1);
    assert_int_equal(stats.priorities[QUEUE_LOW].depth, 1);
    assert_int_equal(stats.priorities[QUEUE_NORMAL].depth, 0);
    assert_int_equal(stats.priorities[QUEUE_NORMAL].oldest_ms, 0);
    finish(&job, "passed", "");
    job = claim("c");
    finish(&job, "wrong", "");
    finish(&job, "passed", "");
    ok(queue_stats(queue, &stats, &err));
    assert_int_equal(stats.running, 0);
    assert_int_equal(stats.kept, 3);
    assert_int_equal(ended(&stats, "passed"), 1);
    assert_int_equal(ended(&stats, "wrong"), 1);
    assert_int_equal(ended(&stats, QUEUE_CANCELLED_OUTCOME), 1);
}

/* ------------------------------------------------------------------------------------ housekeeping */

static void end_many(int count, const char *result)
{
    char id[32];
    for (int i = 0; i < count; i++) {
        snprintf(id, sizeof id, "%d", i);
        put(id);
        struct queue_job job = claim(id);
        finish(&job, "passed", result);
    }
}

static void test_retention_by_count_and_size(void **state)
{
    (void)state;
    struct queue_job job;
    struct queue_options by_count = {.keep_jobs = 5};
    reopen(&by_count);
    end_many(9, "0123456789");
    put("waits");
    assert_int_equal(reap().removed, 4);
    assert_int_equal(reap().removed, 0);
    assert_int_equal(queue_get(queue, "3", 0, &job, &err), ERR_MISSING);
    assert_int_equal(get("4").state, QUEUE_DONE);
    assert_int_equal(put("0"), QUEUE_PUT_NEW);
    struct queue_options by_size = {.keep_bytes = 3 * 11};
    reopen(&by_size);
    assert_int_equal(reap().removed, 2);
    assert_int_equal(queue_get(queue, "5", 0, &job, &err), ERR_MISSING);
    assert_int_equal(get("6").state, QUEUE_DONE);
    assert_int_equal(get("waits").state, QUEUE_QUEUED);
    struct queue_stats stats;
    ok(queue_stats(queue, &stats, &err));
    assert_int_equal(stats.kept, 3);
}

static void test_retention_by_age(void **state)
{
    (void)state;
    struct queue_options options = {.keep_ms = 1};
    reopen(&options);
    end_many(700, "");
    put("waits");
    int64_t deadline_ns = clock_now_ns() + (int64_t)PATIENCE_MS * 1000000;
    uint64_t removed = 0;
    while (removed < 700 && clock_now_ns() < deadline_ns) {
        place->age(2);
        removed += reap().removed;
    }
    assert_int_equal(removed, 700);
    assert_int_equal(get("waits").state, QUEUE_QUEUED);
}

static void test_notes(void **state)
{
    (void)state;
    struct queue_note *notes;
    size_t count;
    static char big[LIMIT_QUEUE_NOTE_BYTES + 1];
    ok(queue_post(queue, "node b", "two\0words", 9, 60000, &err));
    ok(queue_post(queue, "node a", "one", 3, 10000, &err));
    ok(queue_post(queue, "node a", "1", 1, 10000, &err));
    ok(queue_post(queue, "node c", "three", 5, 60000, &err));
    ok(queue_post(queue, "node c", NULL, 0, 1, &err));
    assert_int_equal(queue_post(queue, "", "x", 1, 1, &err), ERR_INPUT);
    assert_int_equal(queue_post(queue, "x", "x", 1, 0, &err), ERR_INPUT);
    assert_int_equal(queue_post(queue, "x", big, sizeof big, 1, &err), ERR_LIMIT);
    ok(queue_notes(queue, &notes, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(notes[0].name, "node a");
    assert_string_equal(notes[0].bytes, "1");
    assert_int_equal(notes[1].count, 9);
    assert_memory_equal(notes[1].bytes, "two\0words", 9);
    queue_notes_free(notes, count);
    place->age(20000);
    reap();
    ok(queue_notes(queue, &notes, &count, &err));
    assert_int_equal(count, 1);
    assert_string_equal(notes[0].name, "node b");
    queue_notes_free(notes, count);
}

/* --------------------------------------------------------------------------------------- watchers */

struct seen {
    struct queue_watcher watcher; /* first */
    pthread_mutex_t lock;
    pthread_cond_t told;
    struct queue_event events[4096];
    size_t count, missed;
};

static void see(struct queue_watcher *watcher, const struct queue_event *events, size_t count)
{
    struct seen *seen = (struct seen *)watcher;
    pthread_mutex_lock(&seen->lock);
    seen->missed += count == 0;
    for (size_t i = 0; i < count && seen->count < 4096; i++)
        seen->events[seen->count++] = events[i];
    pthread_cond_broadcast(&seen->told);
    pthread_mutex_unlock(&seen->lock);
}

static struct seen *seen_new(struct queue *of)
{
    struct seen *seen = mem_alloc(sizeof *seen);
    pthread_mutex_init(&seen->lock, NULL);
    pthread_cond_init(&seen->told, NULL);
    seen->watcher.tell = see;
    queue_watch(of, &seen->watcher);
    return seen;
}

static void seen_free(struct seen *seen, struct queue *of)
{
    queue_unwatch(of, &seen->watcher);
    pthread_cond_destroy(&seen->told);
    pthread_mutex_destroy(&seen->lock);
    mem_free(seen);
}

static const struct queue_event *find_event(const struct seen *seen, const char *id,
                                            enum queue_state state)
{
    for (size_t i = 0; i < seen->count; i++)
        if (seen->events[i].state == state && strcmp(seen->events[i].id, id) == 0)
            return &seen->events[i];
    return NULL;
}

static struct queue_event await(struct seen *seen, const char *id, enum queue_state state)
{
    const struct queue_event *event = NULL;
    struct timespec until = clock_in_ms(PATIENCE_MS);
    int result = 0;
    pthread_mutex_lock(&seen->lock);
    while (!(event = find_event(seen, id, state)) && result == 0)
        result = pthread_cond_timedwait(&seen->told, &seen->lock, &until);
    struct queue_event copy = event ? *event : (struct queue_event){0};
    pthread_mutex_unlock(&seen->lock);
    if (!event)
        fail_msg("never told: %s is %s", id, queue_state_name(state));
    return copy;
}

static void test_watchers_are_told(void **state)
{
    (void)state;
    struct queue *other = queue_suite_open(place, url, NULL);
    struct seen *both[] = {seen_new(queue), seen_new(other)};
    put_full("a", "batch", "cpu", QUEUE_NORMAL, "", false);
    put("b");
    put("c");
    struct queue_job job = claim("a");
    finish(&job, "passed", "");
    job = claim("b");
    cancel("b");
    for (size_t i = 0; i < 2; i++) {
        struct queue_event event = await(both[i], "a", QUEUE_DONE);
        assert_string_equal(event.outcome, "passed");
        assert_string_equal(event.batch, "batch");
        await(both[i], "b", QUEUE_RUNNING);
    }
    ok(queue_fail(queue, &job, "draining", false, &err));
    cancel("c");
    for (size_t i = 0; i < 2; i++) {
        await(both[i], "b", QUEUE_CANCELLED);
        await(both[i], "c", QUEUE_CANCELLED);
        for (size_t k = 1; k < both[i]->count; k++)
            assert_true(both[i]->events[k].number > both[i]->events[k - 1].number);
        assert_int_equal(both[i]->missed, 0);
    }
    seen_free(both[0], queue);
    seen_free(both[1], other);
    queue_close(other);
}

/* A server whose feed is behind must not leave its clients waiting. */
static void test_no_end_is_missed(void **state)
{
    (void)state;
    struct queue_options options = {.keep_jobs = 1};
    reopen(&options);
    struct queue *other = queue_suite_open(place, url, NULL);
    struct seen *seen = seen_new(other);
    char id[32];
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "%d", i);
        put(id);
        struct queue_job job = claim(id);
        finish(&job, "passed", "");
        reap();
    }
    await(seen, "299", QUEUE_DONE);
    for (int i = 0; i < 300 && seen->missed == 0; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_non_null(find_event(seen, id, QUEUE_DONE));
    }
    seen_free(seen, other);
    queue_close(other);
}

/* -------------------------------------------------------------------------------------- many at once */

#define CROWD_JOBS 600

struct crowd {
    struct queue *handles[2];
    _Atomic int finished, refused, failures;
    _Atomic int runs[CROWD_JOBS];
};

struct member {
    struct crowd *crowd;
    int number;
};

static void *submit_some(void *argument)
{
    struct member *member = argument;
    struct err problem;
    for (int i = 0; i < CROWD_JOBS / 3; i++) {
        char id[32];
        snprintf(id, sizeof id, "%d", member->number * (CROWD_JOBS / 3) + i);
        struct queue_submission one = {.id = id,
                                       .needs = "cpu",
                                       .payload = id,
                                       .payload_bytes = strlen(id)};
        if (queue_put(member->crowd->handles[i % 2], &one, 1, &problem) < 0)
            member->crowd->failures++;
    }
    return NULL;
}

static void *work_some(void *argument)
{
    struct member *member = argument;
    struct crowd *crowd = member->crowd;
    struct queue *from = crowd->handles[member->number % 2];
    const char *needs[] = {"cpu"};
    struct queue_claim wanted = {.worker = "member",
                                 .needs = needs,
                                 .needs_count = 1,
                                 .timeout_ms = 50};
    while (crowd->finished < CROWD_JOBS && crowd->failures == 0) {
        struct queue_job job;
        struct err problem;
        bool got;
        enum queue_finishing finishing;
        if (queue_claim(from, &wanted, &job, &got, &problem) < 0) {
            crowd->failures++;
            break;
        }
        if (!got)
            continue;
        struct queue_result result = {.outcome = "passed",
                                      .bytes = job.payload,
                                      .count = job.payload_bytes};
        crowd->runs[strtol(job.payload, NULL, 10)]++;
        if (queue_finish(from, &job, &result, &finishing, &problem) < 0)
            crowd->failures++;
        else if (finishing == QUEUE_FINISHED)
            crowd->finished++;
        else
            crowd->refused++;
        queue_job_deinit(&job);
    }
    return NULL;
}

static void test_a_crowd(void **state)
{
    (void)state;
    struct crowd *crowd = mem_alloc(sizeof *crowd);
    pthread_t threads[11];
    struct member members[11];
    crowd->handles[0] = queue;
    crowd->handles[1] = queue_suite_open(place, url, NULL);
    for (int i = 0; i < 11; i++) {
        members[i] = (struct member){crowd, i < 3 ? i : i - 3};
        assert_int_equal(pthread_create(&threads[i], NULL, i < 3 ? submit_some : work_some,
                                        &members[i]),
                         0);
    }
    for (int i = 0; i < 11; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(crowd->failures, 0);
    assert_int_equal(crowd->finished, CROWD_JOBS);
    assert_int_equal(crowd->refused, 0);
    for (int i = 0; i < CROWD_JOBS; i++)
        assert_int_equal(crowd->runs[i], 1);
    queue_close(crowd->handles[1]);
    mem_free(crowd);
}

static void test_what_was_put_is_there_after_a_reopen(void **state)
{
    (void)state;
    put("a");
    put("b");
    struct queue_job job = claim("a");
    finish(&job, "passed", "result");
    reopen(NULL);
    ok(queue_probe(queue, &err));
    assert_int_equal(get("a").state, QUEUE_DONE);
    claim("b");
    assert_int_equal(put("a"), QUEUE_PUT_ANSWERED);
    assert_true(strncmp(queue_name(queue), place->name, strlen(place->name)) == 0);
}

int queue_suite_run(const struct queue_place *where)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_put_and_get),
        TEST(test_made_ids_differ),
        TEST(test_an_id_in_flight_is_joined),
        TEST(test_an_ended_id_answers_or_is_replaced),
        TEST(test_a_known_result_ends_a_job_as_it_is_put),
        TEST(test_refused_arguments),
        TEST(test_the_largest_payload_and_result),
        TEST(test_claims_follow_priority_then_order),
        TEST(test_refused_claims),
        TEST(test_a_put_wakes_a_claim),
        TEST(test_a_returned_job_wakes_a_claim),
        TEST(test_a_claim_ends_without_a_job),
        TEST(test_the_first_result_wins),
        TEST(test_only_who_claimed_may_finish),
        TEST(test_a_lost_lease_puts_the_job_back),
        TEST(test_a_result_for_a_job_that_was_put_back),
        TEST(test_attempts_run_out),
        TEST(test_a_drained_job_keeps_place_and_attempts),
        TEST(test_renewing_many),
        TEST(test_cancelling),
        TEST(test_a_returned_job_can_be_cancelled),
        TEST(test_lists),
        TEST(test_pages),
        TEST(test_finding_by_key),
        TEST(test_statistics),
        TEST(test_retention_by_count_and_size),
        TEST(test_retention_by_age),
        TEST(test_notes),
        TEST(test_watchers_are_told),
        TEST(test_no_end_is_missed),
        TEST(test_a_crowd),
        TEST(test_what_was_put_is_there_after_a_reopen),
    };
    place = where;
    return cmocka_run_group_tests_name(where->name, tests, NULL, NULL);
}
