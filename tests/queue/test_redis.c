#include "../support/queue_suite.h"
#include "../support/redis_server.h"

#include "../support/test.h"
#include "base/clock.h"
#include "base/log.h"
#include "queue/redis_url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MOST_MS 30000 /* no slow machine reaches it */

static struct redis_server server = {.durable = true};
static redisContext *control;
static struct err err;

static const char *fresh(void)
{
    freeReplyObject(redis_server_ask(control, "FLUSHALL"));
    return server.url;
}

/* What is pending has been so for longer; the server's clock can't be turned. */
static void age_stream(const char *stream, int64_t ms)
{
    redisReply *pending = redis_server_ask(control, "XPENDING %s workers - + 1000 held", stream);
    for (size_t i = 0; i < pending->elements; i++) {
        redisReply *const *entry = pending->element[i]->element;
        freeReplyObject(redis_server_ask(control, "XCLAIM %s workers held 0 %s IDLE %lld JUSTID",
                                         stream, entry[0]->str, entry[2]->integer + ms));
    }
    freeReplyObject(pending);
}

static void age_keys(const char *pattern, int64_t ms)
{
    redisReply *keys = redis_server_ask(control, "KEYS %s", pattern);
    for (size_t i = 0; i < keys->elements; i++) {
        redisReply *left = redis_server_ask(control, "PTTL %b", keys->element[i]->str,
                                            (size_t)keys->element[i]->len);
        freeReplyObject(redis_server_ask(control, "PEXPIRE %b %lld", keys->element[i]->str,
                                         (size_t)keys->element[i]->len, left->integer - ms));
        freeReplyObject(left);
    }
    freeReplyObject(keys);
}

static void age_documents(int64_t ms)
{
    redisReply *names = redis_server_ask(control, "ZRANGE warpgym:documents 0 -1");
    for (size_t i = 0; i < names->elements; i++)
        freeReplyObject(redis_server_ask(control, "ZINCRBY warpgym:documents %lld %b",
                                         (long long)-ms, names->element[i]->str,
                                         (size_t)names->element[i]->len));
    freeReplyObject(names);
    age_keys("warpgym:document:*", ms);
}

static void age(int64_t ms)
{
    redisReply *keys = redis_server_ask(control, "KEYS warpgym:stream:*");
    for (size_t i = 0; i < keys->elements; i++)
        age_stream(keys->element[i]->str, ms);
    freeReplyObject(keys);
    age_keys("warpgym:registration:*", ms);
    age_documents(ms);
}

static const struct queue_place place = {"redis://", fresh, age, NULL};

static void put_one(struct queue *queue, const char *id)
{
    struct queue_submission one = {.id = id, .needs = "cpu"};
    assert_ok(queue_put(queue, &one, 1, &err), &err);
}

struct seen {
    struct queue_watcher watcher; /* first */
    atomic_int missed, cancelled;
};

static void count_events(struct queue_watcher *watcher, const struct queue_event *events,
                         size_t count)
{
    struct seen *seen = (struct seen *)watcher;
    if (count == 0)
        atomic_fetch_add(&seen->missed, 1);
    for (size_t i = 0; i < count; i++)
        if (events[i].state == QUEUE_CANCELLED)
            atomic_fetch_add(&seen->cancelled, 1);
}

