/* Jobs put into a queue, judged by a worker of this process: what becomes of which. */
#include "worker/internal.h"

#include "../support/judging.h"
#include "../support/test.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "judge/request/judge_settings.h"
#include "queue/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BOUND_MS 60000

static char *place, *url;
static struct settings settings;
static struct queue *queue;
static struct paths_list search_paths;

static void assign(const char *assignment)
{
    struct err err;
    assert_ok(settings_assign(&settings, assignment, &err), &err);
}

FIXTURE(open_all)
{
    struct err err;
    place = support_directory();
    setenv("XDG_STATE_HOME", place, 1);
    judging_settings(&settings, place);
    assign("run.timeout_ms=20s");
    assign("run.threads=1");
    assign("worker.slots=2");
    assign("worker.heartbeat_ms=100ms");
    assign("queue.lease_ms=1s");
    assign("gpu.driver=/nonexistent/libcuda.so");
    assert_ok(paths_problems("", &search_paths, &err), &err);
    return 0;
}

FIXTURE(close_all)
{
    paths_list_deinit(&search_paths);
    settings_deinit(&settings);
    return 0;
}

TEST_GROUP(open_all, close_all);

/* A queue of its own for each test. */
FIXTURE(open_queue)
{
    static int count;
    struct queue_options options;
    struct err err;
    url = mem_printf("sqlite:%s/%d.db", place, count++);
    queue_options_read(&options, &settings);
    assert_ok(queue_open(&queue, url, &options, &err), &err);
    return 0;
}

FIXTURE(close_queue)
{
    queue_close(queue);
    mem_free(url);
    return 0;
}

TEST_EACH(open_queue, close_queue);

static struct worker *start(const char *name)
{
    struct worker_options options = {.settings = &settings,
                                     .queue = queue,
                                     .search_paths = &search_paths,
                                     .name = name};
    struct worker *worker;
    struct err err;
    assert_ok(worker_start(&worker, &options, &err), &err);
    return worker;
}

static void stop(struct worker *worker, int64_t timeout_ms)
{
    worker_drain(worker, timeout_ms);
    worker_free(worker);
}

static void put(const char *id, const char *payload)
{
    struct queue_submission submission = {.id = id,
                                          .needs = "cpu",
                                          .priority = QUEUE_NORMAL,
                                          .payload = payload,
                                          .payload_bytes = strlen(payload)};
    struct err err;
    assert_ok(queue_put(queue, &submission, 1, &err), &err);
}

static void get(const char *id, struct queue_job *job)
{
    struct err err;
    if (queue_get(queue, id, QUEUE_RESULT, job, &err) < 0)
        fail_msg("%s: %s", id, err.text);
}

/* The job once it is in that state; fails after a minute. */
static void wait_for(const char *id, enum queue_state state, struct queue_job *job)
{
    int64_t start_ns = clock_now_ns();
    get(id, job);
    while (job->state != state && clock_ms_since(start_ns) < BOUND_MS) {
        queue_job_deinit(job);
        support_pause(5);
        get(id, job);
    }
    if (job->state != state)
        fail_msg("%s is %s: %s", id, queue_state_name(job->state), job->reason);
}

static json_t *verdict_of(const struct queue_job *job)
{
    json_t *verdict = NULL;
    if (!job->result || json_parse("verdict", job->result, job->result_bytes, &verdict, NULL) < 0)
        fail_msg("%s has no verdict", job->id);
    return verdict;
}

