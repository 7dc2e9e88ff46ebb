#include "base/printable.h"

#include "base/array.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Characters that are not seen, or move or hide others: C1, and of Unicode's format characters and
 * separators those that reorder text (bidi), join or break it, or carry a hidden copy of ASCII. */
static const struct {
    uint32_t first, last;
} unseen[] = {
    {0x80, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},   {0x115F, 0x1160},
    {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
    {0x3164, 0x3164}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
};

static uint32_t code_point(const char *at, size_t length)
{
    uint32_t value = (unsigned char)at[0] & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; i++)
        value = value << 6 | ((unsigned char)at[i] & 0x3F);
    return value;
}

size_t printable_sequence(const char *at, size_t left)
{
    unsigned char first = (unsigned char)at[0];
    if (first < 0x80)
        return first >= ' ' && first != 0x7F;
    size_t length = utf8_sequence(at, left);
    uint32_t value = code_point(at, length);
    for (size_t i = 0; length > 0 && i < COUNT(unseen); i++)
        if (value >= unseen[i].first && value <= unseen[i].last)
            return 0;
    return length;
}

size_t printable_text(char *text, bool lines)
{
    size_t width = 0;
    size_t left = strlen(text);
    char *to = text;
    for (const char *from = text; left > 0; width++) {
        size_t length = lines && *from == '\n' ? 1 : printable_sequence(from, left);
        size_t taken = length > 0 ? length : 1;
        memmove(to, length > 0 ? from : *from == '\t' ? " " : "?", taken);
        to += taken;
        from += taken;
        left -= taken;
    }
    *to = '\0';
    return width;
}
