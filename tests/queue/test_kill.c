/* Processes on one store die at random instants (kill -9), and so does Redis: what was acknowledged
 * is there, and has one result. TEST_KILL_TRIALS trials for each store (20). */
#include "../support/redis_server.h"

#include "../support/test.h"
#include "base/clock.h"
#include "base/log.h"
#include "queue/queue.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS 60
#define DOCUMENTS 4
#define LEASE_MS 100
#define INSTANTS_US 60000 /* after the start, in which they die */
#define WAIT_MOST_MS 60000

/* What outlives the processes. */
struct ledger {
    _Atomic bool stop;
    _Atomic bool acknowledged[JOBS];
    _Atomic uint64_t finished[JOBS]; /* the result that was acknowledged to a worker */
    _Atomic long written[DOCUMENTS]; /* the number that was acknowledged to its writer */
    _Atomic int conflicts;
};

static struct ledger *ledger;
static struct redis_server server = {.durable = true};
static char *directory;

static const struct queue_options options = {.lease_ms = LEASE_MS, .attempts = 100};

static void pause_us(int64_t us)
{
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

static void submit(struct queue *queue)
{
    for (int i = 0; i < JOBS && !ledger->stop; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        struct queue_submission one = {.id = id,
                                       .needs = "cpu",
                                       .payload = id,
                                       .payload_bytes = strlen(id)};
        while (!ledger->acknowledged[i] && !ledger->stop)
            if (queue_put(queue, &one, 1, NULL) == 0)
                ledger->acknowledged[i] = true;
    }
}

static void work_on(struct queue *queue, const struct queue_job *job)
{
    char text[32];
    uint64_t value = (uint64_t)getpid() << 32 | (uint64_t)job->claims;
    long number = strtol(job->payload, NULL, 10);
    enum queue_finish_result finish_result;
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    struct queue_result result = {.outcome = "passed", .bytes = text, .count = strlen(text)};
    if (queue_finish(queue, job, &result, &finish_result, NULL) < 0 ||
        finish_result == QUEUE_REFUSED)
        return;
    uint64_t before = atomic_exchange(&ledger->finished[number], value);
    if (before != 0 && before != value)
        ledger->conflicts++;
}

static void work(struct queue *queue)
{
    const char *needs[] = {"cpu"};
    struct queue_claim claim = {.worker = "worker",
                                .needs = needs,
                                .needs_count = 1,
                                .timeout_ms = 20};
    while (!ledger->stop) {
        struct queue_job job;
        bool got;
        if (queue_claim(queue, &claim, &job, &got, NULL) < 0 || !got)
            continue;
        work_on(queue, &job);
        queue_job_deinit(&job);
    }
}

/* The only writer: it reads what it wrote. */
static void count_up(struct queue *queue, int which)
{
    char name[16], text[32];
    struct queue_document document;
    bool written;
    snprintf(name, sizeof name, "%d", which);
    int result = queue_document_get(queue, name, &document, NULL);
    if (result < 0 && result != ERR_MISSING)
        return;
    long number = result == 0 ? strtol(document.bytes, NULL, 10) : 0;
    if (number < ledger->written[which])
        ledger->conflicts++;
    snprintf(text, sizeof text, "%ld", number + 1);
    result = queue_document_put(queue, name, text, strlen(text), document.version, 600000, &written,
                                NULL);
    queue_document_deinit(&document);
    if (result == 0 && written)
        ledger->written[which] = number + 1;
    else if (result == 0)
        ledger->conflicts++;
}

static void write_documents(struct queue *queue)
{
    for (int i = 0; !ledger->stop; i = (i + 1) % DOCUMENTS) {
        count_up(queue, i);
        pause_us(500); /* for the others */
    }
}

static pid_t start(const char *url, void (*run)(struct queue *queue))
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    struct queue *queue;
    struct err err;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (queue_open(&queue, url, &options, &err) < 0) {
        fprintf(stderr, "ERROR: %s\n", err.text);
        _exit(1);
    }
    run(queue);
    queue_close(queue);
    _exit(0);
}

