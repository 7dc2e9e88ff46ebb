#include "../support/test.h"
#include "base/json.h"
#include "base/json_mend.h"

/* In strings of any kind everything is text. */
TEST(strings)
{
    static const struct {
        const char *json, *text; /* text: of the key "a" */
    } rows[] = {
        {"{\"a\": \"plain \\u00e4\"}", "plain \u00e4"},
        {"{\"a\": \"x\\u0000y\"}", "x\uFFFDy"},
        {"{\"a\": \"\\ud800\"}", "\uFFFD"},
        {"{\"a\": \"\\udc00\\ud800\"}", "\uFFFD\uFFFD"},
        {"{\"a\": \"\\ud83d\\ude00\\u0000\"}", "\xF0\x9F\x98\x80\uFFFD"},
        {"{\"a\": \"\\ud83d\\ud83d\\ude00\"}", "\uFFFD\xF0\x9F\x98\x80"},
        {"{\"a\": \"\\ud83d\\n\"}", "\uFFFD\n"},
        {"{\"a\": \"\xFF\\u0000\"}", "\uFFFD\uFFFD"},
        {"{\"a\": \"\xC0\x80\"}", "\uFFFD\uFFFD"},
        {"{\"a\": \"\xED\xA0\x80\"}", "\uFFFD\uFFFD\uFFFD"},
        {"{\"a\": \"\\\\u0000 \\\" \xFF\"}", "\\u0000 \" \uFFFD"},
        {"{\"b\\u0000\": 1, \"a\": \"\"}", ""},
        {"{\"a\": \"\xEF\xBB\xBF\xFF\"}", "\uFEFF\uFFFD"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *value;
        struct err err;
        assert_ok(json_parse_mended("t", 1, rows[i].json, strlen(rows[i].json), &value, &err),
                  &err);
        assert_string_equal(json_text_at(value, "a"), rows[i].text);
        json_decref(value);
    }
}

/* Outside of them the sender speaks, as it does with control characters that are not escaped. */
TEST(still_errors)
{
    static const struct {
        const char *json;
        size_t count;
    } rows[] = {
        {"", 0},
        {"\xEF\xBB\xBF[]", 5},
        {"[\"a\"\xFF]", 6},
        {"[\"a\0b\"]", 7},
        {"[\"a\nb\"]", 7},
        {"[\"\\u00\"]", 8},
        {"[\"\\ud800\"", 9},
        {"[\"\\ud800", 8},
        {"[\"\\", 3},
        {"[\"\xE2", 3},
        {"{\"\xFF\": 1, \"\xFE\": 2}", 16}, /* the same key twice, then */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *value;
        struct err err;
        if (json_parse_mended("t", 7, rows[i].json, rows[i].count, &value, &err) != ERR_INPUT)
            fail_msg("row %zu is taken", i);
        assert_ptr_equal(strstr(err.text, "t:7:"), err.text);
    }
}
