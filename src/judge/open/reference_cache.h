/* reference_cache: references that no session uses.
 *
 *   reference_cache_take ─► judge a candidate ─► reference_cache_put
 *           ▲                                            │
 *           └────────────── cache ◄──────────────────────┘ (the oldest of its device are closed)
 *
 * Threads: any.
 */
#pragma once

#include "judge/open/reference.h"

#include <pthread.h>

#define REFERENCE_CACHE_PER_DEVICE 8
#define REFERENCE_CACHE_ALL UINT64_MAX

struct cached_reference;

struct reference_cache {
    pthread_mutex_t lock;
    struct cached_reference *newest;
};

void reference_cache_init(struct reference_cache *references);
void reference_cache_deinit(struct reference_cache *references);
/* The newest for that problem on that device (NULL: the CPU) that lives. False: none. */
bool reference_cache_take(struct reference_cache *references, const char *hash,
                          const struct gpu_context *gpu, struct reference *reference);
/* Whether it would find one now. */
bool reference_cache_has(struct reference_cache *references, const char *hash,
                         const struct gpu_context *gpu);
/* Takes it over. Those of its device may have so many bytes of its memory together. */
void reference_cache_put(struct reference_cache *references, struct reference *reference,
                         uint64_t bytes);
/* Closes the oldest of that device, until the others have no more than that together. */
void reference_cache_trim(struct reference_cache *references, const struct gpu_context *gpu,
                          uint64_t bytes);
/* Closes all of that device: their memory is wanted. How many there were. */
int reference_cache_clear(struct reference_cache *references, const struct gpu_context *gpu);