static void end(pid_t pid, int signal_number)
{
    if (signal_number)
        kill(pid, signal_number);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static bool all_done(struct queue *queue)
{
    for (int i = 0; i < JOBS; i++) {
        char id[16];
        struct queue_job job;
        snprintf(id, sizeof id, "%d", i);
        if (!ledger->acknowledged[i])
            return false;
        if (queue_get(queue, id, QUEUE_NO_BODIES, &job, NULL) < 0)
            fail_msg("job %d was acknowledged and is gone", i);
        if (job.state != QUEUE_DONE)
            return false;
    }
    return true;
}

/* The last write may have taken place before it was acknowledged. */
static void check_document(struct queue *queue, int which)
{
    char name[16];
    struct queue_document document;
    long acknowledged = ledger->written[which];
    snprintf(name, sizeof name, "%d", which);
    int result = queue_document_get(queue, name, &document, NULL);
    long number = result == 0 ? strtol(document.bytes, NULL, 10) : 0;
    if (number != acknowledged && number != acknowledged + 1)
        fail_msg("document %d: %ld were acknowledged, %ld is there", which, acknowledged, number);
    queue_document_deinit(&document);
}

/* What is there is what the one worker that was believed wrote. */
static void check_results(struct queue *queue)
{
    for (int i = 0; i < JOBS; i++) {
        char id[16];
        struct queue_job job;
        snprintf(id, sizeof id, "%d", i);
        assert_int_equal(queue_get(queue, id, QUEUE_RESULT, &job, NULL), 0);
        assert_string_equal(job.outcome, "passed");
        uint64_t stored = strtoull(job.result, NULL, 10);
        if (ledger->finished[i] != 0 && ledger->finished[i] != stored)
            fail_msg("job %d has another result than was acknowledged", i);
        queue_job_deinit(&job);
    }
    for (int i = 0; i < DOCUMENTS; i++)
        check_document(queue, i);
    assert_int_equal(ledger->conflicts, 0);
}

static void wait_for_all(struct queue *queue)
{
    int64_t deadline_ns = clock_now_ns() + (int64_t)WAIT_MOST_MS * 1000000;
    while (!all_done(queue)) {
        struct queue_reaping reaping;
        struct err err;
        if (queue_reap(queue, &reaping, &err) < 0)
            fail_msg("%s", err.text);
        if (clock_now_ns() > deadline_ns)
            fail_msg("not all jobs are done after %d ms", WAIT_MOST_MS);
        pause_us(5000);
    }
}

#define ROLES 4

static void trial(const char *url, int victims)
{
    void (*const roles[ROLES])(struct queue *) = {submit, work, work, write_documents};
    pid_t pids[ROLES];
    struct queue *queue;
    struct err err;
    memset(ledger, 0, sizeof *ledger);
    for (int i = 0; i < ROLES; i++)
        pids[i] = start(url, roles[i]);
    for (int deaths = 0; deaths < 2; deaths++) {
        int victim = (int)(clock_secret() % (uint64_t)victims);
        pause_us((int64_t)(clock_secret() % INSTANTS_US));
        if (victim == ROLES) {
            redis_server_end(&server, SIGKILL);
            redis_server_start(&server);
        } else {
            end(pids[victim], SIGKILL);
            pids[victim] = start(url, roles[victim]);
        }
    }
    if (queue_open(&queue, url, &options, &err) < 0)
        fail_msg("%s", err.text);
    wait_for_all(queue);
    ledger->stop = true;
    for (int i = 0; i < ROLES; i++)
        end(pids[i], 0);
    check_results(queue);
    queue_close(queue);
}

static int trials(void)
{
    const char *wanted = getenv("TEST_KILL_TRIALS");
    return wanted ? (int)strtol(wanted, NULL, 10) : 20;
}

TEST(sqlite_survives)
{
    for (int i = 0; i < trials(); i++) {
        char url[256];
        snprintf(url, sizeof url, "sqlite:%s/%d.db", directory, i);
        trial(url, ROLES);
    }
}

TEST(redis_survives)
{
    if (!redis_server_usable())
        skip();
    redis_server_start(&server);
    for (int i = 0; i < trials(); i++) {
        redisContext *control = redis_server_connect(&server);
        freeReplyObject(redis_server_ask(control, "FLUSHALL"));
        redisFree(control);
        trial(server.url, ROLES + 1);
    }
    redis_server_remove(&server);
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    directory = support_directory();
    ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return ledger == MAP_FAILED ? 1 : tests_run();
}
