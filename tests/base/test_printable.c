/* What strangers' text may do to a terminal: nothing. */
#include "../support/test.h"
#include "base/printable.h"

#include <stdio.h>

static const struct {
    const char *from, *to;
    size_t width;
    bool lines;
} rows[] = {
    {"", "", 0, false},
    {"plain", "plain", 5, false},
    {"gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F", 4, false},
    {"a\nb", "a?b", 3, false},
    {"a\nb\r\n", "a\nb?\n", 5, true},
    {"\x1B[31mred", "?[31mred", 8, false},
    {"\x7F\x01\t", "?? ", 3, true},
    {"\xC2\x9B"
     "31m",
     "??31m", 5, true}, /* CSI, by one character of C1 */
    {"\xC2\x9D"
     "0;title",
     "??0;title", 9, false},
    {"\xC2\xA0", "\xC2\xA0", 1, false},
    {"\xFF\xC3", "??", 2, false},
    {"\xED\xA0\x80", "???", 3, false}, /* half a surrogate */
    {"\xF0\x9F\x9A\x80", "\xF0\x9F\x9A\x80", 1, false},
    {"a\xE2\x80\xAE"
     "b",
     "a???b", 5, true},                                    /* U+202E: what follows, backwards */
    {"\xE2\x81\xA6\xE2\x81\xA9", "??????", 6, false},      /* U+2066, U+2069: isolates */
    {"\xD8\x9C\xC2\xAD\xEF\xBB\xBF", "???????", 7, false}, /* ALM, soft hyphen, BOM */
    {"\xE2\x80\x8B\xE2\x80\xA8", "??????", 6, false},      /* zero width, line separator */
    {"\xF3\xA0\x81\x81", "????", 4, false},                /* U+E0041: a hidden 'A' */
    {"\xE2\x80\x94\xE2\x82\xAC", "\xE2\x80\x94\xE2\x82\xAC", 2, false}, /* dash, euro */
};

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", rows[i].from);
        size_t width = printable_text(text, rows[i].lines);
        assert_string_equal(text, rows[i].to);
        assert_int_equal(width, rows[i].width);
    }
}
