/* cache: builds, addressed by the content that they were made of.
 *
 *   DIRECTORY/ab/cdef…   one file for each key: object bytes, diagnostics, footer
 *   DIRECTORY/swept      when old entries were last looked for; locked by the process that does it
 *
 * The object comes first, so the dynamic loader takes an entry as it is (it never looks behind the
 * sections). The footer holds a SHA-256 over key, outcome, lengths, object and diagnostics: an
 * entry that was cut short, changed or put under a wrong name is not found and is replaced by the
 * next build. A failed build has an entry without an object.
 *
 * Any number of processes and threads share a directory. An entry appears whole, by rename, and is
 * never changed; the last to publish wins. Sweeping removes the longest unused entries, and never
 * one that was used in the last CACHE_GRACE_S seconds, so a path that was just handed out stays.
 * Losing an entry, or the directory, costs a build and nothing else; nothing here is synced to
 * disk.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

#define CACHE_DEFAULT_MAX_BYTES ((uint64_t)2 << 30)
#define CACHE_GRACE_S 900
#define CACHE_SWEEP_INTERVAL_S 600

struct cache_entry {
    bool ok;               /* false: a failed build; the entry holds no object */
    char *path;            /* of the entry: mem_free */
    uint64_t object_bytes; /* that it begins with */
    char *diagnostics;     /* never NULL: mem_free */
};

/* Whether there is a sound entry. Marks it as used. */
bool cache_get(const char *directory, const char key[HASH_HEX_BYTES], struct cache_entry *entry);

/* Publishes the object in `object_fd` (read from its start; -1: a failed build) with its
 * diagnostics. *path is the entry's, the caller's to mem_free; NULL on failure. */
NODISCARD int cache_put(const char *directory, const char key[HASH_HEX_BYTES], int object_fd,
                        const char *diagnostics, char **path, struct err *err);

/* Sweeps when the last sweep is old enough and no other process sweeps. Best effort; returns
 * whether a sweep was due. */
bool cache_tend(const char *directory, uint64_t max_bytes);

/* Removes what a killed process left half written and, while entries take more than max_bytes, the
 * longest unused ones down to nine tenths of it. Returns how many bytes remain. */
uint64_t cache_sweep(const char *directory, uint64_t max_bytes);
