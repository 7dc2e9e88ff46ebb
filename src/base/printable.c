#include "base/printable.h"

#include "base/utf8.h"

#include <string.h>

/* Bytes of the sequence at `at`; 0: not printable. */
static size_t printable(const char *at, size_t left)
{
    unsigned char first = (unsigned char)at[0];
    if (first < 0x80)
        return first >= ' ' && first != 0x7F;
    size_t length = utf8_sequence(at, left);
    bool control = length == 2 && first == 0xC2 && (unsigned char)at[1] < 0xA0;
    return control ? 0 : length;
}

size_t printable_text(char *text, bool lines)
{
    size_t width = 0;
    size_t left = strlen(text);
    char *to = text;
    for (const char *from = text; left > 0; width++) {
        size_t length = lines && *from == '\n' ? 1 : printable(from, left);
        size_t taken = length > 0 ? length : 1;
        memmove(to, length > 0 ? from : "?", taken);
        to += taken;
        from += taken;
        left -= taken;
    }
    *to = '\0';
    return width;
}
