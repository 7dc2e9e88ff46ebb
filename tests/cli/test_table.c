#include "../support/test.h"
#include "cli/table.h"

#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct table *example(void)
{
    struct table *table = table_new("problem|>speedup|note");
    table_cell(table, STYLE_NONE, "softmax");
    table_cell(table, STYLE_GOOD, "%.2fx", 4.5);
    table_cell(table, STYLE_NONE, "%s", "");
    table_cell(table, STYLE_NONE, "a much longer name");
    table_cell(table, STYLE_BAD, "%.2fx", 123.456);
    table_cell(table, STYLE_FAINT, "slow");
    return table;
}

TEST(aligned)
{
    struct table *table = example();
    struct buf out;
    buf_init(&out, 10000);
    table_render(table, false, &out);
    assert_string_equal(out.data, "problem             speedup  note\n"
                                  "softmax               4.50x\n"
                                  "a much longer name  123.46x  slow\n");
    buf_reset(&out);
    table_render(table, true, &out);
    assert_string_equal(
        out.data, "\033[1mproblem\033[0m             \033[1mspeedup\033[0m  \033[1mnote\033[0m\n"
                  "softmax               \033[32m4.50x\033[0m\n"
                  "a much longer name  \033[31m123.46x\033[0m  \033[2mslow\033[0m\n");
    buf_deinit(&out);
    table_free(table);
}

TEST(untitled_and_incomplete)
{
    struct table *table = table_new("");
    struct buf out;
    buf_init(&out, 1000);
    table_render(table, true, &out);
    assert_string_equal(out.data, "");
    table_column(table, "", TABLE_LEFT);
    table_column(table, "", TABLE_LEFT);
    table_render(table, true, &out);
    assert_string_equal(out.data, "");
    table_cell(table, STYLE_NONE, "a");
    table_cell(table, STYLE_NONE, "b");
    table_cell(table, STYLE_NONE, "ccc");
    table_render(table, true, &out);
    assert_string_equal(out.data, "a    b\nccc\n");
    buf_deinit(&out);
    table_free(table);
    table_free(NULL);
}

TEST(text_of_strangers)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"\033[2Jgone", "?[2Jgone|"},
        {"line\nbreak\ttab\r", "line?break tab?|"},
        {"\x7f", "?|"},
        {"\xc2\x9b"
         "31m",
         "??31m|"}, /* C1: a terminal may take it for ESC [ */
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f|"},
        {"\xff\xfe", "??|"},
        {"cut \xe2\x82", "cut ??|"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80|"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct table *table = table_new("");
        struct buf out;
        buf_init(&out, 1000);
        table_column(table, "", TABLE_LEFT);
        table_column(table, "", TABLE_LEFT);
        table_cell(table, STYLE_NONE, "%s", rows[i].text);
        table_cell(table, STYLE_NONE, "|");
        table_render(table, false, &out);
        char expected[64];
        int length = (int)strcspn(rows[i].shown, "|");
        snprintf(expected, sizeof expected, "%.*s  |\n", length, rows[i].shown);
        assert_string_equal(out.data, expected);
        buf_deinit(&out);
        table_free(table);
    }
}

/* The last column takes what the others leave of the width. */
TEST(fit)
{
    static const struct {
        const char *text;
        size_t width, least;
        const char *shown;
    } rows[] = {
        {"abcdef", 10, 2, "one   abc…"},
        {"abcdef", 12, 2, "one   abcdef"},
        {"abcdefg", 11, 2, "one   abcd…"},
        {"abcdefg", 0, 3, "one   ab…"},
        {"\xc3\xa4\xc3\xb6\xc3\xbc", 8, 1, "one   \xc3\xa4…"},
        {"abcdefg", SIZE_MAX, 1, "one   abcdefg"},
        {"", 0, 1, "one"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct table *table = table_new("four|");
        struct buf out;
        char expected[64];
        buf_init(&out, 1000);
        table_cell(table, STYLE_NONE, "one");
        table_cell(table, STYLE_NONE, "%s", rows[i].text);
        table_fit(table, rows[i].width, rows[i].least);
        table_render(table, false, &out);
        snprintf(expected, sizeof expected, "four\n%s\n", rows[i].shown);
        assert_string_equal(out.data, expected);
        buf_deinit(&out);
        table_free(table);
    }
}

TEST(when_to_colour)
{
    int master, terminal, ends[2];
    struct winsize size = {.ws_row = 24, .ws_col = 117};
    assert_int_equal(openpty(&master, &terminal, NULL, NULL, &size), 0);
    assert_int_equal(pipe(ends), 0);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    assert_true(style_wanted(terminal));
    assert_false(style_wanted(ends[1]));
    assert_int_equal(style_width(terminal), 117);
    assert_int_equal(style_width(ends[1]), 0);
    setenv("NO_COLOR", "1", 1);
    assert_false(style_wanted(terminal));
    setenv("NO_COLOR", "", 1);
    assert_true(style_wanted(terminal));
    setenv("TERM", "dumb", 1);
    assert_false(style_wanted(terminal));
    unsetenv("TERM");
    assert_false(style_wanted(terminal));
    close(master);
    close(terminal);
    close(ends[0]);
    close(ends[1]);
}
