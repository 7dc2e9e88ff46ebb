#include "../support/test.h"
#include "base/json.h"
#include "base/toml.h"

#include <stdlib.h>

/* As Python's tomllib reads them. */
static const struct {
    const char *text, *json;
} read_rows[] = {
    {"", "{}"},
    {"# only a comment", "{}"},
    {"a = 1\nb.c = true # words\n\"d e\" = false\r\n",
     "{\"a\":1,\"b\":{\"c\":true},\"d e\":false}"},
    {"[x.y]\na = -1.5\n[x]\nb = 1_000\n", "{\"x\":{\"y\":{\"a\":-1.5},\"b\":1000}}"},
    {"a = \"t\\tq\\\"\\u00e9\\U0001F600\"", "{\"a\":\"t\\tq\\\"é😀\"}"},
    {"a = 'c:\\d'", "{\"a\":\"c:\\\\d\"}"},
    {"a = \"\"\"\nline {x}\n \\\n   more \"\"\"\"", "{\"a\":\"line {x}\\n more \\\"\"}"},
    {"a = '''\r\n''x\\'''", "{\"a\":\"''x\\\\\"}"},
    {"a = [\n  [\"b\", 'c'], # two\n  [],\n]\n", "{\"a\":[[\"b\",\"c\"],[]]}"},
    {"a = \"\"", "{\"a\":\"\"}"},
};

TEST(what_it_reads)
{
    for (size_t i = 0; i < sizeof read_rows / sizeof *read_rows; i++) {
        struct err err;
        json_t *got = NULL, *wanted = json_loads(read_rows[i].json, 0, NULL);
        assert_ok(toml_parse("x", read_rows[i].text, strlen(read_rows[i].text), &got, &err), &err);
        if (!json_equal(got, wanted))
            fail_msg("row %zu: %s", i, json_dumps(got, 0));
        json_decref(got);
        json_decref(wanted);
    }
}

static const struct {
    const char *text, *said;
} refused_rows[] = {
    {"a", "x:1: '=' is missing"},
    {"\n\na = ", "x:3: a string, a number"},
    {"a = 1 b = 2", "x:1: nothing more"},
    {"a = \"b", "does not end"},
    {"a = \"b\nc\"", "x:1: a string does not end"},
    {"a = '''b\n\n", "x:3: a string does not end"},
    {"a = \"\\x\"", "unknown escape"},
    {"a = \"\\ud800\"", "names no character"},
    {"a = \"\\u12\"", "4 or 8 hexadecimal"},
    {"a = 1\na = 2", "x:2: a key is given twice"},
    {"a = 1\n[a]", "x:2: a table has the name of a value"},
    {"a = 1\na.b = 2", "leads into a value"},
    {"[[a]]", "arrays of tables"},
    {"[a", "']' is missing"},
    {"a = {b = 1}", "a string, a number"},
    {"a = 1979-05-27", "a string, a number"},
    {"a = [1 2]", "',' or ']' is missing"},
    {"a = [1,", "is expected"},
    {"a = [[[[[[[[[[1]]]]]]]]]]", "too deep"},
    {"a.a.a.a.a.a.a.a.a.a = 1", "too many names"},
    {"= 1", "a key is expected"},
    {"a = \"\xff\"", "UTF-8"},
};

TEST(what_it_refuses)
{
    for (size_t i = 0; i < sizeof refused_rows / sizeof *refused_rows; i++) {
        struct err err;
        json_t *got;
        const char *text = refused_rows[i].text;
        assert_int_equal(toml_parse("x", text, strlen(text), &got, &err), ERR_INPUT);
        assert_null(got);
        if (!strstr(err.text, refused_rows[i].said))
            fail_msg("row %zu: %s", i, err.text);
    }
}
