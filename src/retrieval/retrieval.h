/* retrieval: solved examples that resemble a question.
 *
 * An index is a directory: index.db (SQLite: examples, FTS5 with a code-aware tokenizer) and, where
 * it was built with embeddings, vectors.f32 (row-major unit vectors, one for each example).
 * Results of both searches are fused by reciprocal rank (k = 60). The language is part of both
 * searches, so an index of one big and one small language finds as many of the small one.
 *
 * Leak guard, on by default: no example whose problem is the one asked about, whose reference or
 * solution is near its text (likeness.h), or whose solution is near one of those: under another
 * name or in another layout, too.
 *
 * Of examples with one reference, only one comes back, the fastest of its language; and no two
 * solutions that are near each other.
 *
 * Threads: a struct retrieval may be searched by any number of threads at once; retrieval_withhold
 * comes before them.
 * Errors: ERR_MISSING (no index there), ERR_UNSUPPORTED (another format), ERR_IO, ERR_INPUT
 * (another model of embeddings than the index was built with, say).
 */
#ifndef WARPGYM_RETRIEVAL_RETRIEVAL_H
#define WARPGYM_RETRIEVAL_RETRIEVAL_H

#include "base/err.h"
#include "base/settings.h"
#include "problem/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct retrieval;

struct retrieval_query {
    const char *text;       /* the problem's reference, or words */
    const char *title;      /* its name and summary, which help to find; NULL: none */
    const char *language;   /* of the solutions: "c", "cuda", "triton", "torch-cuda"; NULL: any */
    const char *problem_id; /* that must not come back; NULL: none */
    size_t count;
    bool anywhere;  /* text is words: looks in solutions, too */
    bool unguarded; /* without the leak guard */
};

/* `directory` NULL or "": the setting retrieval.directory. Where the index has embeddings and the
 * settings name an endpoint, both must be of one model. */
NODISCARD int retrieval_open(struct retrieval **out, const char *directory,
                             const struct settings *settings, struct err *err);
void retrieval_close(struct retrieval *retrieval);

/* *examples: [{"name", "summary", "source", "language", "category", "problem", "reference",
 * "solution", "speedup", "score"}, …], best first; scores compare within one answer. A new
 * reference. */
NODISCARD int retrieval_search(struct retrieval *retrieval, const struct retrieval_query *query,
                               json_t **examples, struct err *err);

/* No later search shows what would give the query's problem away, whichever it asks about: for one
 * that a model is measured on, say. */
NODISCARD int retrieval_withhold(struct retrieval *retrieval, const struct retrieval_query *query,
                                 struct err *err);

/* Name and summary of a problem: the title of a question. The caller's (mem_free). */
char *retrieval_title(const struct problem *problem);

#endif
