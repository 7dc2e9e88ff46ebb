/* analyzer: the search terms of a source text.
 *
 *   identifiers   in lower case, whole and split at case changes, underscores and digits:
 *                 log_softmax2D is log_softmax2d, and at the same position log, then softmax
 *   numbers       of two to six digits
 *   @             matmul, where it is Python's operator
 *   left out      other operators, single letters, keywords of C, C++, CUDA and Python, words of
 *                 nearly every text (torch, nn, self, forward) and stop words (of, each, then)
 *   merged        plurals (rows, row), and synonyms (gemm, bmm, mm: matmul)
 *
 * Comments and strings are included, because they describe the computation; a line "Category: …" is
 * not, because it labels it. Accepts any bytes; non-ASCII bytes count as letters. Threads: pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define WORD_BYTES 48 /* the longest, with its NUL; the rest is cut off */

struct analyzer_word {
    char text[WORD_BYTES];
    size_t length;
    bool beside;       /* at the position of the word before it: a part of it, or a synonym */
    size_t start, end; /* in the text */
};

/* Calls `visit` with each word until it returns non-zero, and returns that value. */
int analyzer_each(const char *text, size_t count,
                  int (*visit)(void *context, const struct analyzer_word *word), void *context);
