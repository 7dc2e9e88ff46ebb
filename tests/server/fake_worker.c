/* A worker for the tests of the server (tests/system/test_serve.py): it judges nothing, and ends
 * each job as the job's candidate says.
 *
 *   fake_worker QUEUE_URL NAME MODEL|cpu [LEASE_MS]
 *
 * A MODEL that src/device/gpu_facts.c knows is registered with its facts.
 *
 * A candidate's text holds words of these forms, each ended by a blank or a newline:
 *
 *   vector=correct       its verdict is that of tests/server/vectors/correct.json
 *   status=wrong         a verdict of that status and no more; "passed" where nothing is said, and
 *                        "wrong" where there is no such status
 *   speedup=1.5          and of that speedup
 *   coverage=0.25        and with that share of the time in kernels of its own
 *   queue_ms=300         and after so long a wait for the machine
 *   delay_ms=500          so long it takes, unless somebody cancels
 *   die=1                the process ends while it holds the job
 *
 * Prints a line "claimed ID" for each job. Ends at SIGTERM, and hands nothing back. */
#include "../support/vectors.h"
#include "base/clock.h"
#include "base/json.h"
#include "device/gpu_facts.h"
#include "judge/verdict.h"
#include "queue/queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 8
#define REGISTRATION_MS 60000
#define STEP_MS 20

struct worker {
    struct queue *queue;
    const char *name;
    bool gpu;
};

static _Atomic bool stopping;

static void on_signal(int signal)
{
    stopping = true;
}

/* The text behind "key=" up to a blank; false: there is none. */
static bool find_word(const char *text, const char *key, char *out, size_t size)
{
    char pattern[32];
    snprintf(pattern, sizeof pattern, "%s=", key);
    const char *at = strstr(text, pattern);
    if (!at)
        return false;
    at += strlen(pattern);
    snprintf(out, size, "%.*s", (int)strcspn(at, " \n\"\\*"), at);
    return true;
}

static json_t *verdict_of(const struct queue_job *job, const char *source)
{
    char word[128];
    if (find_word(source, "vector", word, sizeof word)) {
        json_t *vector = vector_load(word);
        json_t *verdict = json_incref(json_object_get(vector, "verdict"));
        json_decref(vector);
        return verdict;
    }
    struct verdict verdict;
    verdict_init(&verdict);
    verdict.id = job->id;
    if (find_word(source, "status", word, sizeof word))
        verdict.status = verdict_status_named(word);
    if (verdict.status == STATUS_COUNT)
        verdict.status = STATUS_WRONG;
    verdict.compiled = true;
    verdict.correct = verdict.status == STATUS_PASSED;
    if (find_word(source, "speedup", word, sizeof word)) {
        double speedup = strtod(word, NULL);
        verdict.case_count = 1;
        verdict.timing_meaningful = true;
        verdict.cases[0].speedup = (struct interval){speedup, speedup, speedup, 1};
        verdict.cases[0].reference.median = 1;
        verdict.cases[0].candidate.median = 1 / speedup;
    }
    if (find_word(source, "coverage", word, sizeof word))
        verdict.own_time_fraction = strtod(word, NULL);
    if (find_word(source, "queue_ms", word, sizeof word))
        verdict.stages_ms[STAGE_QUEUE] = strtod(word, NULL);
    json_t *json = verdict_json(&verdict);
    verdict_deinit(&verdict);
    return json;
}

static void finish(struct worker *worker, const struct queue_job *job, json_t *verdict)
{
    struct err err;
    struct buf text;
    enum queue_finish_result finishing;
    const char *status = json_string_value(json_object_get(verdict, "status"));
    buf_init(&text, (size_t)1 << 20);
    const struct queue_result cancelled = {.outcome = QUEUE_CANCELLED_OUTCOME,
                                           .reason = "cancelled while it was judged"};
    struct queue_result result = cancelled;
    if (status && json_line_write(verdict, &text, &err) == 0)
        result = (struct queue_result){.outcome = status,
                                       .bytes = text.data,
                                       .count = text.len - 1,
                                       .answers_key = strcmp(status, "infrastructure_error") != 0};
    if (queue_finish(worker->queue, job, &result, &finishing, &err) < 0)
        fprintf(stderr, "fake_worker: %s\n", err.text);
    buf_deinit(&text);
}

