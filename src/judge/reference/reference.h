/* reference: the child that knows the answer, and the cache of those that no session uses.
 *
 *   reference_cache_take ─► judge a candidate ─► reference_cache_put
 *           ▲                                            │
 *           └────────────── cache ◄──────────────────────┘ (the oldest of its device is closed)
 *
 * Making one is expensive on a GPU (a context, PyTorch, weights), so the next evaluation of the
 * same problem on the same device takes a cached one. All references of a problem give candidates
 * the same: the weights follow from one seed of the judge's.
 *
 * Ownership: a reference belongs to its session, or to the cache. Threads: any may use a cache.
 */
#pragma once

#include "base/hash.h"
#include "compile/compile.h"
#include "judge/process/child.h"
#include "judge/reference/cases.h"
#include "judge/verdict.h"

#include <pthread.h>

/* How long a call takes by the reference's own clock; 0: not known yet. */
struct reference_pace {
    double call_ms;              /* as last seen */
    double alone_ms, scatter_ms; /* while there was no candidate: median, and between quartiles */
};

struct reference {
    char hash[HASH_HEX_BYTES]; /* struct session's; "" until it is ready to be called */
    struct child child;
    bool open, oracle;
    struct artifact artifact, oracle_artifact;  /* native */
    struct layout torch_layout;                 /* of a torch problem's inputs */
    struct cases cases;                         /* of a simple problem; count 0: it is none */
    int description, weights;                   /* torch: sealed copies for candidates; -1 */
    struct reference_pace paces[VERDICT_CASES]; /* of each timed case */
};

#define REFERENCE_NONE ((struct reference){.description = -1, .weights = -1})
#define REFERENCE_CACHE_PER_DEVICE 8 /* for each device */

struct cached_reference;

struct reference_cache {
    pthread_mutex_t lock;
    struct cached_reference *newest;
};

/* Ends its process and frees what it has; it is REFERENCE_NONE then. */
void reference_close(struct reference *reference);

void reference_cache_init(struct reference_cache *references);
void reference_cache_deinit(struct reference_cache *references);
/* The newest for that problem on that device (NULL: the CPU) that lives. False: none. */
bool reference_cache_take(struct reference_cache *references, const char *hash,
                          const struct gpu_context *gpu, struct reference *reference);
/* Whether it would find one now. */
bool reference_cache_has(struct reference_cache *references, const char *hash,
                         const struct gpu_context *gpu);
/* Takes it over. */
void reference_cache_put(struct reference_cache *references, struct reference *reference);
/* Closes all of that device: their memory is wanted. How many there were. */
int reference_cache_clear(struct reference_cache *references, const struct gpu_context *gpu);
