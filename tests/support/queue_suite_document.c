#include "queue_suite_parts.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_MS 60000

static bool put_kept(const char *name, const char *text, int64_t version, int64_t keep_ms)
{
    bool written;
    suite_ok(queue_document_put(suite.queue, name, text, strlen(text), version, keep_ms, &written,
                                &suite.err));
    return written;
}

static bool put(const char *name, const char *text, int64_t version)
{
    return put_kept(name, text, version, KEEP_MS);
}

/* Its version; fails where the document is another. */
static int64_t expect(const char *name, const char *text)
{
    struct queue_document document;
    suite_ok(queue_document_get(suite.queue, name, &document, &suite.err));
    assert_string_equal(document.bytes, text);
    assert_int_equal(document.count, strlen(text));
    int64_t version = document.version;
    assert_true(version > 0);
    queue_document_deinit(&document);
    return version;
}

static void expect_none(const char *name)
{
    struct queue_document document;
    assert_int_equal(queue_document_get(suite.queue, name, &document, &suite.err), ERR_MISSING);
    assert_non_null(strstr(suite.err.text, name));
    assert_null(document.bytes);
}

static bool drop(const char *name)
{
    bool removed;
    suite_ok(queue_document_remove(suite.queue, name, &removed, &suite.err));
    return removed;
}

static uint64_t count_all(void)
{
    struct queue_stats stats;
    suite_ok(queue_stats(suite.queue, &stats, &suite.err));
    return stats.documents;
}

SUITE_TEST(versions)
{
    expect_none("a");
    assert_false(put("a", "no version 7 to replace", 7));
    assert_true(put("a", "one", 0));
    int64_t first = expect("a", "one");
    assert_false(put("a", "another one", 0));
    assert_true(put("a", "two", first));
    assert_int_equal(expect("a", "two"), first + 1);
    /* The same that another writer read. */
    assert_false(put("a", "late", first));
    assert_false(put("a", "early", first + 2));
    assert_int_equal(expect("a", "two"), first + 1);
    assert_true(put("a", "three", first + 1));
    assert_int_equal(expect("a", "three"), first + 2);
    assert_int_equal(count_all(), 1);
}

/* A first write, a later one, and each of them sent again, as after a lost answer. */
SUITE_TEST(a_write_that_is_repeated)
{
    assert_true(put("a", "one", 0));
    int64_t first = expect("a", "one");
    assert_true(put("a", "one", 0));
    assert_int_equal(expect("a", "one"), first);
    assert_true(put("a", "two", first));
    assert_true(put("a", "two", first));
    assert_int_equal(expect("a", "two"), first + 1);
    /* It is known by what stands there, and is not when somebody wrote after it. */
    assert_true(put("a", "three", first + 1));
    assert_false(put("a", "two", first));
    assert_false(put("a", "one", 0));
    assert_false(put("a", "three", first));
    assert_int_equal(expect("a", "three"), first + 2);
}

SUITE_TEST(removal)
{
    assert_false(drop("a"));
    assert_true(put("a", "one", 0));
    assert_true(put("b", "stays", 0));
    int64_t first = expect("a", "one");
    assert_true(drop("a"));
    assert_false(drop("a"));
    expect_none("a");
    assert_int_equal(count_all(), 1);
    assert_false(put("a", "late", first));
    /* In its next life it has no version of the one before. */
    assert_true(put("a", "anew", 0));
    assert_true(expect("a", "anew") > first);
    assert_false(put("a", "late", first));
    expect("b", "stays");
    assert_int_equal(count_all(), 2);
}

