/* sketch: how similar two programs are, ignoring names, layout and comments.
 *
 * A text is read as tokens of Python, or of C and its kin. Comments, docstrings, imports,
 * annotations, module constants and the functions that make inputs are skipped; numbers and strings
 * are all equal; a local name counts only by how far back it was last used, so that renaming
 * changes nothing; external names (torch.relu, expf) and keywords stay. The result is a set of
 * hashes, one for each run of SKETCH_SHINGLE tokens, of which a sketch keeps the smallest
 * (bottom-k, Broder 1997): the similarity is the Jaccard index of two sets, exact as long as both
 * have at most SKETCH_HASHES hashes, else with an error of about 0.03.
 *
 * Two texts are near if their similarity is SKETCH_NEAR, or SKETCH_NEAR_SAME_NAMES when they use
 * the same external names: the same operations, written differently. docs/guide/retrieval.md
 * explains the bounds.
 *
 * Threads: pure.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKETCH_SHINGLE 4
#define SKETCH_HASHES 128
#define SKETCH_NEAR 0.75
#define SKETCH_NEAR_SAME_NAMES 0.5

struct sketch {
    uint32_t count;
    uint32_t names;                 /* of all external names, in any order; 0: none */
    bool all;                       /* no hash was left out */
    uint32_t hashes[SKETCH_HASHES]; /* ascending */
};

void sketch_of(const char *text, size_t count, struct sketch *sketch);
/* 0 to 1; 0 if one of them is empty. */
double sketch_similarity(const struct sketch *a, const struct sketch *b);
bool sketch_is_near(const struct sketch *a, const struct sketch *b);

/* As bytes in a database: SKETCH_BYTES at most. */
#define SKETCH_BYTES (8 + 4 * SKETCH_HASHES)
size_t sketch_write(const struct sketch *sketch, unsigned char bytes[SKETCH_BYTES]);
NODISCARD int sketch_read(struct sketch *sketch, const void *bytes, size_t count, struct err *err);
