#include "queue_suite_parts.h"

#include "base/array.h"
#include "base/limits.h"
#include "base/mem.h"

#include <string.h>

SUITE_TEST(put_and_get)
{
    static const char payload[] = "a\0b\xff\n";
    struct queue_submission one = {.id = "é id \"with' things",
                                   .batch = "batch",
                                   .key = "key",
                                   .needs = "gpu",
                                   .priority = QUEUE_HIGH,
                                   .payload = payload,
                                   .payload_bytes = sizeof payload};
    struct queue_job job;
    suite_ok(queue_put(suite.queue, &one, 1, &suite.err));
    assert_int_equal(one.put_result, QUEUE_PUT_NEW);
    suite_ok(queue_get(suite.queue, one.id, QUEUE_PAYLOAD | QUEUE_RESULT, &job, &suite.err));
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
    assert_int_equal(queue_get(suite.queue, "absent", 0, &job, &suite.err), ERR_MISSING);
    assert_non_null(strstr(suite.err.text, "absent"));
}

SUITE_TEST(made_ids_differ)
{
    struct queue_submission two[2] = {{.needs = "cpu"}, {.needs = "cpu"}};
    suite_ok(queue_put(suite.queue, two, 2, &suite.err));
    assert_int_equal(strlen(two[0].put_id), 32);
    assert_string_not_equal(two[0].put_id, two[1].put_id);
    struct queue_job job;
    suite_ok(queue_get(suite.queue, two[1].put_id, QUEUE_PAYLOAD, &job, &suite.err));
    assert_int_equal(job.payload_bytes, 0);
    assert_non_null(job.payload);
    queue_job_deinit(&job);
}

SUITE_TEST(an_id_in_flight_is_joined)
{
    assert_int_equal(suite_put("a"), QUEUE_PUT_NEW);
    int64_t sequence = suite_get("a").sequence;
    assert_int_equal(suite_put("a"), QUEUE_PUT_JOINED);
    struct queue_job job = suite_claim("a");
    assert_int_equal(suite_put_full("a", NULL, "cpu", QUEUE_LOW, "other", true), QUEUE_PUT_JOINED);
    assert_int_equal(job.sequence, sequence);
    assert_int_equal(suite_get("a").payload_bytes, 1);
    struct queue_submission three[] = {{.id = "x", .needs = "cpu"},
                                       {.id = "x", .needs = "cpu"},
                                       {.id = "a", .needs = "cpu"}};
    suite_ok(queue_put(suite.queue, three, 3, &suite.err));
    assert_int_equal(three[0].put_result, QUEUE_PUT_NEW);
    assert_int_equal(three[1].put_result, QUEUE_PUT_JOINED);
    assert_int_equal(three[2].put_result, QUEUE_PUT_JOINED);
}

SUITE_TEST(an_ended_id_answers_or_is_replaced)
{
    suite_put("a");
    struct queue_job old = suite_claim("a");
    assert_int_equal(suite_finish(&old, "passed", "first"), QUEUE_FINISHED);
    assert_int_equal(suite_put("a"), QUEUE_PUT_ANSWERED);
    assert_int_equal(suite_get("a").result_bytes, 5);
    suite_assert_nothing_to_claim();
    assert_int_equal(suite_put_full("a", NULL, "cpu", QUEUE_NORMAL, "new one", true),
                     QUEUE_PUT_REPLACED);
    struct queue_job job = suite_get("a");
    assert_int_equal(job.state, QUEUE_QUEUED);
    assert_true(job.sequence > old.sequence);
    assert_int_equal(job.result_bytes, 0);
    assert_int_equal(job.payload_bytes, 7);
    assert_int_equal(job.claims, 0);
    assert_string_equal(job.outcome, "");
    /* The old worker has nothing to say about the new job. */
    assert_int_equal(suite_finish(&old, "wrong", "late"), QUEUE_REFUSED);
    assert_int_equal(suite_renew(&old), QUEUE_LOST);
    job = suite_claim("a");
    assert_int_equal(suite_finish(&old, "wrong", "late"), QUEUE_REFUSED);
    assert_int_equal(suite_finish(&job, "wrong", "second"), QUEUE_FINISHED);
}

SUITE_TEST(a_known_result_ends_a_job_as_it_is_put)
{
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
    suite_ok(queue_put(suite.queue, &one, 1, &suite.err));
    assert_int_equal(one.put_result, QUEUE_PUT_NEW);
    suite_assert_nothing_to_claim();
    suite_ok(queue_find(suite.queue, "k", QUEUE_RESULT, &job, &suite.err));
    assert_int_equal(job.state, QUEUE_DONE);
    assert_string_equal(job.result, "verdict");
    assert_true(job.ended_ms > 0);
    queue_job_deinit(&job);
}

static char long_id[QUEUE_ID_BYTES + 1];

SUITE_TEST(refused_arguments)
{
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
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct queue_submission two[2] = {{.id = "fine", .needs = "cpu"}, rows[i].one};
        assert_int_equal(queue_put(suite.queue, two, 2, &suite.err), rows[i].code);
        assert_non_null(strstr(suite.err.text, rows[i].text));
    }
    struct queue_job job;
    assert_int_equal(queue_get(suite.queue, "fine", 0, &job, &suite.err), ERR_MISSING);
    assert_int_equal(queue_get(suite.queue, "", 0, &job, &suite.err), ERR_INPUT);
    long_id[QUEUE_ID_BYTES - 1] = '\0';
    suite_put(long_id);
    assert_string_equal(suite_get(long_id).id, long_id);
}

SUITE_TEST(the_largest_payload_and_result)
{
    size_t count = LIMIT_QUEUE_BODY_BYTES;
    char *bytes = mem_alloc(count);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    struct queue_submission one = {.id = "big",
                                   .needs = "cpu",
                                   .payload = bytes,
                                   .payload_bytes = count};
    struct queue_job job;
    suite_ok(queue_put(suite.queue, &one, 1, &suite.err));
    assert_true(suite_claim_with(suite.queue, "worker", "cpu", 0, &job));
    assert_int_equal(job.payload_bytes, count);
    assert_memory_equal(job.payload, bytes, count);
    struct queue_result result = {.outcome = "passed", .bytes = bytes, .count = count};
    enum queue_finish_result finish_result;
    suite_ok(queue_finish(suite.queue, &job, &result, &finish_result, &suite.err));
    queue_job_deinit(&job);
    suite_ok(queue_get(suite.queue, "big", QUEUE_RESULT, &job, &suite.err));
    assert_int_equal(job.result_bytes, count);
    assert_memory_equal(job.result, bytes, count);
    queue_job_deinit(&job);
    mem_free(bytes);
}
