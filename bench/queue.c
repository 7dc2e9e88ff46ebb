/* queue: what a store of jobs takes and gives, for docs/measurements.
 *
 *   queue URL [SECONDS]
 *
 * Payloads and documents of 2 KiB, all of them acknowledged as durable. Figures with several
 * threads share what those and the store's own threads leave of the processors.
 */
#include "queue/queue.h"
#include "base/array.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAYLOAD_BYTES 2048
#define BATCH 50
#define THREADS_MAX 64
#define LATENCIES_MAX 200000
#define DOCUMENT_BYTES (16 * 1024) /* an episode of some turns */

struct load;
typedef size_t load_step(struct load *load, size_t thread, size_t turn, struct err *err);

struct load {
    const char *what;
    size_t threads;
    load_step *step; /* does something and says how many jobs that were; 0: it failed, or is over */
    struct queue *queue;
    size_t bytes; /* of a document */
    int64_t deadline_ns;
    _Atomic size_t done, turns;
    double *latencies_ms; /* of turns */
};

struct client {
    struct load *load;
    size_t number;
    pthread_t thread;
};

static char payload[PAYLOAD_BYTES];

static void *drive(void *argument)
{
    struct client *client = argument;
    struct load *load = client->load;
    struct err err = {0};
    for (size_t turn = 0; clock_now_ns() < load->deadline_ns; turn++) {
        int64_t start_ns = clock_now_ns();
        size_t count = load->step(load, client->number, turn, &err);
        if (count == 0)
            break;
        size_t at = atomic_fetch_add(&load->turns, 1);
        if (at < LATENCIES_MAX)
            load->latencies_ms[at] = clock_ms_since(start_ns);
        load->done += count;
    }
    if (err.code)
        fprintf(stderr, "queue: %s: %s\n", load->what, err.text);
    return NULL;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void run(struct load *load, double seconds)
{
    static double latencies_ms[LATENCIES_MAX];
    struct client clients[THREADS_MAX];
    int64_t start_ns = clock_now_ns();
    load->latencies_ms = latencies_ms;
    load->deadline_ns = start_ns + (int64_t)(seconds * 1e9);
    for (size_t i = 0; i < load->threads; i++) {
        clients[i] = (struct client){.load = load, .number = i};
        if (pthread_create(&clients[i].thread, NULL, drive, &clients[i]) != 0)
            abort();
    }
    for (size_t i = 0; i < load->threads; i++)
        pthread_join(clients[i].thread, NULL);
    double took_s = clock_ms_since(start_ns) * 1e-3;
    size_t kept = load->turns < LATENCIES_MAX ? load->turns : LATENCIES_MAX;
    if (kept == 0)
        return;
    qsort(latencies_ms, kept, sizeof *latencies_ms, by_value);
    printf("  %-42s %2zu threads %9.0f a second; a call %.2f ms, p99 %.2f ms\n", load->what,
           load->threads, (double)load->done / took_s, latencies_ms[kept / 2],
           latencies_ms[kept * 99 / 100]);
    fflush(stdout);
}

static size_t put_batch(struct load *load, size_t thread, size_t turn, struct err *err)
{
    struct queue_submission jobs[BATCH];
    (void)thread, (void)turn;
    for (size_t i = 0; i < BATCH; i++)
        jobs[i] = (struct queue_submission){.batch = "bench",
                                            .needs = "cpu",
                                            .priority = QUEUE_NORMAL,
                                            .payload = payload,
                                            .payload_bytes = sizeof payload};
    return queue_put(load->queue, jobs, BATCH, err) < 0 ? 0 : BATCH;
}

static size_t put_one(struct load *load, size_t thread, size_t turn, struct err *err)
{
    char id[64];
    snprintf(id, sizeof id, "job %zu of %zu", turn, thread);
    struct queue_submission job = {.id = id,
                                   .needs = "gpu",
                                   .priority = QUEUE_NORMAL,
                                   .payload = payload,
                                   .payload_bytes = sizeof payload};
    return queue_put(load->queue, &job, 1, err) < 0 ? 0 : 1;
}

static size_t get_one(struct load *load, size_t thread, size_t turn, struct err *err)
{
    char id[64];
    struct queue_job job;
    snprintf(id, sizeof id, "job %zu of %zu", turn % 20, thread);
    if (queue_get(load->queue, id, QUEUE_RESULT, &job, err) < 0)
        return 0;
    queue_job_deinit(&job);
    return 1;
}

static size_t work_one(struct load *load, size_t thread, size_t turn, struct err *err)
{
    const char *needs[] = {"cpu"};
    struct queue_claim claim = {.worker = "bench", .needs = needs, .needs_count = 1};
    struct queue_result result = {.outcome = "passed",
                                  .bytes = payload,
                                  .count = sizeof payload / 2};
    enum queue_finish_result finishing;
    struct queue_job job;
    bool got;
    (void)thread, (void)turn;
    if (queue_claim(load->queue, &claim, &job, &got, err) < 0 || !got)
        return 0;
    int code = queue_finish(load->queue, &job, &result, &finishing, err);
    queue_job_deinit(&job);
    return code < 0 ? 0 : 1;
}

/* Each thread has a document of its own, and what it wrote last is what it replaces. Other bytes
 * each time: SQLite does not write a page that is as it was. */
static size_t write_document(struct load *load, size_t thread, size_t turn, struct err *err)
{
    static int64_t versions[THREADS_MAX];
    struct queue_document before;
    char name[64], document[DOCUMENT_BYTES];
    bool written;
    memset(document, 'a' + (int)(turn % 26), load->bytes);
    snprintf(name, sizeof name, "document %zu", thread);
    if (turn == 0) {
        int result = queue_document_get(load->queue, name, &before, NULL);
        versions[thread] = result == 0 ? before.version : 0;
        queue_document_deinit(&before);
    }
    if (queue_document_put(load->queue, name, document, load->bytes, versions[thread], 600000,
                           &written, err) < 0 ||
        !written)
        return 0;
    if (versions[thread]++ == 0) {
        if (queue_document_get(load->queue, name, &before, err) < 0)
            return 0;
        versions[thread] = before.version;
        queue_document_deinit(&before);
    }
    return 1;
}

static size_t read_document(struct load *load, size_t thread, size_t turn, struct err *err)
{
    struct queue_document read;
    char name[64];
    snprintf(name, sizeof name, "document %zu", thread);
    if (queue_document_get(load->queue, name, &read, err) < 0)
        return 0;
    queue_document_deinit(&read);
    return 1;
}

struct claimer {
    struct queue *queue;
    char needs[QUEUE_WORD_BYTES]; /* another process's bench must not take the jobs */
    _Atomic int64_t claimed_ns;
    _Atomic bool over;
};

static void *claim_all(void *argument)
{
    struct claimer *claimer = argument;
    const char *needs[] = {claimer->needs};
    struct queue_claim claim = {.worker = "bench",
                                .needs = needs,
                                .needs_count = 1,
                                .timeout_ms = 1000};
    struct queue_result result = {.outcome = "passed"};
    enum queue_finish_result finishing;
    while (!claimer->over) {
        struct queue_job job;
        bool got;
        if (queue_claim(claimer->queue, &claim, &job, &got, NULL) < 0)
            break;
        if (!got)
            continue;
        claimer->claimed_ns = clock_now_ns();
        queue_job_deinit(&job);
        if (queue_finish(claimer->queue, &job, &result, &finishing, NULL) < 0)
            break;
    }
    return NULL;
}

/* From the start of a put to the end of the claim that waited for it in another process's place. */
static void time_claim(struct queue *queue, struct queue *other)
{
    enum { TRIALS = 200 };
    double times_ms[TRIALS];
    struct claimer claimer = {.queue = other};
    pthread_t thread;
    snprintf(claimer.needs, sizeof claimer.needs, "claim-%d", getpid());
    if (pthread_create(&thread, NULL, claim_all, &claimer) != 0)
        abort();
    for (size_t i = 0; i < TRIALS; i++) {
        struct queue_submission job = {.needs = claimer.needs};
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        claimer.claimed_ns = 0;
        int64_t start_ns = clock_now_ns();
        if (queue_put(queue, &job, 1, NULL) < 0)
            break;
        while (claimer.claimed_ns == 0)
            nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
        times_ms[i] = (double)(claimer.claimed_ns - start_ns) * 1e-6;
    }
    claimer.over = true;
    pthread_join(thread, NULL);
    qsort(times_ms, TRIALS, sizeof *times_ms, by_value);
    printf("  put to claim, through %-20s            %.2f ms, p99 %.2f ms\n",
           queue == other ? "one handle" : "two handles", times_ms[TRIALS / 2],
           times_ms[TRIALS * 99 / 100]);
}

int main(int argc, char **argv)
{
    struct queue *queue, *other;
    struct queue_options options = {0};
    struct err err;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 4;
    if (argc < 2) {
        fprintf(stderr, "usage: queue URL [SECONDS]\n");
        return 2;
    }
    if (queue_open(&queue, argv[1], &options, &err) < 0 ||
        queue_open(&other, argv[1], &options, &err) < 0) {
        fprintf(stderr, "queue: %s\n", err.text);
        return 1;
    }
    memset(payload, 'x', sizeof payload);
    printf("%s\n", queue_name(queue));
    struct load loads[] = {
        {.what = "put, 50 in a call", .threads = 1, .step = put_batch},
        {.what = "put, 50 in a call", .threads = 8, .step = put_batch},
        {.what = "put, one in a call", .threads = 64, .step = put_one},
        {.what = "put, one in a call", .threads = 1, .step = put_one},
        {.what = "get", .threads = 1, .step = get_one},
        {.what = "get", .threads = 8, .step = get_one},
        {.what = "claim and finish", .threads = 1, .step = work_one},
        {.what = "claim and finish", .threads = 16, .step = work_one},
        {.what = "write documents", .threads = 64, .step = write_document, .bytes = PAYLOAD_BYTES},
        {.what = "write documents of 16 KiB",
         .threads = 64,
         .step = write_document,
         .bytes = DOCUMENT_BYTES},
        {.what = "read documents of 16 KiB", .threads = 8, .step = read_document},
    };
    for (size_t i = 0; i < COUNT(loads); i++) {
        loads[i].queue = queue;
        run(&loads[i], seconds);
    }
    time_claim(queue, queue);
    time_claim(queue, other);
    queue_close(other);
    queue_close(queue);
    return 0;
}
