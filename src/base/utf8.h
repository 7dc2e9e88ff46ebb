/* utf8: validation of a byte string, sequence by sequence. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define UTF8_REPLACEMENT "\xEF\xBF\xBD"
/* For people. */
#define UTF8_REPLACED                                                                              \
    "U+FFFD, which stands for what is no text: NUL, invalid UTF-8, half a surrogate pair"

/* Length of the sequence at `at`, with `left` (at least one) bytes available; 0 where it is invalid
 * (RFC 3629, table 3-7 of Unicode: shortest form, no surrogates). A NUL is a sequence. */
size_t utf8_sequence(const char *at, size_t left);
/* Whether all bytes are valid UTF-8; the empty string is. */
bool utf8_is_valid(const char *bytes, size_t count);
/* Any bytes as text: each byte that is no UTF-8, and each NUL, becomes U+FFFD. At most three times
 * as long. mem_free; *length (may be NULL): its bytes. */
char *utf8_mended(const char *bytes, size_t count, size_t *length);
/* How many characters of a text are U+FFFD. */
size_t utf8_replaced(const char *text);
/* Characters of valid UTF-8. */
size_t utf8_count(const char *text);
/* Bytes of the longest prefix of at most `most` bytes that splits no character. */
size_t utf8_cut(const char *text, size_t count, size_t most);
