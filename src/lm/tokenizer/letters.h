/* letters: the bytes of byte-level vocabularies as printable characters, which is how a
 * tokenizer.json spells them (GPT-2's table): a visible byte of Latin-1 stands for itself, the
 * others are U+0100 and on.
 */
#ifndef WARPGYM_LM_TOKENIZER_LETTERS_H
#define WARPGYM_LM_TOKENIZER_LETTERS_H

#include <stddef.h>
#include <stdint.h>

/* The character of a byte. */
uint32_t letters_of(uint8_t byte);
/* The byte of a character; -1: it stands for none. */
int letters_byte(uint32_t character);

/* The bytes that UTF-8 text of such letters stands for, into `out` (as long as the text); how many,
 * or -1 where a character is none of them. */
ptrdiff_t letters_bytes(const char *text, size_t count, char *out);
/* Writes the letter as UTF-8; 1 or 2 bytes. */
size_t letters_write(uint8_t byte, char out[2]);

#endif