SUITE_TEST(times)
{
    struct queue_document document;
    int64_t before_ms = clock_wall_ms();
    assert_true(put_kept("short", "one", 0, 10000));
    assert_true(put_kept("long", "two", 0, 60000));
    assert_true(put_kept("used", "three", 0, 10000));
    suite_ok(queue_document_get(suite.queue, "long", &document, &suite.err));
    if (!suite.place->clock)
        assert_true(document.expires_ms >= before_ms + 60000 - 1000);
    assert_true(document.expires_ms > 60000);
    queue_document_deinit(&document);
    int64_t of_short = expect("short", "one");
    int64_t of_used = expect("used", "three");
    suite.place->age(6000);
    assert_true(put_kept("used", "four", of_used, 10000));
    suite.place->age(6000);
    /* Whether anybody has reaped or not. */
    expect_none("short");
    assert_false(put("short", "late", of_short));
    assert_false(drop("short"));
    expect("used", "four");
    expect("long", "two");
    suite_reap();
    assert_int_equal(count_all(), 2);
    assert_true(put("short", "anew", 0));
    assert_true(expect("short", "anew") > of_short);
    assert_int_equal(count_all(), 3);
}

/* What somebody writes over before it was reaped is counted once. */
SUITE_TEST(a_name_that_expired_is_free)
{
    assert_true(put_kept("a", "one", 0, 10));
    int64_t first = expect("a", "one");
    suite.place->age(20);
    assert_true(put("a", "one", 0));
    assert_true(expect("a", "one") > first);
    assert_int_equal(count_all(), 1);
    assert_int_equal(suite_reap().expired, 0);
    expect("a", "one");
}

SUITE_TEST(refused)
{
    static char byte[1], long_name[QUEUE_ID_BYTES + 1];
    memset(long_name, 'n', QUEUE_ID_BYTES);
    const struct {
        const char *name;
        size_t count;
        int64_t version, keep_ms;
        int code;
        const char *says;
    } rows[] = {
        {"", 0, 0, 1, ERR_INPUT, "name has 0 bytes"},
        {long_name, 0, 0, 1, ERR_INPUT, "256 bytes"},
        {"a\tb", 0, 0, 1, ERR_INPUT, "control character at byte 2"},
        {"a\xff", 0, 0, 1, ERR_INPUT, "UTF-8"},
        {"a", LIMIT_QUEUE_BODY_BYTES + 1, 0, 1, ERR_LIMIT, "16777217 bytes"},
        {"a", 1, -1, 1, ERR_INPUT, "version -1"},
        {"a", 1, 0, 0, ERR_INPUT, "is kept for 1"},
        {"a", 1, 0, LIMIT_QUEUE_DOCUMENT_MS + 1, ERR_INPUT, "is kept for 1"},
    };
    struct queue_document document;
    bool done = true;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int result = queue_document_put(suite.queue, rows[i].name, byte, rows[i].count,
                                        rows[i].version, rows[i].keep_ms, &done, &suite.err);
        if (result != rows[i].code || !strstr(suite.err.text, rows[i].says) || done)
            fail_msg("row %zu: %d: %s", i, result, suite.err.text);
    }
    assert_int_equal(queue_document_get(suite.queue, "", &document, &suite.err), ERR_INPUT);
    assert_int_equal(queue_document_remove(suite.queue, long_name, &done, &suite.err), ERR_INPUT);
    assert_int_equal(count_all(), 0);
    assert_true(put_kept("a", "kept long", 0, LIMIT_QUEUE_DOCUMENT_MS));
    expect("a", "kept long");
}

/* Names are what they are, and not those of jobs and notes. */
SUITE_TEST(names)
{
    static char longest[QUEUE_ID_BYTES];
    memset(longest, 'n', QUEUE_ID_BYTES - 1);
    const char *const names[] = {longest, "a", "A", "a b", "a:b", "a*", "a%", "'a'", "été", "日本"};
    size_t count = COUNT(names);
    suite_put("a");
    suite_ok(queue_register(suite.queue, "a", "note", 4, KEEP_MS, &suite.err));
    for (size_t i = 0; i < count; i++)
        assert_true(put(names[i], names[i], 0));
    for (size_t i = 0; i < count; i++)
        expect(names[i], names[i]);
    assert_true(drop("a*"));
    expect("a", "a");
    assert_int_equal(count_all(), count - 1);
    assert_int_equal(suite_get("a").state, QUEUE_QUEUED);
    suite_claim("a");
}

