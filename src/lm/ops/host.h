/* host: memory handling for backends whose memory is the process's own.
 *
 * Memory is aligned to LM_HOST_ALIGNMENT bytes: a cache line, and the widest vector there is.
 */
#pragma once

#include "lm/ops/backend.h"

#define LM_HOST_ALIGNMENT 64

/* Fills in alloc, free, zero, copy, upload, download and wait. */
void lm_host_memory(struct lm_backend *backend);
