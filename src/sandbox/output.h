/* output: what a sandboxed process prints: its standard output and error, in memory that the judge
 * reads from outside.
 *
 *   process ─ write ─► memory of SANDBOX_OUTPUT_BYTES, sealed ─ sandbox_output_read ─► judge
 *
 * The memory can neither grow nor shrink, so that a process can print as much as it likes: what
 * does not fit is not written (EPERM), nothing blocks, and it need not be read meanwhile. Both
 * standard descriptors are one open file, so that lines stay in their order. Each process has its
 * own, made after the fork. The judge copies from it and never maps it: what the process does to it
 * is its own loss. Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SANDBOX_OUTPUT_BYTES 65536 /* a multiple of every page size: a write is cut at its end */

/* In the process, once it has entered its sandbox: descriptors 1 and 2 become such memory, and C's
 * stdout keeps nothing back. The descriptor for the judge, which is one of them; -1: there is none
 * to be had, and they stay as they are. */
int sandbox_output_make(void);

/* The first bytes, `capacity` at most, and how many were written; `fd` ≤ 0: none. */
size_t sandbox_output_read(int fd, char *into, size_t capacity, uint64_t *written);
