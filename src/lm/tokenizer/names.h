/* names: byte strings, each with an id; an index of a vocabulary. It grows as it is filled.
 *
 * Ownership: the strings stay their owner's and must outlive the index. Threads: read-only once
 * filled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name {
    const char *bytes; /* NULL: a free slot */
    uint32_t count;
    int32_t id;
};

struct names { /* but for the seed, zero to begin with */
    struct name *slots;
    size_t slot_count, count;
    uint64_t seed;
};

void names_deinit(struct names *names);
/* false: it is there already, and stays as it was. */
bool names_put(struct names *names, const char *bytes, size_t count, int32_t id);
/* -1: it is not there. */
int32_t names_find(const struct names *names, const char *bytes, size_t count);
