/* printable: foreign text, made safe to show: in a terminal, a log, a page, a prompt.
 *
 * Text of a candidate, a compiler or a server passes one of these where it enters, so that what is
 * kept and shown has neither escape sequences nor characters that hide or reorder others (U+202E).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at `at`, with `left` (at least one) bytes available; 0 where it is invalid
 * UTF-8, a control character or a format character (bidi, zero width, tags). */
size_t printable_sequence(const char *at, size_t left);
/* Replaces, in place, each byte that is not printable so by '?', and a tab by a blank; keeps line
 * feeds where `lines`. Returns the width in code points. */
size_t printable_text(char *text, bool lines);
