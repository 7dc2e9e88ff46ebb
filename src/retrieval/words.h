/* words: what a source text says, as a search engine wants it.
 *
 *   identifiers   in lower case, whole and cut at case changes, underscores and digits:
 *                 log_softmax2D -> log_softmax2d (place 0), log (0), softmax (1)
 *   numbers       of two to six digits
 *   @             matmul, where it is an operator of Python
 *   left out      other operators, single letters, keywords of C, C++, CUDA and Python, and what nearly
 *                 every text has (torch, nn, self, forward): they would tell nothing apart
 *   made one      plurals (rows, row), and names of one thing (gemm, bmm, mm: matmul)
 *
 * Comments and strings count: there people say what they compute. Not so a line "Category: …", which
 * is what others want to find out. Any bytes will do; what is not ASCII is taken for letters.
 * Threads: any.
 */
#ifndef WARPGYM_RETRIEVAL_WORDS_H
#define WARPGYM_RETRIEVAL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#define WORD_BYTES 48 /* the longest, with its NUL; more is cut off */

struct word {
    char text[WORD_BYTES];
    size_t length;
    bool beside;       /* at the place of the one before it: a part of it, or it itself */
    size_t start, end; /* in the text */
};

/* Calls `visit` with each until it returns non-zero, and returns that. */
int words_each(const char *text, size_t count, int (*visit)(void *context, const struct word *word),
               void *context);

#endif
