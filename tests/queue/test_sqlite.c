#include "../support/queue_suite.h"
#include "../support/test.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int64_t wall_ms = 1000000000000, boot_ms = 5000;
static const char *boot = "boot one";

static int64_t fake_wall(void *context)
{
    return atomic_fetch_add(&wall_ms, 1);
}

static int64_t fake_boot(void *context)
{
    return boot_ms;
}

static const char *fake_boot_id(void *context)
{
    return boot;
}

static const struct queue_clock clock_to_turn = {fake_wall, fake_boot, fake_boot_id, NULL};

static void age(int64_t ms)
{
    boot_ms += ms;
}

static char *directory, url[512], path[400];
static int files;

static const char *fresh(void)
{
    snprintf(path, sizeof path, "%s/%d.db", directory, files++);
    snprintf(url, sizeof url, "sqlite:%s", path);
    return url;
}

static const struct queue_place place = {"sqlite:", fresh, age, &clock_to_turn};

static struct err err;

static struct queue_job claim_one(struct queue *queue)
{
    const char *needs[] = {"cpu"};
    struct queue_claim claim = {.worker = "w", .needs = needs, .needs_count = 1};
    struct queue_job job;
    bool got;
    assert_int_equal(queue_claim(queue, &claim, &job, &got, &err), 0);
    assert_true(got);
    queue_job_deinit(&job);
    return job;
}

static void put_one(struct queue *queue, const char *id)
{
    struct queue_submission one = {.id = id, .needs = "cpu"};
    assert_int_equal(queue_put(queue, &one, 1, &err), 0);
}

static uint64_t returned(struct queue *queue)
{
    struct queue_reaping reaping;
    assert_int_equal(queue_reap(queue, &reaping, &err), 0);
    return reaping.returned;
}

/* Somebody sets the wall clock while a job runs: its lease doesn't care. */
TEST(the_wall_clock_jumps)
{
    static const int64_t jumps[] = {86400000, -86400000, -999999999999, 1999999999999};
    struct queue *queue = queue_suite_open(&place, fresh(), NULL);
    put_one(queue, "a");
    struct queue_job job = claim_one(queue);
    for (size_t i = 0; i < COUNT(jumps); i++) {
        const struct queue_job *jobs[] = {&job};
        enum queue_lease_state lease_state;
        struct queue_stats stats;
        wall_ms += jumps[i];
        assert_int_equal(returned(queue), 0);
        assert_int_equal(queue_renew(queue, jobs, 1, 0, &lease_state, &err), 0);
        assert_int_equal(lease_state, QUEUE_HELD);
        put_one(queue, "b");
        assert_int_equal(queue_stats(queue, &stats, &err), 0);
        assert_true(stats.priorities[QUEUE_URGENT].oldest_ms >= 0);
    }
    wall_ms = 1000000000000;
    boot_ms += 60001;
    assert_int_equal(returned(queue), 1);
    queue_close(queue);
}

/* No worker survives a boot, whatever the new clock says. */
TEST(a_boot_ends_all_leases)
{
    struct queue *queue = queue_suite_open(&place, fresh(), NULL);
    put_one(queue, "a");
    claim_one(queue);
    assert_int_equal(returned(queue), 0);
    boot = "boot two";
    boot_ms = 1;
    assert_int_equal(returned(queue), 1);
    claim_one(queue);
    assert_int_equal(returned(queue), 0);
    queue_close(queue);
}

static void put_document(struct queue *queue, const char *name, int64_t keep_ms)
{
    bool written;
    assert_int_equal(queue_document_put(queue, name, name, strlen(name), 0, keep_ms, &written,
                                        &err),
                     0);
    assert_true(written);
}

static void assert_document(struct queue *queue, const char *name, bool there)
{
    struct queue_document document;
    int result = queue_document_get(queue, name, &document, &err);
    if (result != (there ? 0 : ERR_MISSING))
        fail_msg("document %s: %d: %s", name, result, result < 0 ? err.text : "is there");
    queue_document_deinit(&document);
}