SUITE_TEST(bytes)
{
    static const size_t counts[] = {0, 1, 5000, LIMIT_QUEUE_BODY_BYTES};
    char *bytes = mem_alloc(LIMIT_QUEUE_BODY_BYTES);
    for (size_t i = 0; i < LIMIT_QUEUE_BODY_BYTES; i++)
        bytes[i] = (char)(i * 7 + i / 251); /* the first one is a NUL */
    int64_t version = 0;
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct queue_document document;
        bool written;
        suite_ok(queue_document_put(suite.queue, "a", bytes, counts[i], version, KEEP_MS, &written,
                                    &suite.err));
        assert_true(written);
        suite_ok(queue_document_get(suite.queue, "a", &document, &suite.err));
        assert_int_equal(document.count, counts[i]);
        assert_memory_equal(document.bytes, bytes, counts[i]);
        assert_int_equal(document.bytes[document.count], '\0');
        version = document.version;
        queue_document_deinit(&document);
    }
    mem_free(bytes);
    suite_reopen(NULL);
    assert_true(put("a", "smaller", version));
    assert_int_equal(expect("a", "smaller"), version + 1);
}

/* One reap is a bounded amount of work. */
SUITE_TEST(many_expire)
{
    char name[32];
    struct queue_reaping reaping;
    for (int i = 0; i < 350; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_true(put_kept(name, name, 0, i % 7 ? 10000 : 60000));
    }
    assert_int_equal(count_all(), 350);
    assert_int_equal(suite_reap().expired, 0);
    suite.place->age(20000);
    suite_ok(queue_reap(suite.queue, &reaping, &suite.err));
    assert_true(reaping.more);
    assert_in_range(reaping.expired, 1, 299);
    assert_int_equal(reaping.expired + suite_reap().expired, 300);
    assert_int_equal(count_all(), 50);
    expect_none("1");
    expect("7", "7");
}

#define WRITERS 8
#define STEPS 25

struct crowd {
    struct queue *handles[2];
    _Atomic int failures, late;
};

struct writer {
    struct crowd *crowd;
    int number;
    pthread_t thread;
};

/* One more; false: another writer was first. Each writes a text of its own. */
static bool count_one(struct writer *writer, struct queue *queue, int step)
{
    struct queue_document document = {0};
    char text[64];
    bool written = false;
    int result = queue_document_get(queue, "counter", &document, NULL);
    long number = result == 0 ? strtol(document.bytes, NULL, 10) : 0;
    snprintf(text, sizeof text, "%ld by %d, step %d", number + 1, writer->number, step);
    if (result == 0 || result == ERR_MISSING)
        result = queue_document_put(queue, "counter", text, strlen(text), document.version, KEEP_MS,
                                    &written, NULL);
    queue_document_deinit(&document);
    writer->crowd->failures += result < 0;
    return written || result < 0;
}

static void *count_some(void *argument)
{
    struct writer *writer = argument;
    struct queue *queue = writer->crowd->handles[writer->number % 2];
    for (int i = 0; i < STEPS; i++)
        while (!count_one(writer, queue, i))
            writer->crowd->late++;
    return NULL;
}

SUITE_TEST(no_step_of_many_writers_is_lost)
{
    struct crowd crowd = {.handles = {suite.queue}};
    struct writer writers[WRITERS];
    struct queue_document document;
    crowd.handles[1] = queue_suite_open(suite.place, suite.url, NULL);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.crowd = &crowd, .number = i};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, count_some, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    queue_close(crowd.handles[1]);
    assert_int_equal(crowd.failures, 0);
    assert_true(crowd.late > 0); /* else nothing was shown */
    suite_ok(queue_document_get(suite.queue, "counter", &document, &suite.err));
    assert_int_equal(strtol(document.bytes, NULL, 10), WRITERS * STEPS);
    queue_document_deinit(&document);
    assert_int_equal(count_all(), 1);
}
