/* external_program: the part of the child protocol that programs of languages from outside speak
 * (include/warpgym_child.h).
 *
 * What it has in common with wire.h is the same there, byte for byte, so that all calls take one
 * path through the judge; what may change in wire.h has a message of its own here. Threads: the
 * child's session.
 */
#pragma once

#include "base/err.h"
#include "problem/layout.h"
#include "problem/problem.h"

#include "warpgym_child.h"

/* What a sandboxed process becomes, and what it is sent. */
struct child_program {
    const char *const *argv, *const *environment; /* NULL-terminated */
    const char *const *readable;                  /* in its sandbox; NULL-terminated */
    const struct warpgym_child_open *open;
};

/* OPEN, for a native problem. `file`: what the source is called. */
void external_program_open(const struct problem *problem, const char *file, uint32_t threads,
                           struct warpgym_child_open *open);
/* MAP, of a child whose slot has that many bytes. */
void external_program_map(const struct layout *layout, uint64_t memory_bytes,
                          struct warpgym_child_map *map);