static uint64_t expired(struct queue *queue)
{
    struct queue_reaping reaping;
    assert_int_equal(queue_reap(queue, &reaping, &err), 0);
    return reaping.expired;
}

/* How long the machine was off is unknown: a document is not lost for that, and has its whole
 * time again from the first look on. Setting the clock on the wall does nothing. */
TEST(documents_outlive_a_boot)
{
    struct queue *queue = queue_suite_open(&place, fresh(), NULL);
    put_document(queue, "short", 10000);
    put_document(queue, "long", 60000);
    wall_ms += 86400000;
    assert_int_equal(expired(queue), 0);
    boot_ms += 9000;
    boot = "boot three";
    boot_ms = 1;
    assert_document(queue, "short", true);
    assert_int_equal(expired(queue), 0);
    boot_ms += 9999;
    assert_document(queue, "short", true);
    boot_ms += 1;
    assert_document(queue, "short", false);
    assert_document(queue, "long", true);
    assert_int_equal(expired(queue), 1);
    wall_ms = 1000000000000;
    queue_close(queue);
}

static void execute(const char *file, const char *text)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(file, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
}

TEST(files_that_are_not_ours)
{
    static const struct {
        const char *bytes, *statements;
        int code;
        const char *text;
    } rows[] = {
        {"this is a letter to my mother, and quite a long one, so that it looks like something "
         "that SQLite could open but not read",
         NULL, ERR_PROTOCOL, "is not an SQLite database"},
        {NULL, "create table t (x)", ERR_PROTOCOL, "of another program"},
        {NULL, "pragma user_version = 7", ERR_PROTOCOL, "of another program"},
        {NULL, "pragma application_id = 2003267957; pragma user_version = 4", ERR_UNSUPPORTED,
         "newer warpgym"},
        {"", NULL, 0, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct queue *queue;
        fresh();
        if (rows[i].bytes)
            assert_int_equal(file_write_atomic(path, rows[i].bytes, strlen(rows[i].bytes), 0600,
                                               &err),
                             0);
        if (rows[i].statements)
            execute(path, rows[i].statements);
        err.text[0] = '\0';
        assert_int_equal(queue_open(&queue, url, &(struct queue_options){0}, &err), rows[i].code);
        assert_non_null(strstr(err.text, rows[i].text));
        if (rows[i].code < 0) {
            assert_non_null(strstr(err.text, path));
            assert_null(queue);
        }
        queue_close(queue);
    }
}

/* As the version before documents made it: a job that waits, one that is done. */
static const char old_statements[] =
    "create table jobs (sequence integer primary key, id text not null unique, batch text not null,"
    " key text not null, needs text not null, priority integer not null, state integer not null,"
    " claims integer not null default 0, attempt integer not null default 0,"
    " cancel integer not null default 0, worker text not null default '',"
    " lease_boot text, lease_until_ms integer, put_ms integer not null,"
    " claimed_ms integer not null default 0, ended_ms integer not null default 0,"
    " outcome text not null default '', reason text not null default '',"
    " answers integer not null default 0, payload_bytes integer not null,"
    " result_bytes integer not null default 0, change integer not null default 0);"
    "create index jobs_ready on jobs (needs, priority, sequence, put_ms) where state = 0;"
    "create index jobs_running on jobs (sequence) where state = 1;"
    "create index jobs_batch on jobs (batch, sequence) where batch <> '';"
    "create index jobs_key on jobs (key, change) where answers = 1;"
    "create index jobs_change on jobs (change) where change > 0;"
    "create table payloads (sequence integer primary key, bytes blob not null);"
    "create table results (sequence integer primary key, bytes blob not null);"
    "create table counters (name text primary key, value integer not null) without rowid;"
    "create table notes (name text primary key, bytes blob not null, boot text not null,"
    " until_ms integer not null) without rowid;"
    "pragma application_id = 2003267957; pragma user_version = 1;"
    "insert into jobs (sequence, id, batch, key, needs, priority, state, put_ms, payload_bytes)"
    " values (2, 'waits', '', '', 'cpu', 2, 0, 1000, 0);"
    "insert into jobs (sequence, id, batch, key, needs, priority, state, put_ms, ended_ms, outcome,"
    " answers, payload_bytes, result_bytes, change)"
    " values (1, 'done', '', 'k', 'cpu', 2, 2, 999, 1001, 'passed', 1, 0, 7, 5);"
    "insert into payloads values (1, x''), (2, x'');"
    "insert into results values (1, cast('verdict' as blob));"
    "insert into counters values ('sequence', 2), ('change', 5), ('kept', 1), ('kept_bytes', 7),"
    " ('ended:passed', 1);";

#define OPENERS 4
#define STAGGER_NS 8000000 /* the tables take some milliseconds */

struct opener {
    const char *url;
    pthread_barrier_t *all;
    struct err err;
    int result;
};

static void *open_it(void *argument)
{
    struct opener *opener = argument;
    struct queue *queue;
    pthread_barrier_wait(opener->all);
    struct timespec pause = {.tv_nsec = (long)(clock_secret() % STAGGER_NS)};
    nanosleep(&pause, NULL);
    opener->result = queue_open(&queue, opener->url, &(struct queue_options){0}, &opener->err);
    if (opener->result == 0)
        queue_close(queue);
    return NULL;
}

/* One makes the tables; none takes the file for another program's meanwhile. */
TEST(a_new_file_is_opened_by_several_at_once)
{
    const char *folder = support_directory();
    pthread_barrier_t all;
    pthread_barrier_init(&all, NULL, OPENERS);
    for (int round = 0; round < 100; round++) {
        char name[256];
        pthread_t threads[OPENERS];
        struct opener openers[OPENERS] = {{0}};
        snprintf(name, sizeof name, "sqlite:%s/%d.db", folder, round);
        for (int i = 0; i < OPENERS; i++) {
            openers[i] = (struct opener){.url = name, .all = &all};
            assert_int_equal(pthread_create(&threads[i], NULL, open_it, &openers[i]), 0);
        }
        for (int i = 0; i < OPENERS; i++) {
            pthread_join(threads[i], NULL);
            assert_ok(openers[i].result, &openers[i].err);
        }
    }
    pthread_barrier_destroy(&all);
}

TEST(a_file_of_the_version_before)
{
    fresh();
    execute(path, old_statements);
    for (int opening = 0; opening < 2; opening++) {
        struct queue_job job;
        struct queue *queue = queue_suite_open(&place, url, NULL);
        assert_int_equal(queue_find(queue, "k", QUEUE_RESULT, &job, &err), 0);
        assert_string_equal(job.result, "verdict");
        queue_job_deinit(&job);
        assert_document(queue, "episode", opening == 1);
        if (opening == 0) {
            put_document(queue, "episode", 60000);
            assert_string_equal(claim_one(queue).id, "waits");
        }
        put_one(queue, opening ? "new" : "newer");
        queue_close(queue);
    }
}

TEST(urls)
{
    static const struct {
        const char *url;
        int code;
        const char *text;
    } rows[] = {
        {"sqlite:", ERR_INPUT, "path"},
        {"sqlite:/no/such/directory/q.db", ERR_IO, "/no/such/directory"},
        {"sqlite:/tmp", ERR_IO, "/tmp"},
        {"postgres://x", ERR_INPUT, "write sqlite:PATH or redis://"},
        {"queue.db", ERR_INPUT, "queue.db"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct queue *queue;
        assert_int_equal(queue_open(&queue, rows[i].url, &(struct queue_options){0}, &err),
                         rows[i].code);
        assert_non_null(strstr(err.text, rows[i].text));
        assert_null(queue);
    }
}

TEST(a_damaged_file)
{
    struct queue *queue = queue_suite_open(&place, fresh(), NULL);
    for (int i = 0; i < 200; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        put_one(queue, id);
    }
    queue_close(queue);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char noise[4096];
    memset(noise, 0x5A, sizeof noise);
    for (off_t at = 4096; at < 16 * 4096; at += 4096)
        assert_int_equal(pwrite(fd, noise, sizeof noise, at), sizeof noise);
    close(fd);
    assert_int_equal(queue_open(&queue, url, &(struct queue_options){0}, &err), ERR_PROTOCOL);
    assert_non_null(strstr(err.text, "is damaged"));
    assert_non_null(strstr(err.text, path));
}

/* A process that keeps the file locked costs a sentence, not a hang. */
TEST(a_locked_file)
{
    sqlite3 *handle;
    struct queue_options options = {.call_ms = 50};
    struct queue *queue = queue_suite_open(&place, fresh(), &options);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, "begin immediate", NULL, NULL, NULL), SQLITE_OK);
    struct queue_submission one = {.id = "a", .needs = "cpu"};
    assert_int_equal(queue_put(queue, &one, 1, &err), ERR_TIMEOUT);
    assert_non_null(strstr(err.text, "another process"));
    assert_int_equal(sqlite3_exec(handle, "rollback", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
    put_one(queue, "a");
    queue_close(queue);
}

#define BALLAST_BYTES (1 << 20)

static bool write_text(const char *at, const char *text, size_t count)
{
    int fd = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool fine = fd >= 0 && write(fd, text, count) == (ssize_t)count;
    close(fd);
    return fine;
}

static int put_some(struct queue *queue, int number)
{
    static char bytes[60000];
    char id[16];
    snprintf(id, sizeof id, "%d", number);
    struct queue_submission one = {.id = id,
                                   .needs = "cpu",
                                   .payload = bytes,
                                   .payload_bytes = sizeof bytes};
    return queue_put(queue, &one, 1, &err);
}

/* What went wrong, or NULL. */
static const char *fill_disk(struct queue *queue, const char *ballast)
{
    int count = 0, result;
    while ((result = put_some(queue, count)) == 0 && count < 1000)
        count++;
    if (result != ERR_LIMIT || !strstr(err.text, "the disk is full") || count < 5)
        return err.text;
    if (put_some(queue, count) != ERR_LIMIT)
        return "it is full, and then again not";
    for (int i = 0; i < count; i++) {
        char id[16];
        struct queue_job job;
        snprintf(id, sizeof id, "%d", i);
        if (queue_get(queue, id, 0, &job, &err) < 0)
            return "an acknowledged job is gone";
    }
    unlink(ballast);
    return put_some(queue, count) == 0 ? NULL : "there is room again, and it does not go on";
}

/* Mounts of this process alone; as another user than root, in a user namespace, too. */
static bool own_mounts(void)
{
    char map[64];
    uid_t uid = getuid();
    gid_t gid = getgid();
    if (unshare(CLONE_NEWNS) < 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
            return false;
        int used = snprintf(map, sizeof map, "0 %u 1", uid);
        write_text("/proc/self/uid_map", map, (size_t)used);
        write_text("/proc/self/setgroups", "deny", 4);
        used = snprintf(map, sizeof map, "0 %u 1", gid);
        write_text("/proc/self/gid_map", map, (size_t)used);
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", directory, "tmpfs", 0, "size=4m") == 0;
}

#define NO_NAMESPACES 77

static int run_on_full_disk(void)
{
    char ballast[200];
    char *bytes = mem_alloc(BALLAST_BYTES);
    struct queue *queue;
    if (!own_mounts())
        return NO_NAMESPACES;
    snprintf(ballast, sizeof ballast, "%s/ballast", directory);
    snprintf(url, sizeof url, "sqlite:%s/full.db", directory);
    bool fine = write_text(ballast, bytes, BALLAST_BYTES);
    mem_free(bytes);
    if (!fine || queue_open(&queue, url, &(struct queue_options){0}, &err) < 0)
        return 1;
    const char *wrong = fill_disk(queue, ballast);
    queue_close(queue);
    if (wrong)
        fprintf(stderr, "a full disk: %s\n", wrong);
    return wrong ? 1 : 0;
}

TEST(a_full_disk)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(run_on_full_disk());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACES) {
        print_message("skipped: this machine does not allow mounting a small file system\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    directory = support_directory();
    return queue_suite_run(&place) | tests_run();
}