static void await(const char *what, const atomic_int *number, int least)
{
    int64_t start_ns = clock_now_ns();
    while (atomic_load(number) < least) {
        if (clock_ms_since(start_ns) > WAIT_MOST_MS)
            fail_msg("no event: %s", what);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

static void put_and_cancel(struct queue *queue, const char *id)
{
    enum queue_state now;
    put_one(queue, id);
    if (queue_cancel(queue, id, &now, &err) < 0)
        fail_msg("%s", err.text);
}

TEST_FUNCTION(urls)
{
    static const struct {
        const char *place, *user, *password, *host;
        int port, database;
        const char *name;
    } good[] = {
        {"host", "", "", "host", 6379, 0, "redis://host:6379/0"},
        {"10.0.0.1:7000/3", "", "", "10.0.0.1", 7000, 3, "redis://10.0.0.1:7000/3"},
        {"a-b.c_d:1/", "", "", "a-b.c_d", 1, 0, "redis://a-b.c_d:1/0"},
        {":secret@h", "", "secret", "h", 6379, 0, "redis://h:6379/0"},
        {"me:p%40ss%3a%25@h:65535/65535", "me", "p@ss:%", "h", 65535, 65535,
         "redis://h:65535/65535"},
        {"me:p@ss@h", "me", "p@ss", "h", 6379, 0, "redis://h:6379/0"},
        {"[::1]", "", "", "::1", 6379, 0, "redis://[::1]:6379/0"},
        {"[fe80::1]:80/1", "", "", "fe80::1", 80, 1, "redis://[fe80::1]:80/1"},
    };
    static const char *const bad[] = {
        "",      ":6379",    "h:",         "h:0",       "h:65536",   "h:x",     "h:-1",
        "h/x",   "h/65536",  "h/1/2",      "h h",       "[::1",      "[::1]x",  "[]",
        "@h",    "secret@h", "a:%@h",      "a:%4@h",    "a:%00@h",   "a:%zz@h", "a:b@",
        "h:1:2", "h\n",      "me:secret@", "h:000001x", "h:1234567",
    };
    struct redis_url url;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(redis_url_parse(&url, good[i].place, &err), 0);
        assert_string_equal(url.user, good[i].user);
        assert_string_equal(url.password, good[i].password);
        assert_string_equal(url.host, good[i].host);
        assert_int_equal(url.port, good[i].port);
        assert_int_equal(url.database, good[i].database);
        assert_string_equal(url.name, good[i].name);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(redis_url_parse(&url, bad[i], &err), ERR_INPUT);
        assert_null(strstr(err.text, "secret"));
    }
}

TEST(a_server_that_is_not_there)
{
    struct redis_server gone = {.durable = false};
    struct queue_options options = {.call_ms = 200};
    struct queue *queue;
    redis_server_start(&gone);
    char url[300];
    snprintf(url, sizeof url, "redis://:secret@127.0.0.1:%d", gone.port);
    redis_server_remove(&gone);
    int64_t start_ns = clock_now_ns();
    assert_int_equal(queue_open(&queue, url, &options, &err), ERR_IO);
    assert_true(clock_ms_since(start_ns) < 10000);
    assert_non_null(strstr(err.text, "cannot reach"));
    assert_non_null(strstr(err.text, "127.0.0.1"));
    assert_null(strstr(err.text, "secret"));
}

/* It takes the connection and never says a word. */
TEST(a_server_that_is_silent)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    getsockname(fd, (struct sockaddr *)&address, &size);
    char url[64];
    struct queue_options options = {.call_ms = 200};
    struct queue *queue;
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(queue_open(&queue, url, &options, &err), ERR_TIMEOUT);
    assert_non_null(strstr(err.text, "no answer from"));
    close(fd);
}

TEST(passwords)
{
    struct redis_server closed = {.password = "sesame"};
    struct queue *queue;
    struct queue_options options = {.call_ms = 2000};
    char url[64];
    redis_server_start(&closed);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", closed.port);
    assert_int_equal(queue_open(&queue, url, &options, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "requires a login"));
    snprintf(url, sizeof url, "redis://:wrong1@127.0.0.1:%d", closed.port);
    assert_int_equal(queue_open(&queue, url, &options, &err), ERR_INPUT);
    assert_null(strstr(err.text, "wrong1"));
    assert_int_equal(queue_open(&queue, closed.url, &options, &err), 0);
    assert_null(strstr(queue_name(queue), "sesame"));
    put_one(queue, "a");
    queue_close(queue);
    redis_server_remove(&closed);
}

TEST(data_that_is_not_ours)
{
    static const struct {
        const char *command;
        int code;
        const char *text;
    } rows[] = {
        {"SET warpgym:meta hello", ERR_PROTOCOL, "another program's data"},
        {"HSET warpgym:meta schema 2", ERR_UNSUPPORTED, "newer warpgym"},
        {"HSET warpgym:meta schema x", ERR_PROTOCOL, "not written by this version"},
    };
    struct queue *queue;
    for (size_t i = 0; i < COUNT(rows); i++) {
        fresh();
        freeReplyObject(redis_server_ask(control, rows[i].command));
        assert_int_equal(queue_open(&queue, server.url, &(struct queue_options){0}, &err),
                         rows[i].code);
        assert_non_null(strstr(err.text, rows[i].text));
    }
}

TEST(records_that_make_no_sense)
{
    static const char *const changes[] = {"HSET warpgym:job:a state 9",
                                          "HSET warpgym:job:a sequence x",
                                          "HSET warpgym:job:a priority -1",
                                          "HSET warpgym:job:a state -2"};
    struct queue_job job;
    struct queue *queue = queue_suite_open(&place, fresh(), NULL);
    for (size_t i = 0; i < COUNT(changes); i++) {
        freeReplyObject(redis_server_ask(control, "FLUSHALL"));
        put_one(queue, "a");
        freeReplyObject(redis_server_ask(control, changes[i]));
        assert_int_equal(queue_get(queue, "a", 0, &job, &err), ERR_PROTOCOL);
    }
    static const char *const documents[] = {"HSET warpgym:document:a version x",
                                            "HSET warpgym:document:a version 0 bytes x",
                                            "SET warpgym:document:a x"};
    for (size_t i = 0; i < COUNT(documents); i++) {
        struct queue_document document;
        freeReplyObject(redis_server_ask(control, "FLUSHALL"));
        freeReplyObject(redis_server_ask(control, documents[i]));
        assert_int_equal(queue_document_get(queue, "a", &document, &err), ERR_PROTOCOL);
        assert_null(document.bytes);
    }
    queue_close(queue);
}

