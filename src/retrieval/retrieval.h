/* retrieval: solved examples that resemble a question.
 *
 * An index is a directory: index.db (SQLite: examples, FTS5 with a code-aware tokenizer) and, where
 * it was built with embeddings, vectors.f32 (row-major unit vectors, one for each example).
 * Results of both searches are fused by reciprocal rank (k = 60).
 *
 * Leak guard, on by default: no example whose problem is the one asked about, whose text is its
 * reference, or that is a near-duplicate of either (docs/retrieval.md says how near).
 *
 * Threads: a struct retrieval may be used by any number of threads at once.
 * Errors: ERR_MISSING (no index there), ERR_UNSUPPORTED (a newer format), ERR_IO, ERR_INPUT.
 */
#ifndef WARPGYM_RETRIEVAL_RETRIEVAL_H
#define WARPGYM_RETRIEVAL_RETRIEVAL_H

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct retrieval;

struct retrieval_query {
    const char *text;       /* the problem's reference, or words */
    const char *language;   /* of the solutions: "c", "cuda", "triton", "torch-cuda"; NULL: any */
    const char *problem_id; /* that must not come back; NULL: none */
    size_t count;
    bool unguarded; /* without the leak guard */
};

NODISCARD int retrieval_open(struct retrieval **out, const char *directory,
                             const struct settings *settings, struct err *err);
void retrieval_close(struct retrieval *retrieval);

/* *examples: [{"name", "source", "language", "category", "reference", "solution", "speedup",
 * "score", "problem"}, …], best first. A new reference. */
NODISCARD int retrieval_search(struct retrieval *retrieval, const struct retrieval_query *query,
                               json_t **examples, struct err *err);

#endif
