/* backend: the memory that holds a model's arrays, and the ops that compute on them.
 *
 *   "reference"  plain scalar loops, one thread; what every other backend is held against
 *   "cpu"        OpenBLAS, a pool of threads and vectorised loops
 *
 * A backend is a table of ops and of ways to handle its memory. On the CPU that memory is the
 * process's own; code above must not know: it moves bytes with upload and download, and never looks
 * through a pointer of the backend's. Elements are of one type (`dtype`), f32 on the CPU.
 *
 * Threads: one thread at a time drives a backend; several backends may be open at once.
 */
#pragma once

#include "base/word_table.h"
#include "lm/ops/ops.h"

enum lm_dtype { LM_F32, LM_BF16, LM_F16 };

struct lm_backend {
    const char *name;
    enum lm_dtype dtype;
    size_t threads;
    /* The owner may set it between two ops: a row of what a sampler computes (all ops but attention
     * and logprob) has the same bits however many rows are computed with it. The reference backend
     * is so anyway; on the CPU prompts take longer then. */
    bool invariant;
    const struct lm_ops *ops;
    /* NULL where there is no room; contents are not set. */
    void *(*alloc)(struct lm_backend *backend, size_t bytes);
    void (*free)(struct lm_backend *backend, void *memory); /* NULL is fine */
    void (*zero)(struct lm_backend *backend, void *memory, size_t bytes);
    void (*copy)(struct lm_backend *backend, void *to, const void *from, size_t bytes);
    void (*upload)(struct lm_backend *backend, void *to, const void *host, size_t bytes);
    void (*download)(struct lm_backend *backend, void *host, const void *from, size_t bytes);
    /* What was asked for is done; the first thing that went wrong since the last call. */
    int (*wait)(struct lm_backend *backend, struct err *err);
    void (*close)(struct lm_backend *backend);
};

/* `threads` 0: one for each core that the process may use. ERR_MISSING: no such backend, or what it
 * needs is not on this machine. */
NODISCARD int lm_backend_open(struct lm_backend **out, const char *name, size_t threads,
                              struct err *err);
void lm_backend_close(struct lm_backend *backend);

/* As alloc, with a sentence: `what` names the thing that there is no room for. */
NODISCARD int lm_backend_alloc(struct lm_backend *backend, size_t bytes, const char *what,
                               void **out, struct err *err);
NODISCARD int lm_backend_wait(struct lm_backend *backend, struct err *err);

size_t lm_dtype_bytes(enum lm_dtype dtype);

extern const struct word_table lm_backend_words; /* what lm_backend_open knows */
/* The openers of these. */
int lm_reference_open(struct lm_backend **out, size_t threads, struct err *err);
int lm_cpu_open(struct lm_backend **out, size_t threads, struct err *err);