/* Scripts are gone, connections broken, jobs there: the next call does not notice. */
TEST(a_server_that_was_killed_comes_back)
{
    struct queue *queue = queue_suite_open(&place, fresh(), NULL);
    static struct seen seen = {.watcher.on_events = count_events}; /* outlives a failure */
    struct queue_job job;
    queue_watch(queue, &seen.watcher);
    for (int i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        put_and_cancel(queue, id);
        await("the end", &seen.cancelled, i + 1);
        atomic_store(&seen.missed, 0);
        redisFree(control);
        redis_server_end(&server, SIGKILL);
        redis_server_start(&server);
        control = redis_server_connect(&server);
        put_one(queue, "after");
        assert_int_equal(queue_get(queue, id, 0, &job, &err), 0);
        /* It may have come back without some of its events. */
        await("events may be missing", &seen.missed, 1);
    }
    queue_unwatch(queue, &seen.watcher);
    queue_close(queue);
}

/* Its numbers begin anew, and no connection breaks. */
TEST(a_server_that_is_emptied)
{
    struct queue *queue = queue_suite_open(&place, fresh(), NULL);
    static struct seen seen = {.watcher.on_events = count_events}; /* outlives a failure */
    char id[16];
    queue_watch(queue, &seen.watcher);
    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "%d", i);
        put_and_cancel(queue, id);
    }
    await("the ends", &seen.cancelled, 100);
    assert_int_equal(atomic_load(&seen.missed), 0);
    /* Noticed without other writers, and with them. */
    fresh();
    await("events may be missing", &seen.missed, 1);
    put_and_cancel(queue, "a");
    await("an end after it", &seen.cancelled, 101);
    put_and_cancel(queue, "b");
    put_and_cancel(queue, "c");
    await("ends after it", &seen.cancelled, 103);
    fresh();
    put_one(queue, "d");
    await("events may be missing", &seen.missed, 2);
    put_and_cancel(queue, "d");
    await("an end after the second", &seen.cancelled, 104);
    queue_unwatch(queue, &seen.watcher);
    queue_close(queue);
}

/* As behind a network that is cut: nothing comes back, nothing is refused. */
TEST(a_server_that_pauses)
{
    struct queue_options options = {.call_ms = 300};
    struct queue *queue = queue_suite_open(&place, fresh(), &options);
    struct queue_submission one = {.id = "a", .needs = "cpu"};
    struct queue_job job;
    put_one(queue, "before");
    kill(server.pid, SIGSTOP);
    int64_t start_ns = clock_now_ns();
    int result = queue_put(queue, &one, 1, &err);
    double took_ms = clock_ms_since(start_ns);
    kill(server.pid, SIGCONT);
    assert_int_equal(result, ERR_TIMEOUT);
    assert_true(took_ms < 10000);
    assert_int_equal(queue_put(queue, &one, 1, &err), 0);
    assert_true(one.put_result == QUEUE_PUT_NEW || one.put_result == QUEUE_PUT_JOINED);
    assert_int_equal(queue_get(queue, "a", 0, &job, &err), 0);
    assert_int_equal(job.sequence, 2);
    queue_close(queue);
}

TEST(a_server_without_memory)
{
    static char bytes[1 << 20];
    struct queue *queue = queue_suite_open(&place, fresh(), NULL);
    struct queue_submission one = {.id = "a",
                                   .needs = "cpu",
                                   .payload = bytes,
                                   .payload_bytes = sizeof bytes};
    freeReplyObject(redis_server_ask(control, "CONFIG SET maxmemory 1mb"));
    assert_int_equal(queue_put(queue, &one, 1, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "no memory left"));
    freeReplyObject(redis_server_ask(control, "CONFIG SET maxmemory 0"));
    put_one(queue, "a");
    queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest alone[] = {cmocka_unit_test(test_urls)};
    log_set_level(LOG_LEVEL_ERROR);
    int result = cmocka_run_group_tests(alone, NULL, NULL);
    if (!redis_server_usable())
        return result;
    redis_server_start(&server);
    control = redis_server_connect(&server);
    result |= queue_suite_run(&place);
    result |= tests_run();
    redisFree(control);
    redis_server_remove(&server);
    return result;
}
