#include "../support/test.h"
#include "base/mem.h"
#include "base/utf8.h"

/* Shortest forms, no surrogates, nothing beyond U+10FFFF; what is not whole is none. */
TEST(sequence)
{
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {{"a", 1},
                {"\xC3\xA4", 2},
                {"\xE2\x82\xAC", 3},
                {"\xF0\x9F\x98\x80", 4},
                {"\xF4\x8F\xBF\xBF", 4},
                {"\xC0\x80", 0},
                {"\xC3", 0},
                {"\xC3(", 0},
                {"\xE0\x80\x80", 0},
                {"\xED\xA0\x80", 0},
                {"\xE2\x82", 0},
                {"\xF0\x8F\xBF\xBF", 0},
                {"\xF4\x90\x80\x80", 0},
                {"\xFF", 0},
                {"\x80", 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t count = strlen(rows[i].text);
        assert_int_equal(utf8_sequence(rows[i].text, count), rows[i].length);
        assert_true(utf8_is_valid(rows[i].text, count) == (rows[i].length > 0));
    }
    assert_int_equal(utf8_sequence("", 1), 1);
    assert_true(utf8_is_valid("", 0) && utf8_is_valid("a\xC3\xA4z", 4));
}

/* Every cut of a text with characters of one to four bytes is text, and as long as it can be. */
TEST(cut)
{
    const char text[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z";
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t most = 0; most < COUNT(kept); most++) {
        assert_int_equal(utf8_cut(text, strlen(text), most), kept[most]);
        assert_true(utf8_is_valid(text, kept[most]));
    }
    assert_int_equal(utf8_cut("\x80\x80\x80", 3, 2), 0);
}

TEST(mend)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *text;
        size_t replaced;
    } rows[] = {{"", 0, "", 0},
                {"a\xC3\xA4z", 4, "a\xC3\xA4z", 0},
                {"a\0b", 3, "a\uFFFDb", 1},
                {"\xFF\xFE", 2, "\uFFFD\uFFFD", 2},
                {"\xC0\x80", 2, "\uFFFD\uFFFD", 2},
                {"\xED\xA0\x80.", 4, "\uFFFD\uFFFD\uFFFD.", 3},
                {"x\xE2\x82", 3, "x\uFFFD\uFFFD", 2}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t length;
        char *text = utf8_mended(rows[i].bytes, rows[i].count, &length);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(length, strlen(rows[i].text));
        assert_int_equal(utf8_replaced(text), rows[i].replaced);
        mem_free(text);
    }
}
