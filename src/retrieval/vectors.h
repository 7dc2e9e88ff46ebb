/* vectors: unit vectors in a file, and exact nearest neighbours by linear search.
 *
 * Immutable once open. Ownership: the caller's storage. Threads: any number.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct vectors {
    const float *data; /* row after row */
    size_t rows, dimension, bytes;
};

struct vector_hit {
    uint64_t row;
    float similarity; /* the inner product */
};

/* ERR_PROTOCOL: the file has another size. */
NODISCARD int vectors_open(struct vectors *vectors, const char *path, size_t rows, size_t dimension,
                           struct err *err);
void vectors_close(struct vectors *vectors);

/* The nearest of the rows first..end-1, best first, the lower row first among equals; at most
 * `count`. Returns how many. */
size_t vectors_nearest(const struct vectors *vectors, const float *query, uint64_t first,
                       uint64_t end, struct vector_hit *hits, size_t count);
