#include "lm/tokenizer/byte_unicode.h"

/* Invisible bytes, in their order, take the characters from U+0100 on: 00..20, 7F..A0, AD. */
enum { LOW = 0x21, MIDDLE = 0x22, SHIFTED = 0x100 };

uint32_t byte_unicode_of(uint8_t byte)
{
    if (byte <= 0x20)
        return SHIFTED + byte;
    if (byte >= 0x7F && byte <= 0xA0)
        return SHIFTED + LOW + (byte - 0x7FU);
    return byte == 0xAD ? SHIFTED + LOW + MIDDLE : byte;
}

int byte_unicode_byte(uint32_t character)
{
    if (character < SHIFTED)
        return byte_unicode_of((uint8_t)character) == character ? (int)character : -1;
    uint32_t place = character - SHIFTED;
    if (place < LOW)
        return (int)place;
    if (place < LOW + MIDDLE)
        return (int)(0x7F + place - LOW);
    return place == LOW + MIDDLE ? 0xAD : -1;
}

ptrdiff_t byte_unicode_bytes(const char *text, size_t count, char *out)
{
    ptrdiff_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = (const uint8_t *)text + i;
        uint32_t character = at[0];
        if (at[0] >= 0x80) {
            if (at[0] >> 5 != 6 || i + 1 == count) /* all letters have one or two bytes */
                return -1;
            character = (uint32_t)(at[0] & 0x1F) << 6 | (at[1] & 0x3F);
            i++;
        }
        int byte = byte_unicode_byte(character);
        if (byte < 0)
            return -1;
        out[found++] = (char)byte;
    }
    return found;
}

size_t byte_unicode_write(uint8_t byte, char out[2])
{
    uint32_t character = byte_unicode_of(byte);
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    out[0] = (char)(0xC0 | character >> 6);
    out[1] = (char)(0x80 | (character & 0x3F));
    return 2;
}
