#include "../support/test.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];

FIXTURE(setup)
{
    if (pipe2(ends, O_NONBLOCK) < 0)
        return -1;
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    log_set_fd(ends[1]);
    return 0;
}

FIXTURE(teardown)
{
    log_set_fd(STDERR_FILENO);
    log_set_level(LOG_LEVEL_WARN);
    log_set_format(LOG_FORMAT_TEXT);
    log_set_job(NULL);
    log_set_hooks(NULL, NULL, NULL);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

TEST_EACH(setup, teardown);

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

TEST(records)
{
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

TEST(too_long_is_cut)
{
    static char big[3 * LOG_RECORD_BYTES], text[2 * LOG_RECORD_BYTES];
    memset(big, 'x', sizeof big - 1);
    log_event(LOG_LEVEL_WARN, "m", "long", "big", big, "more", big, NULL);
    size_t cut = received(text, sizeof text);
    assert_true(cut > LOG_RECORD_BYTES - 8 && cut <= LOG_RECORD_BYTES && text[cut - 1] == '\n');
    log_write(LOG_LEVEL_WARN, "m", "%s", big);
    size_t length = received(text, sizeof text);
    assert_true(length > 0 && length <= LOG_RECORD_BYTES && text[length - 1] == '\n');
}

/* The one record received; the caller's. */
static json_t *receive_object(void)
{
    char text[2 * LOG_RECORD_BYTES];
    json_error_t why;
    size_t length = received(text, sizeof text);
    assert_true(length > 0 && length <= LOG_RECORD_BYTES && text[length - 1] == '\n');
    assert_null(memchr(text, '\n', length - 1));
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!object)
        fail_msg("%s in: %s", why.text, text);
    return object;
}

static void assert_field(const json_t *object, const char *key, const char *value)
{
    const char *found = json_string_value(json_object_get(object, key));
    if (!found || strcmp(found, value) != 0)
        fail_msg("%s is '%s', not '%s'", key, found ? found : "(none)", value);
}

TEST(json)
{
    static const struct {
        const char *value, *read;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"a \"b\" \\ c\n\r\t\x1b\x7f", "a \"b\" \\ c\n\r\t\x1b\x7f"},
        {"\xc3\xa9 \xf0\x9f\x98\x80", "\xc3\xa9 \xf0\x9f\x98\x80"},
        {"\xff \xc3", "\xef\xbf\xbd \xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    log_set_format(LOG_FORMAT_JSON);
    for (size_t i = 0; i < COUNT(rows); i++) {
        log_event(LOG_LEVEL_WARN, "m", rows[i].value, "field", rows[i].value, NULL);
        json_t *object = receive_object();
        assert_field(object, "level", "warn");
        assert_field(object, "module", "m");
        assert_field(object, "msg", rows[i].read);
        assert_field(object, "field", rows[i].read);
        assert_int_equal(json_object_size(object), 5);
        json_decref(object);
    }
}

/* Wherever the cut falls: between fields, in an escape, in a character of several bytes. */
TEST(cut_json_is_json)
{
    static char big[LOG_RECORD_BYTES + 64];
    static const char *const fillers[] = {"x", "\n", "\"", "\x01", "\xf0\x9f\x98\x80", "\xff"};
    log_set_format(LOG_FORMAT_JSON);
    for (size_t f = 0; f < COUNT(fillers); f++)
        for (size_t count = LOG_RECORD_BYTES - 200; count < LOG_RECORD_BYTES; count++) {
            size_t width = strlen(fillers[f]), used = 0;
            for (; used + width <= count; used += width)
                memcpy(big + used, fillers[f], width);
            big[used] = '\0';
            log_event(LOG_LEVEL_WARN, "m", "long", "big", big, "more", "behind it", NULL);
            json_t *object = receive_object();
            assert_field(object, "msg", "long");
            json_decref(object);
        }
}

static void *log_elsewhere(void *data)
{
    log_set_job(data);
    log_write(LOG_LEVEL_WARN, "m", "elsewhere");
    return NULL;
}

TEST(job)
{
    char other[] = "other job";
    pthread_t thread;
    assert_null(log_set_job("one"));
    log_write(LOG_LEVEL_WARN, "m", "here");
    assert_record("level=warn module=m job=one msg=here\n");
    assert_int_equal(pthread_create(&thread, NULL, log_elsewhere, other), 0);
    pthread_join(thread, NULL);
    assert_record("level=warn module=m job=\"other job\" msg=elsewhere\n");
    assert_string_equal(log_job(), "one");
    log_set_format(LOG_FORMAT_JSON);
    log_write(LOG_LEVEL_WARN, "m", "here");
    json_t *object = receive_object();
    assert_field(object, "job", "one");
    json_decref(object);
    assert_string_equal(log_set_job(NULL), "one");
    log_write(LOG_LEVEL_WARN, "m", "no job");
    object = receive_object();
    assert_null(json_object_get(object, "job"));
    json_decref(object);
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
    for (int i = 0; i < 200; i++)
        log_write(LOG_LEVEL_WARN, "thread", "record number %d", i);
    return NULL;
}

TEST(hooks_and_threads)
{
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

TEST(a_closed_log_fails_nothing)
{
    log_set_fd(-1);
    errno = 1234;
    log_write(LOG_LEVEL_ERROR, "m", "not read");
    assert_int_equal(errno, 1234);
}