/* What is asked, how it ends, and a word of why. */
static const struct {
    const char *id, *payload, *outcome, *says;
} rows[] = {
    {"right", DOUBLE_REQUEST(DOUBLE_RIGHT, ""), "passed", NULL},
    {"wrong",
     DOUBLE_REQUEST("#include <stddef.h>\\nvoid solution(const float *x, float *y, size_t n) {}",
                    ""),
     "wrong", "elements are wrong"},
    {"broken", DOUBLE_REQUEST("int broken", ""), "compile_error", NULL},
    {"known",
     "{\"problem\": {\"id\": \"relu\"}, \"candidate\": {\"source\": \"x\"}, \"timing\": false}",
     "compile_error", NULL},
    {"unknown", "{\"problem\": {\"id\": \"reluu\"}, \"candidate\": {\"source\": \"x\"}}",
     "infrastructure_error", "reluu"}, /* the server had it */
    {"another",
     "{\"problem\": {\"id\": \"relu\", \"hash\": \"0123456789abcdef\"}, "
     "\"candidate\": {\"source\": \"x\"}}",
     "infrastructure_error", "0123456789ab is wanted"},
    {"late", DOUBLE_REQUEST(DOUBLE_ENDLESS, ", \"timeout_ms\": 300"), "timeout",
     "longer than it was given"},
    {"slow call", DOUBLE_REQUEST(DOUBLE_ENDLESS, ", \"settings\": {\"run.timeout_ms\": \"200ms\"}"),
     "timeout", "one call took longer"},
    {"refused", "{\"refused\": \"not today\"}", "unsupported", "not today"},
    {"no request", "{\"problem\": 3}", "unsupported", "problem"},
    {"no JSON", "\xff{", "unsupported", "request"},
    {"empty", "", "unsupported", "request"},
};

TEST(outcomes)
{
    size_t count = COUNT(rows);
    for (size_t i = 0; i < count; i++)
        put(rows[i].id, rows[i].payload);
    struct worker *worker = start(NULL);
    for (size_t i = 0; i < count; i++) {
        struct queue_job job;
        wait_for(rows[i].id, QUEUE_DONE, &job);
        json_t *verdict = verdict_of(&job);
        const char *message = json_string_value(
            json_object_get(json_object_get(verdict, "error"), "message"));
        if (strcmp(job.outcome, rows[i].outcome) != 0 ||
            (rows[i].says && !(message && strstr(message, rows[i].says))))
            fail_msg("%s: %s: %s", rows[i].id, job.outcome, message);
        assert_string_equal(json_string_value(json_object_get(verdict, "status")), job.outcome);
        assert_string_equal(json_string_value(json_object_get(verdict, "id")), rows[i].id);
        json_decref(verdict);
        queue_job_deinit(&job);
    }
    stop(worker, BOUND_MS);
}

/* One that runs, one that waits behind it. */
TEST(cancel)
{
    struct worker *worker = start(NULL);
    struct queue_job job;
    enum queue_state then;
    put("endless", DOUBLE_REQUEST(DOUBLE_ENDLESS, ""));
    wait_for("endless", QUEUE_RUNNING, &job);
    queue_job_deinit(&job);
    int64_t start_ns = clock_now_ns();
    assert_int_equal(queue_cancel(queue, "endless", &then, NULL), 0);
    assert_int_equal(then, QUEUE_RUNNING);
    wait_for("endless", QUEUE_CANCELLED, &job);
    if (clock_ms_since(start_ns) > (double)run_settings(&settings)->timeout_ms)
        fail_msg("it ran until its call's limit");
    queue_job_deinit(&job);
    put("right", DOUBLE_REQUEST(DOUBLE_RIGHT, ""));
    wait_for("right", QUEUE_DONE, &job);
    assert_string_equal(job.outcome, "passed");
    queue_job_deinit(&job);
    stop(worker, BOUND_MS);
}

/* A worker that stops returns what it can't end; that does not count as an attempt. */
TEST(drain)
{
    struct worker *worker = start(NULL);
    struct queue_job job;
    put("endless", DOUBLE_REQUEST(DOUBLE_ENDLESS, ""));
    wait_for("endless", QUEUE_RUNNING, &job);
    assert_string_equal(job.worker, worker_name(worker));
    queue_job_deinit(&job);
    stop(worker, 100);
    get("endless", &job);
    assert_int_equal(job.state, QUEUE_QUEUED);
    assert_int_equal(job.attempt, 0);
    queue_job_deinit(&job);
}

static bool is_busy(struct worker *worker)
{
    bool busy = false;
    pthread_mutex_lock(&worker->lock);
    for (size_t i = 0; i < worker->slot_count; i++)
        busy = busy || worker->slots[i].busy;
    pthread_mutex_unlock(&worker->lock);
    return busy;
}

