/* likeness: how much two programs are the same one, whoever renamed, laid out and commented them.
 *
 * A text is read as tokens of Python or of C and CUDA. Comments, docstrings, imports, annotations,
 * constants of a module and the functions that make inputs are passed over; numbers and strings are
 * all alike; a name of its own is told only by how far back it was last used, so that renaming
 * changes nothing; names from outside (torch.relu, expf) and keywords stay. What remains is a set
 * of hashes, one for each run of LIKENESS_RUN tokens, of which a sketch keeps the smallest
 * (bottom-k, Broder 1997): likeness is the Jaccard index of two sets, exact as long as both have
 * no more than LIKENESS_KEPT hashes, else with an error of about 0.03.
 *
 * Two texts are near where they are that like, or where they take the same names from outside and
 * are half as like: the same operations, written down in another way. docs/guide/retrieval.md says why
 * these bounds.
 *
 * Threads: any.
 */
#ifndef WARPGYM_RETRIEVAL_LIKENESS_H
#define WARPGYM_RETRIEVAL_LIKENESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKENESS_RUN 4
#define LIKENESS_KEPT 128
#define LIKENESS_NEAR 0.75
#define LIKENESS_NEAR_SAME_NAMES 0.5

struct sketch {
    uint32_t count;
    uint32_t names; /* of all names from outside, whatever their order; 0: there are none */
    bool all;       /* no hash was left out */
    uint32_t hashes[LIKENESS_KEPT]; /* ascending */
};

void sketch_of(const char *text, size_t count, struct sketch *sketch);
/* 0 to 1; 0 where one of them is empty. */
double sketch_likeness(const struct sketch *a, const struct sketch *b);
bool sketch_is_near(const struct sketch *a, const struct sketch *b);

/* As bytes in a database: SKETCH_BYTES at most. */
#define SKETCH_BYTES (8 + 4 * LIKENESS_KEPT)
size_t sketch_write(const struct sketch *sketch, unsigned char bytes[SKETCH_BYTES]);
NODISCARD int sketch_read(struct sketch *sketch, const void *bytes, size_t count, struct err *err);

#endif
