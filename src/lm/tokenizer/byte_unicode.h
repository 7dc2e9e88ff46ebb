/* byte_unicode: the byte-to-unicode table of GPT-2, in which a tokenizer.json spells byte-level
 * vocabularies: a visible byte of Latin-1 stands for itself, the others are U+0100 and on.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The character of a byte. */
uint32_t byte_unicode_of(uint8_t byte);
/* The byte of a character; -1: it stands for none. */
int byte_unicode_byte(uint32_t character);

/* Decodes UTF-8 text in that spelling to bytes in `out` (as long as the text); returns their
 * number, or -1 where a character is not in the table. */
ptrdiff_t byte_unicode_bytes(const char *text, size_t count, char *out);
/* Writes the byte's character as UTF-8; 1 or 2 bytes. */
size_t byte_unicode_write(uint8_t byte, char out[2]);
