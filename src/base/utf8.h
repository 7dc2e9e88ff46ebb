/* utf8: what a byte string of unknown origin holds, sequence by sequence. */
#ifndef WARPGYM_BASE_UTF8_H
#define WARPGYM_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Length of the sequence at `at`, of which `left` (at least one) bytes are there; 0 where it is not
 * one (RFC 3629, table 3-7 of Unicode: shortest form, no surrogates). A NUL is a sequence. */
size_t utf8_sequence(const char *at, size_t left);
/* Whether all of it is. Nothing is, too. */
bool utf8_is_valid(const char *bytes, size_t count);
/* How much of a text to keep where at most `most` bytes are wanted: no half of a character. */
size_t utf8_cut(const char *text, size_t count, size_t most);

#endif
