/* code_tokens: the tokens of a source text that decide what it computes. See sketch.h.
 *
 * Python is recognised by its lines; a long string in Python (the CUDA source of an extension) is
 * read as C. Accepts any bytes: an unterminated string or comment ends with the text. Threads:
 * pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls `visit` with a hash of each token. `outside`: the name is defined elsewhere, for example in
 * a library. */
void code_tokens_each(const char *text, size_t count,
                      void (*visit)(void *context, uint32_t token, bool outside), void *context);
