/* shared_memory: memory that the judge and one child both map, sealed against shrinking.
 *
 * If a child computes on it, all of its pages are there from the start: none is made while a clock
 * runs. That takes about a microsecond a page, so it is made beforehand, beside other work,
 * wherever possible. Ownership: the caller's storage; zeroed is none. Threads: one at a time.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared {
    char *data; /* NULL: none */
    size_t bytes;
    int fd;
};

/* Zeroed memory in place of what `shared` holds. `whole`: with all of its pages. */
NODISCARD int shared_make(struct shared *shared, const char *name, uint64_t bytes, bool whole,
                          struct err *err);
void shared_free(struct shared *shared);
