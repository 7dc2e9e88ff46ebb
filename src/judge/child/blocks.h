/* blocks: large memory that a process keeps when it frees it.
 *
 * A block that is freed serves the next request for as many bytes. What lies free longest goes back
 * to the kernel once all free blocks together exceed BLOCKS_KEPT_BYTES; a block of more is never
 * kept. So what a request costs follows from the requests before it alone: two processes that make
 * the same ones soon have the same blocks, whatever else they have had from malloc.
 *
 * Blocks lie in large pages where the kernel has some, and begin at different distances from a
 * large page's beginning, one after the other: many arrays that are read together, all of them
 * aligned alike, would meet in the same places of a cache.
 *
 * Ownership: block_take's memory is the caller's until block_free. Threads: any. Errors: NULL and
 * ENOMEM, when the kernel has no memory even after all free blocks were given back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BLOCK_ALIGNMENT 64
#define BLOCKS_KEPT_BYTES ((size_t)1 << 30)
#define BLOCK_POISON 0xff /* NaN in any floating-point type */

void *block_take(size_t bytes);
/* Where it is kept, its first `poisoned` bytes become BLOCK_POISON. False: it is none of these, and
 * nothing has happened. */
bool block_free(void *memory, size_t poisoned);
/* Of all blocks that are free. */
size_t blocks_kept(void);
/* All free blocks to the kernel. */
void blocks_give_back(void);
