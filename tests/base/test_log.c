#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int ends[2];

static int setup(void **state)
{
    (void)state;
    if (pipe2(ends, O_NONBLOCK) < 0)
        return -1;
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    log_set_fd(ends[1]);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    log_set_fd(STDERR_FILENO);
    log_set_level(LOG_LEVEL_WARN);
    log_set_hooks(NULL, NULL, NULL);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static size_t received(char *text, size_t text_bytes)
{
    ssize_t got = read(ends[0], text, text_bytes - 1);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* What stands behind the time stamp of the one record received. */
static void assert_record(const char *expected)
{
    static const char shape[] = "time=0000-00-00T00:00:00.000Z ";
    char text[LOG_RECORD_BYTES + 1];
    size_t length = sizeof shape - 1;
    assert_true(received(text, sizeof text) > length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(shape[i] == '0' && isdigit((unsigned char)text[i]) ? '0' : text[i],
                         shape[i]);
    assert_true(strncmp(text, "time=2", 6) == 0);
    assert_string_equal(text + length, expected);
}

static void test_records(void **state)
{
    (void)state;
    char nothing[10];
    log_write(LOG_LEVEL_WARN, "cache", "full: %d bytes", 5);
    assert_record("level=warn module=cache msg=\"full: 5 bytes\"\n");
    log_write(LOG_LEVEL_ERROR, "cache", "bare");
    assert_record("level=error module=cache msg=bare\n");
    log_write(LOG_LEVEL_INFO, "cache", "quiet by default");
    log_event(LOG_LEVEL_DEBUG, "cache", "quiet by default", "a", "b", NULL);
    assert_int_equal(received(nothing, sizeof nothing), 0);
    log_set_level(LOG_LEVEL_DEBUG);
    log_event(LOG_LEVEL_DEBUG, "judge", "done", "path", "/a/b", "text", "a \"b\" = \\\n\x1b[2J",
              "empty", "", NULL);
    assert_record("level=debug module=judge msg=done path=/a/b "
                  "text=\"a \\\"b\\\" = \\\\\\n\\x1b[2J\" empty=\"\"\n");
    log_event(LOG_LEVEL_INFO, "judge", "a value of NULL ends the fields", "a", NULL, NULL);
    assert_record("level=info module=judge msg=\"a value of NULL ends the fields\"\n");
    log_set_level(LOG_LEVEL_ERROR);
    assert_false(log_enabled(LOG_LEVEL_WARN));
    assert_true(log_enabled(LOG_LEVEL_ERROR));
}

static void test_too_long_is_cut(void **state)
{
    (void)state;
    static char big[3 * LOG_RECORD_BYTES], text[2 * LOG_RECORD_BYTES];
    memset(big, 'x', sizeof big - 1);
    log_event(LOG_LEVEL_WARN, "m", "long", "big", big, "more", big, NULL);
    assert_int_equal(received(text, sizeof text), LOG_RECORD_BYTES);
    assert_int_equal(text[LOG_RECORD_BYTES - 1], '\n');
    log_write(LOG_LEVEL_WARN, "m", "%s", big);
    size_t length = received(text, sizeof text);
    assert_true(length > 0 && length <= LOG_RECORD_BYTES && text[length - 1] == '\n');
}

static void test_json(void **state)
{
    (void)state;
    static char big[3 * LOG_RECORD_BYTES], text[2 * LOG_RECORD_BYTES];
    log_set_format(LOG_FORMAT_JSON);
    log_event(LOG_LEVEL_WARN, "m", "a \"b\"\n\x1b", "id", "\xc3\xa9\xff\xed\xa0\x80\\", NULL);
    size_t length = received(text, sizeof text);
    const char *behind = strstr(text, "\"level\"");
    assert_true(length > 0 && strncmp(text, "{\"time\":\"2", 10) == 0 && behind);
    assert_string_equal(behind, "\"level\":\"warn\",\"module\":\"m\",\"msg\":\"a \\\"b\\\"\\u000a\\u001b\","
                                "\"id\":\"\xc3\xa9\\ufffd\\ufffd\\ufffd\\ufffd\\\\\"}\n");
    memset(big, '"', sizeof big - 1);
    log_event(LOG_LEVEL_WARN, "m", "long", "small", "1", "big", big, "more", "2", NULL);
    length = received(text, sizeof text);
    assert_true(length > 0 && length <= LOG_RECORD_BYTES);
    assert_string_equal(text + length - strlen(",\"small\":\"1\"}\n"), ",\"small\":\"1\"}\n");
    log_set_format(LOG_FORMAT_TEXT);
}

static int hidden, most_hidden, shown;

static void hide(void *context)
{
    assert_ptr_equal(context, &hidden);
    hidden++;
    most_hidden = hidden > most_hidden ? hidden : most_hidden;
}

static void show(void *context)
{
    assert_ptr_equal(context, &hidden);
    hidden--;
    shown++;
}

static void *write_many(void *data)
{
    (void)data;
    for (int i = 0; i < 200; i++)
        log_write(LOG_LEVEL_WARN, "thread", "record number %d", i);
    return NULL;
}

static void test_hooks_and_threads(void **state)
{
    (void)state;
    static char text[1 << 20];
    pthread_t threads[4];
    log_set_hooks(hide, show, &hidden);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(hidden, 0);
    assert_int_equal(most_hidden, 1);
    assert_int_equal(shown, 800);
    size_t used = 0, got;
    while ((got = received(text + used, sizeof text - used)) > 0)
        used += got;
    int lines = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest), lines++) {
        assert_int_equal(strncmp(line, "time=", 5), 0);
        assert_non_null(strstr(line, " level=warn module=thread msg=\"record number "));
    }
    assert_int_equal(lines, 800);
}

static void test_a_closed_log_fails_nothing(void **state)
{
    (void)state;
    log_set_fd(-1);
    errno = 1234;
    log_write(LOG_LEVEL_ERROR, "m", "nobody reads this");
    assert_int_equal(errno, 1234);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_records),
        TEST(test_too_long_is_cut),
        TEST(test_json),
        TEST(test_hooks_and_threads),
        TEST(test_a_closed_log_fails_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
