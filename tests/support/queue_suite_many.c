#include "queue_suite_parts.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct seen {
    struct queue_watcher watcher; /* first */
    pthread_mutex_t lock;
    pthread_cond_t changed;
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
    pthread_cond_broadcast(&seen->changed);
    pthread_mutex_unlock(&seen->lock);
}

static struct seen *seen_new(struct queue *of)
{
    struct seen *seen = mem_alloc(sizeof *seen);
    pthread_mutex_init(&seen->lock, NULL);
    pthread_cond_init(&seen->changed, NULL);
    seen->watcher.on_events = see;
    queue_watch(of, &seen->watcher);
    return seen;
}

static void seen_free(struct seen *seen, struct queue *of)
{
    queue_unwatch(of, &seen->watcher);
    pthread_cond_destroy(&seen->changed);
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
    struct timespec until = clock_in_ms(WAIT_MOST_MS);
    int result = 0;
    pthread_mutex_lock(&seen->lock);
    while (!(event = find_event(seen, id, state)) && result == 0)
        result = pthread_cond_timedwait(&seen->changed, &seen->lock, &until);
    struct queue_event copy = event ? *event : (struct queue_event){0};
    pthread_mutex_unlock(&seen->lock);
    if (!event)
        fail_msg("never reported: %s is %s", id, queue_state_name(state));
    return copy;
}

SUITE_TEST(watchers_are_notified)
{
    struct queue *other = queue_suite_open(suite.place, suite.url, NULL);
    struct seen *both[] = {seen_new(suite.queue), seen_new(other)};
    suite_put_full("a", "batch", "cpu", QUEUE_NORMAL, "", false);
    suite_put("b");
    suite_put("c");
    struct queue_job job = suite_claim("a");
    suite_finish(&job, "passed", "");
    job = suite_claim("b");
    suite_cancel("b");
    for (size_t i = 0; i < 2; i++) {
        struct queue_event event = await(both[i], "a", QUEUE_DONE);
        assert_string_equal(event.outcome, "passed");
        assert_string_equal(event.batch, "batch");
        await(both[i], "b", QUEUE_RUNNING);
    }
    suite_ok(queue_fail(suite.queue, &job, "draining", false, &suite.err));
    suite_cancel("c");
    for (size_t i = 0; i < 2; i++) {
        await(both[i], "b", QUEUE_CANCELLED);
        await(both[i], "c", QUEUE_CANCELLED);
        for (size_t k = 1; k < both[i]->count; k++)
            assert_true(both[i]->events[k].number > both[i]->events[k - 1].number);
        assert_int_equal(both[i]->missed, 0);
    }
    seen_free(both[0], suite.queue);
    seen_free(both[1], other);
    queue_close(other);
}

/* A server whose feed is behind must not leave its clients waiting. */
SUITE_TEST(no_end_is_missed)
{
    struct queue_options options = {.keep_jobs = 1};
    suite_reopen(&options);
    struct queue *other = queue_suite_open(suite.place, suite.url, NULL);
    struct seen *seen = seen_new(other);
    char id[32];
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "%d", i);
        suite_put(id);
        struct queue_job job = suite_claim(id);
        suite_finish(&job, "passed", "");
        suite_reap();
    }
    await(seen, "299", QUEUE_DONE);
    for (int i = 0; i < 300 && seen->missed == 0; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_non_null(find_event(seen, id, QUEUE_DONE));
    }
    seen_free(seen, other);
    queue_close(other);
}

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
    for (int i = 0; i < CROWD_JOBS / 3; i++) {
        char id[32];
        snprintf(id, sizeof id, "%d", member->number * (CROWD_JOBS / 3) + i);
        struct queue_submission one = {.id = id,
                                       .needs = "cpu",
                                       .payload = id,
                                       .payload_bytes = strlen(id)};
        if (queue_put(member->crowd->handles[i % 2], &one, 1, NULL) < 0)
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
        bool got;
        enum queue_finish_result finish_result;
        if (queue_claim(from, &wanted, &job, &got, NULL) < 0) {
            crowd->failures++;
            break;
        }
        if (!got)
            continue;
        struct queue_result result = {.outcome = "passed",
                                      .bytes = job.payload,
                                      .count = job.payload_bytes};
        crowd->runs[strtol(job.payload, NULL, 10)]++;
        if (queue_finish(from, &job, &result, &finish_result, NULL) < 0)
            crowd->failures++;
        else if (finish_result == QUEUE_FINISHED)
            crowd->finished++;
        else
            crowd->refused++;
        queue_job_deinit(&job);
    }
    return NULL;
}

SUITE_TEST(a_crowd)
{
    struct crowd *crowd = mem_alloc(sizeof *crowd);
    pthread_t threads[11];
    struct member members[11];
    crowd->handles[0] = suite.queue;
    crowd->handles[1] = queue_suite_open(suite.place, suite.url, NULL);
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

SUITE_TEST(what_was_put_is_there_after_a_reopen)
{
    suite_put("a");
    suite_put("b");
    struct queue_job job = suite_claim("a");
    suite_finish(&job, "passed", "result");
    suite_reopen(NULL);
    suite_ok(queue_probe(suite.queue, &suite.err));
    assert_int_equal(suite_get("a").state, QUEUE_DONE);
    suite_claim("b");
    assert_int_equal(suite_put("a"), QUEUE_PUT_ANSWERED);
    assert_true(strncmp(queue_name(suite.queue), suite.place->name, strlen(suite.place->name)) ==
                0);
}