/* False: somebody wants it to end, or it is no longer ours. */
static bool hold(struct worker *worker, const struct queue_job *job, int64_t delay_ms, bool *lost)
{
    int64_t end_ns = clock_now_ns() + delay_ms * 1000000;
    while (!stopping && clock_now_ns() < end_ns) {
        enum queue_lease_state standing = QUEUE_HELD;
        usleep(STEP_MS * 1000);
        if (queue_renew(worker->queue, (const struct queue_job *const[]){job}, 1, 0, &standing,
                        NULL) == 0 &&
            standing != QUEUE_HELD) {
            *lost = standing == QUEUE_LOST;
            return false;
        }
    }
    return true;
}

/* As a judge does, for a problem that it knows. */
static void name_problem(json_t *verdict, const json_t *payload)
{
    json_t *problem = json_object_get(verdict, "problem");
    json_t *id = json_object_get(json_object_get(payload, "problem"), "id");
    if (json_is_string(id) && json_string_length(json_object_get(problem, "id")) == 0)
        json_object_set(problem, "id", id);
}

static void judge(struct worker *worker, const struct queue_job *job)
{
    json_error_t error;
    char word[32];
    bool lost = false;
    json_t *payload = json_loadb(job->payload, job->payload_bytes, 0, &error);
    const char *source = json_string_value(
        json_object_get(json_object_get(payload, "candidate"), "source"));
    source = source ? source : "";
    if (find_word(source, "die", word, sizeof word))
        _exit(1);
    bool whole = !find_word(source, "delay_ms", word, sizeof word) ||
                 hold(worker, job, strtol(word, NULL, 10), &lost);
    json_t *verdict = whole ? verdict_of(job, source) : NULL;
    name_problem(verdict, payload);
    if (!lost && !stopping)
        finish(worker, job, verdict);
    json_decref(verdict);
    json_decref(payload);
}

static void *work(void *argument)
{
    static const char *const needs[] = {"cpu", "any", "gpu"};
    struct worker *worker = argument;
    const struct queue_claim claim = {.worker = worker->name,
                                      .needs = needs,
                                      .needs_count = worker->gpu ? 3 : 2,
                                      .timeout_ms = 200};
    while (!stopping) {
        struct queue_job job;
        struct err err;
        bool got = false;
        if (queue_claim(worker->queue, &claim, &job, &got, &err) < 0) {
            fprintf(stderr, "fake_worker: %s\n", err.text);
            usleep(STEP_MS * 1000);
        } else if (got) {
            printf("claimed %s\n", job.id);
            fflush(stdout);
            judge(worker, &job);
            queue_job_deinit(&job);
        }
    }
    return NULL;
}

static int post_note(struct worker *worker, const char *model, struct err *err)
{
    json_t *device = worker->gpu ? json_pack("{s:s, s:s, s:s}", "kind", "cuda", "name", model,
                                             "state", "good")
                                 : json_pack("{s:s, s:s, s:i}", "kind", "cpu", "name", "fake CPU",
                                             "cores", 1);
    struct gpu gpu;
    if (worker->gpu && gpu_model_find(model, &gpu, err) == 0)
        json_object_set_new(device, "facts", gpu_facts_json(&gpu));
    json_t *claims = worker->gpu ? json_pack("[s, s, s]", "gpu", "any", "cpu")
                                 : json_pack("[s, s]", "cpu", "any");
    json_t *note = json_pack("{s:s, s:s, s:b, s:[o], s:o, s:s}", "name", worker->name, "host",
                             "localhost", "draining", 0, "devices", device, "claims", claims,
                             "heartbeat_at", "2026-01-31T12:00:00.000Z");
    char *text = json_dumps(note, JSON_COMPACT);
    int result = queue_register(worker->queue, worker->name, text, strlen(text), REGISTRATION_MS,
                                err);
    free(text);
    json_decref(note);
    return result;
}

int main(int argc, char **argv)
{
    struct queue_options options = {0};
    struct err err;
    pthread_t threads[THREADS];
    if (argc < 4)
        return 2;
    options.lease_ms = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
    struct worker worker = {.name = argv[2], .gpu = strcmp(argv[3], "cpu") != 0};
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    if (queue_open(&worker.queue, argv[1], &options, &err) < 0 ||
        post_note(&worker, argv[3], &err) < 0) {
        fprintf(stderr, "fake_worker: %s\n", err.text);
        return 3;
    }
    printf("ready\n");
    fflush(stdout);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &worker) != 0)
            return 3;
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (queue_register(worker.queue, worker.name, NULL, 0, 1, &err) < 0)
        fprintf(stderr, "fake_worker: %s\n", err.text);
    queue_close(worker.queue);
    return 0;
}
