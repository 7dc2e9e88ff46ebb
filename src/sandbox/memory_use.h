/* memory_use: how much of this machine's memory a process takes, as the kernel counts it.
 *
 * For a process whose address space cannot be bounded, because a driver reserves more of that than
 * any limit would allow. Memory counts that is not freed while the process lives: anonymous and
 * shared pages, what of them was swapped out, and page tables: 4 KiB for 2 MiB of addresses,
 * however little lies there. Pages of files can be dropped and do not count, up to
 * MEMORY_USE_FILE_BYTES: beyond what libraries need they are memory that a driver made.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMORY_USE_FILE_BYTES ((uint64_t)8 << 30)

/* Of a process; 0 where it is gone. `family`: of all that descend from it, too, which takes a
 * moment for each of their threads. */
uint64_t memory_use_bytes(pid_t pid, bool family);

/* The most that a process had in memory at once, pages of files included; 0 where it is gone. */
uint64_t memory_use_peak_bytes(pid_t pid);

/* memory_use_bytes of one text of /proc/PID/status. */
uint64_t memory_use_of_status(const char *status);
