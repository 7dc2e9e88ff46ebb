/* segments: GPU memory of a PyTorch process that its judge can read, too.
 *
 *   PyTorch's caching allocator ─ segments_alloc ─► memory made as a descriptor ─ SEGMENT ─► judge
 *   the judge's slots           ─ descriptor ─► segments_map ─► an address for tensors
 *
 * PyTorch asks for memory in segments of 2 MB and more and divides them itself, so that tensors
 * cost what they always cost. Each segment is a descriptor of its own: the judge reads outputs
 * where they lie, and a process cannot name memory that is not its own, as it could with the
 * driver's legacy handles, which are only bytes.
 *
 * Making memory takes the driver ten calls in child and judge, which wait while any context is made
 * or ended. So repeated requests for the same large size are served from larger chunks.
 *
 * PyTorch calls its allocator back without a context, so there is one pool for each process. Called
 * from Python through ctypes (python/warpgym/gpu.py). Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* `channel` to the judge; `driver` as in cuda_open. 0, or negative and a text. */
int segments_open(int channel, const char *driver, char *text, size_t text_bytes);

/* What torch.cuda.memory.CUDAPluggableAllocator calls. NULL: there is no memory left. */
void *segments_alloc(ssize_t wanted, int device, void *stream);
void segments_free(void *address, ssize_t bytes, int device, void *stream);

/* Whether it lies in memory that the judge knows. */
bool segments_hold(const void *address);

/* The judge's memory in place of what was mapped before; 0: it cannot be. */
uint64_t segments_map(int descriptor, uint64_t bytes);
