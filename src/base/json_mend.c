#include "base/json_mend.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE_BYTES 6 /* \uXXXX */

static const char replacement[] = "\\uFFFD";

/* The number of an escape \uXXXX at `at`; -1: there is none. */
static long escaped(const char *at, size_t left)
{
    char digits[5] = "";
    if (left < ESCAPE_BYTES || at[0] != '\\' || at[1] != 'u')
        return -1;
    memcpy(digits, at + 2, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

static bool is_high(long number)
{
    return number >= 0xD800 && number <= 0xDBFF;
}

static bool is_low(long number)
{
    return number >= 0xDC00 && number <= 0xDFFF;
}

/* Appends what begins at `at`, within a string; returns its bytes. */
static size_t mend_one(const char *at, size_t left, struct buf *out)
{
    size_t length = utf8_sequence(at, left);
    if (*at == '\\') {
        long number = escaped(at, left);
        bool pair = is_high(number) && is_low(escaped(at + ESCAPE_BYTES, left - ESCAPE_BYTES));
        length = pair ? 2 * ESCAPE_BYTES : number >= 0 ? ESCAPE_BYTES : left > 1 ? 2 : 1;
        if (number == 0 || (!pair && (is_high(number) || is_low(number)))) {
            buf_puts(out, replacement);
            return length;
        }
    }
    if (length == 0)
        buf_puts(out, UTF8_REPLACEMENT);
    else
        buf_append(out, at, length);
    return length ? length : 1;
}

/* Bytes at `at` that stay as they are: all outside strings, for they are the sender's and not a
 * model's; within one those before a quote, an escape or what is no ASCII. */
static size_t untouched(const char *at, size_t left, bool inside)
{
    size_t count = 0;
    while (count < left && at[count] != '"' &&
           !(inside && (at[count] == '\\' || (unsigned char)at[count] >= 0x80)))
        count++;
    return count;
}

static void mend(const char *text, size_t count, struct buf *out)
{
    bool inside = false;
    for (size_t i = 0; i < count;) {
        size_t same = untouched(text + i, count - i, inside);
        bool quote = i + same < count && text[i + same] == '"';
        same += quote;
        buf_append(out, text + i, same);
        inside ^= quote;
        i += same;
        if (!quote && i < count)
            i += mend_one(text + i, count - i, out);
    }
}

int json_parse_mended(const char *name, size_t line, const char *text, size_t count, json_t **out,
                      struct err *err)
{
    struct buf mended;
    if (json_parse_line(name, line, text, count, out, err) == 0)
        return 0;
    buf_init(&mended, 3 * count + 1);
    mend(text, count, &mended);
    int result = json_parse_line(name, line, mended.data, mended.len, out, err);
    buf_deinit(&mended);
    return result;
}
