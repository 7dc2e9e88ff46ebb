/* code_tokens: a source text as the tokens that decide what it computes. See likeness.h.
 *
 * Whether it is Python is guessed from its lines; a long string in Python (the CUDA source of an
 * extension) is read as C. Any bytes will do: what is never closed ends with the text.
 */
#ifndef WARPGYM_RETRIEVAL_CODE_TOKENS_H
#define WARPGYM_RETRIEVAL_CODE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls `visit` with a hash of each token. `outside`: the name of something that others define, a
 * function of a library, say. */
void code_tokens_each(const char *text, size_t count,
                      void (*visit)(void *context, uint32_t token, bool outside), void *context);

#endif
