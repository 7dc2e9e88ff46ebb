#include "base/utf8.h"

#include "base/buf.h"

#include <string.h>

size_t utf8_sequence(const char *at, size_t left)
{
    const unsigned char *byte = (const unsigned char *)at;
    if (byte[0] < 0x80)
        return 1;
    size_t length = byte[0] <= 0xDF ? 2 : byte[0] <= 0xEF ? 3 : 4;
    if (byte[0] < 0xC2 || byte[0] > 0xF4 || left < length)
        return 0;
    unsigned char low = byte[0] == 0xE0 ? 0xA0 : byte[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = byte[0] == 0xED ? 0x9F : byte[0] == 0xF4 ? 0x8F : 0xBF;
    if (byte[1] < low || byte[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((byte[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

bool utf8_is_valid(const char *bytes, size_t count)
{
    size_t length = 1;
    for (size_t i = 0; i < count && length > 0; i += length)
        length = utf8_sequence(bytes + i, count - i);
    return length > 0;
}

char *utf8_mended(const char *bytes, size_t count, size_t *length_out)
{
    size_t good = 0;
    struct buf out;
    buf_init(&out, 3 * count);
    for (size_t i = 0; i < count;) {
        size_t length = bytes[i] ? utf8_sequence(bytes + i, count - i) : 0;
        if (length == 0) {
            buf_append(&out, bytes + good, i - good);
            buf_puts(&out, UTF8_REPLACEMENT);
            good = i + 1;
        }
        i += length ? length : 1;
    }
    buf_append(&out, bytes + good, count - good);
    if (length_out)
        *length_out = out.len;
    return buf_take(&out);
}

size_t utf8_replaced(const char *text)
{
    size_t count = 0;
    for (; (text = strstr(text, UTF8_REPLACEMENT)); text++)
        count++;
    return count;
}

size_t utf8_cut(const char *text, size_t count, size_t most)
{
    if (count <= most)
        return count;
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

size_t utf8_count(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}