/* A job that is claimed and in no slot yet goes back at once: wait until it has its slot. */
TEST(drain_waits)
{
    struct worker *worker = start(NULL);
    struct queue_job job;
    put("late", DOUBLE_REQUEST(DOUBLE_ENDLESS, ", \"settings\": {\"run.timeout_ms\": \"700ms\"}"));
    wait_for("late", QUEUE_RUNNING, &job);
    queue_job_deinit(&job);
    while (!is_busy(worker))
        support_pause(1);
    stop(worker, BOUND_MS);
    get("late", &job);
    assert_int_equal(job.state, QUEUE_DONE);
    assert_string_equal(job.outcome, "timeout");
    queue_job_deinit(&job);
}

/* A lease that is renewed lasts longer than it says. */
TEST(lease)
{
    struct worker *worker = start(NULL);
    struct queue_job job;
    put("long", DOUBLE_REQUEST(DOUBLE_ENDLESS, ", \"settings\": {\"run.timeout_ms\": \"3500ms\"}"));
    wait_for("long", QUEUE_DONE, &job);
    assert_string_equal(job.outcome, "timeout");
    assert_int_equal(job.attempt, 1);
    queue_job_deinit(&job);
    stop(worker, BOUND_MS);
}

static bool is_registered(const char *name, json_t **note)
{
    struct queue_registration *notes;
    size_t count;
    struct err err;
    *note = NULL;
    if (queue_registrations(queue, &notes, &count, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++)
        if (strcmp(notes[i].name, name) == 0 &&
            json_parse("note", notes[i].bytes, notes[i].count, note, &err) < 0)
            fail_msg("%s", err.text);
    queue_registrations_free(notes, count);
    return *note != NULL;
}

TEST(note)
{
    struct worker *worker = start("bench one");
    int64_t start_ns = clock_now_ns();
    json_t *note;
    while (!is_registered("bench one", &note) && clock_ms_since(start_ns) < BOUND_MS)
        support_pause(5);
    assert_non_null(note);
    assert_string_equal(json_string_value(json_object_get(note, "name")), "bench one");
    json_t *claims = json_object_get(note, "claims");
    assert_int_equal(json_array_size(claims), 2);
    assert_string_equal(json_string_value(json_array_get(claims, 0)), "any");
    json_t *device = json_array_get(json_object_get(note, "devices"), 0);
    assert_string_equal(json_string_value(json_object_get(device, "kind")), "cpu");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(note, "jobs"), "slots")),
                     2);
    json_decref(note);
    stop(worker, BOUND_MS);
    assert_false(is_registered("bench one", &note));
}

/* The longest ids, of characters that JSON writes with six bytes each. */
TEST_WITH(a_registration_fits, NULL, NULL)
{
    struct judge_options options = {.settings = &settings};
    struct worker worker = {.options = {.settings = &settings}, .slot_count = 1024};
    snprintf(worker.name, sizeof worker.name, "many");
    assert_int_equal(judge_open(&worker.judge, &options, NULL), 0);
    pthread_mutex_init(&worker.lock, NULL);
    worker.slots = mem_alloc(worker.slot_count * sizeof *worker.slots);
    for (size_t i = 0; i < worker.slot_count; i++) {
        worker.slots[i].busy = true;
        memset(worker.slots[i].job.id, '\"', LIMIT_JOB_ID_BYTES);
    }
    json_t *note = worker_registration(&worker);
    assert_non_null(note);
    assert_in_range(json_dumpb(note, NULL, 0, JSON_COMPACT), 1, LIMIT_QUEUE_REGISTRATION_BYTES);
    const json_t *jobs = json_object_get(note, "jobs");
    assert_int_equal(json_integer_value(json_object_get(jobs, "running")), 1024);
    assert_in_range(json_array_size(json_object_get(jobs, "ids")), 1, 1024);
    json_decref(note);
    mem_free(worker.slots);
    pthread_mutex_destroy(&worker.lock);
    judge_close(worker.judge);
}
