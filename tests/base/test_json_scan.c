#include "../support/test.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "base/mem.h"

#include <math.h>

static struct json_slice slice_of(const char *text)
{
    return (struct json_slice){text, strlen(text)};
}

static void check_slice(struct json_slice slice, const char *text)
{
    if (!json_slice_is(slice, text))
        fail_msg("'%.*s' is not '%s'", (int)slice.count, slice.text, text);
}

TEST(members)
{
    struct json_scan scan;
    struct json_slice key, value;
    const char *text =
        " {\"a\" : 1,\"b\":\"}\\\"\\\\\", \"c\":[{\"x\":\"]\"},2] ,\"d\":null,\"\":{}} ";
    const char *const rows[][2] = {
        {"a", "1"}, {"b", "\"}\\\"\\\\\""}, {"c", "[{\"x\":\"]\"},2]"}, {"d", "null"}, {"", "{}"}};
    assert_int_equal(json_scan_begin(&scan, slice_of(text)), 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(json_scan_next(&scan, &key, &value), 1);
        check_slice(key, rows[i][0]);
        check_slice(value, rows[i][1]);
    }
    assert_int_equal(json_scan_next(&scan, &key, &value), 0);
}

TEST(refused)
{
    static const char *const rows[] = {
        "",
        "1",
        "[]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":\"x}",
        "{\"a\":[1}",
        "{a:1}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\" 1}",
        "{\"a\":1} x",
        "{\"a\":\"\\\"}",
        "{\"a\":1 \"b\":2}",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct json_scan scan;
        struct json_slice key, value;
        int result = json_scan_begin(&scan, slice_of(rows[i]));
        while (result == 0 && (result = json_scan_next(&scan, &key, &value)) > 0)
            result = 0;
        if (result >= 0)
            fail_msg("accepted: %s", rows[i]);
    }
}

TEST(one_member)
{
    struct json_slice object = slice_of("{\"a\":{\"b\":2.5,\"b\":3},\"t\":\"x\\u00fc\\n\"}");
    struct json_slice inner = json_scan_member(object, "a");
    assert_float_equal(json_slice_number(json_scan_member(inner, "b")), 2.5, 0);
    assert_null(json_scan_member(inner, "c").text);
    assert_null(json_scan_member(json_scan_member(inner, "b"), "c").text);
    assert_null(json_scan_member((struct json_slice){0}, "c").text);
    char *text = json_slice_text(json_scan_member(object, "t"));
    assert_string_equal(text, "x\xc3\xbc\n");
    mem_free(text);
    assert_null(json_slice_text(inner));
    assert_null(json_slice_text((struct json_slice){0}));
}

TEST(numbers)
{
    static const struct {
        const char *text;
        double value; /* NAN: it is none */
    } rows[] = {{"0", 0},      {"-1.5e3", -1500}, {"null", NAN}, {"\"1\"", NAN},
                {"true", NAN}, {"1x", NAN},       {"inf", NAN},  {"nan", NAN},
                {"-", NAN},    {"", NAN},         {"[1]", NAN}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        double value = json_slice_number(slice_of(rows[i].text));
        if (isnan(rows[i].value) ? !isnan(value) : value != rows[i].value)
            fail_msg("%s is %g", rows[i].text, value);
    }
}
