/* program: the part of the child protocol that programs from outside speak: include/warpgym_child.h.
 *
 * What it has in common with wire.h is the same there, byte for byte, so that calls take one way
 * through the judge whoever answers them; what may change in wire.h has a message of its own here.
 */
#ifndef WARPGYM_JUDGE_PROCESS_EXTERNAL_PROGRAM_H
#define WARPGYM_JUDGE_PROCESS_EXTERNAL_PROGRAM_H

#include "problem/problem.h"

#include "warpgym_child.h"

/* OPEN, for a native problem. `file`: what the source is called. */
void external_program_open(const struct problem *problem, const char *file, uint32_t threads,
                           struct warpgym_child_open *open);

#endif
