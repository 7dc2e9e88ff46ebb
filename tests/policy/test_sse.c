/* Server-sent events, by the examples of the standard and against every way to cut them up. */
#include "policy/sse.h"

#include "../support/test.h"

#define MOST_BYTES 1000

/* Events are joined with '|', so that one text says all. */
static int keep(void *context, const char *data, size_t count, struct err *err)
{
    struct buf *out = context;
    if (strcmp(data, "stop") == 0)
        return err_set(err, ERR_INPUT, "stopped");
    assert_int_equal(strlen(data), count);
    buf_puts(out, data);
    buf_puts(out, "|");
    return 0;
}

/* In portions of `step` bytes. */
static int feed(const char *bytes, size_t count, size_t step, struct buf *out, struct err *err)
{
    struct sse sse;
    int result = 0;
    sse_init(&sse, MOST_BYTES, keep, out);
    for (size_t at = 0; at < count && result == 0; at += step)
        result = sse_feed(&sse, bytes + at, count - at < step ? count - at : step, err);
    sse_deinit(&sse);
    return result;
}

TEST(streams)
{
    static const struct {
        const char *bytes, *events;
    } rows[] = {
        {"", ""},
        {"data: a\n\n", "a|"},
        {"data: a\n", ""}, /* no empty line: no event */
        {"data: a", ""},
        {"data:a\n\ndata:  b\n\n", "a| b|"}, /* one space belongs to the field */
        {"data: a\r\rdata: b\r\r", "a|b|"},
        {"data: a\r\n\r\ndata: b\r\n\r\n", "a|b|"},
        {"data: a\n\r\ndata: b\r\n\n", "a|b|"},
        {"data: a\ndata: b\n\n", "a\nb|"},
        {"data\ndata\n\n", "\n|"},
        {"data\n\n", "|"},
        {"data:\n\n", "|"},
        {"\n\n\ndata: a\n\n\n", "a|"},
        {": comment\n\n:\n\ndata: a\n: more\n\n", "a|"},
        {"event: x\nid: 3\nretry: 9\ndata: a\n\n", "a|"},
        {"event: x\n\n", ""}, /* nothing of ours in it */
        {"dat: a\ndatas: b\n data: c\n\n", ""},
        {"\xEF\xBB\xBF"
         "data: a\n\n\xEF\xBB\xBF"
         "data: b\n\n",
         "a|"},
        {"data: {\"a\": \"b: c\"}\n\n", "{\"a\": \"b: c\"}|"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t count = strlen(rows[i].bytes);
        for (size_t step = 1; step <= count + 1; step++) {
            struct buf out;
            buf_init(&out, MOST_BYTES);
            assert_int_equal(feed(rows[i].bytes, count, step, &out, NULL), 0);
            if (strcmp(out.data, rows[i].events) != 0)
                fail_msg("row %zu in steps of %zu: %s", i, step, out.data);
            buf_deinit(&out);
        }
    }
}

/* What is too long is an error, not a shorter event. */
TEST(bounds)
{
    static const struct {
        size_t first, second; /* bytes of two lines of data */
        int result;
    } rows[] = {
        {MOST_BYTES - 6, 0, 0},
        {MOST_BYTES - 5, 0, ERR_LIMIT}, /* the line */
        {MOST_BYTES / 2, MOST_BYTES / 2 - 1, 0},
        {MOST_BYTES / 2, MOST_BYTES / 2, ERR_LIMIT}, /* the event */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf in, out;
        struct err err = {0};
        buf_init(&in, 4096);
        buf_init(&out, 4096);
        buf_puts(&in, "data: ");
        for (size_t n = 0; n < rows[i].first; n++)
            buf_puts(&in, "x");
        buf_puts(&in, "\ndata: ");
        for (size_t n = 0; n < rows[i].second; n++)
            buf_puts(&in, "y");
        buf_puts(&in, "\n\n");
        for (size_t step = 1; step < in.len; step = step * 3 + 1) {
            buf_reset(&out);
            int result = feed(in.data, in.len, step, &out, &err);
            if (result != rows[i].result)
                fail_msg("row %zu in steps of %zu: %d %s", i, step, result, err.text);
        }
        assert_int_equal(out.len, rows[i].result ? 0 : rows[i].first + rows[i].second + 2);
        buf_deinit(&in);
        buf_deinit(&out);
    }
}

TEST(stops)
{
    static const char bytes[] = "data: a\n\ndata: stop\n\ndata: b\n\n";
    struct buf out;
    struct err err = {0};
    buf_init(&out, MOST_BYTES);
    assert_int_equal(feed(bytes, sizeof bytes - 1, sizeof bytes, &out, &err), ERR_INPUT);
    assert_string_equal(out.data, "a|");
    assert_string_equal(err.text, "stopped");
    buf_deinit(&out);
}

TEST(reset)
{
    struct buf out;
    struct sse sse;
    buf_init(&out, MOST_BYTES);
    sse_init(&sse, MOST_BYTES, keep, &out);
    assert_int_equal(sse_feed(&sse, "data: lost\ndata: half", 21, NULL), 0);
    sse_reset(&sse);
    assert_int_equal(sse_feed(&sse, "\n\ndata: a\n\n", 11, NULL), 0);
    assert_string_equal(out.data, "a|");
    sse_deinit(&sse);
    buf_deinit(&out);
}
