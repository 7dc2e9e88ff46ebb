/* host: memory handling for backends whose memory is the process's own.
 *
 * Memory is aligned to LM_HOST_ALIGNMENT bytes: a cache line, and the widest vector there is.
 */
#ifndef WARPGYM_LM_OPS_HOST_H
#define WARPGYM_LM_OPS_HOST_H

#include "lm/ops/backend.h"

#define LM_HOST_ALIGNMENT 64

/* Fills in alloc, free, zero, copy, upload, download and wait. */
void lm_host_memory(struct lm_backend *backend);

#endif
