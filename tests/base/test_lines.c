/* Lines of a file: where they end, which are passed over, and how long they may be. */
#include "base/lines.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LONG_BYTES 200000 /* more than is read at once */

static char path[] = "/tmp/warpgym-lines-XXXXXX";

FIXTURE(set_up)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

FIXTURE(tear_down)
{
    unlink(path);
    return 0;
}

TEST_GROUP(set_up, tear_down);

static struct lines *open_text(const char *text, size_t count, size_t max_bytes)
{
    struct lines *lines;
    assert_int_equal(file_write_atomic(path, text, count, 0600, NULL), 0);
    assert_int_equal(lines_open(&lines, path, max_bytes, NULL), 0);
    return lines;
}

static const struct {
    const char *text;
    const char *lines[4];
    size_t numbers[4];
} cases[] = {
    {"", {NULL}, {0}},
    {"a", {"a"}, {1}},
    {"a\n", {"a"}, {1}},
    {"a\nb", {"a", "b"}, {1, 2}},
    {"\n \t\r\n\na\n\nb\n\n", {"a", "b"}, {4, 6}},
    {"a\r\n", {"a\r"}, {1}},
    {" a \n", {" a "}, {1}},
};

TEST(lines)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct lines *lines = open_text(cases[i].text, strlen(cases[i].text), 64);
        const char *text;
        size_t count;
        for (size_t k = 0; cases[i].lines[k]; k++) {
            assert_int_equal(lines_next(lines, &text, &count, NULL), 1);
            assert_string_equal(text, cases[i].lines[k]);
            assert_int_equal(count, strlen(text));
            assert_int_equal(lines_number(lines), cases[i].numbers[k]);
        }
        assert_int_equal(lines_next(lines, &text, &count, NULL), 0);
        lines_close(lines);
    }
}

TEST(any_byte)
{
    static const char bytes[] = "a\0b\xff\nc";
    struct lines *lines = open_text(bytes, sizeof bytes - 1, 64);
    const char *text;
    size_t count;
    assert_int_equal(lines_next(lines, &text, &count, NULL), 1);
    assert_int_equal(count, 4);
    assert_memory_equal(text, bytes, 4);
    lines_close(lines);
}

TEST(bound)
{
    char *text = mem_alloc(LONG_BYTES + 3);
    const char *line;
    size_t count;
    struct err err;
    memset(text, 'x', LONG_BYTES);
    text[LONG_BYTES] = '\n';
    text[LONG_BYTES + 1] = 'y';
    for (size_t spare = 0; spare < 2; spare++) {
        struct lines *lines = open_text(text, LONG_BYTES + 2, LONG_BYTES - 1 + spare);
        int result = lines_next(lines, &line, &count, &err);
        assert_int_equal(result, spare ? 1 : ERR_LIMIT);
        if (spare)
            assert_int_equal(count, LONG_BYTES);
        else
            assert_non_null(strstr(err.text, ":1: a line of more than the 199999 bytes"));
        assert_int_equal(lines_next(lines, &line, &count, &err), 1); /* the one after it */
        assert_string_equal(line, "y");
        assert_int_equal(lines_number(lines), 2);
        assert_int_equal(lines_end(lines), LONG_BYTES + 2);
        lines_close(lines);
    }
    mem_free(text);
}

TEST(what_is_no_file)
{
    struct lines *lines;
    assert_int_equal(lines_open(&lines, "/nowhere/x", 64, NULL), ERR_MISSING);
    assert_int_equal(lines_open(&lines, "/tmp", 64, NULL), ERR_INPUT);
    assert_null(lines);
    lines_close(NULL);
}
