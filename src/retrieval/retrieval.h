/* retrieval: solved examples that resemble a query.
 *
 * An index is a directory: index.db (SQLite: examples, FTS5 with a code-aware tokenizer) and, if it
 * was built with embeddings, vectors.f32 (row-major unit vectors, one for each example). The
 * results of both searches are fused by reciprocal rank (k = 60). The language is part of both
 * searches, so an index of one big and one small language finds as many of the small one.
 *
 * Leak guard, on by default: no example whose problem is the queried one, whose reference or
 * solution is near its text (sketch.h), or whose solution is near one of those, under any name or
 * layout.
 *
 * Of examples with one reference only the fastest of its language is returned, and no two solutions
 * that are near each other.
 *
 * Threads: any number of threads may search a struct retrieval at once; call retrieval_withhold
 * before. Errors: ERR_MISSING (no index), ERR_UNSUPPORTED (another format), ERR_IO, ERR_INPUT (for
 * example another embedding model than the index was built with).
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"
#include "problem/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct retrieval;

struct retrieval_query {
    const char *text;       /* the problem's reference, or words */
    const char *title;      /* its name and summary, which refine the search; NULL: none */
    const char *language;   /* of the solutions: a name of language.h; NULL: any */
    const char *problem_id; /* excluded from the results; NULL: none */
    size_t count;
    bool anywhere;  /* text is words: search solutions, too */
    bool unguarded; /* without the leak guard */
};

/* `directory` NULL or "": the setting retrieval.directory. If the index has embeddings and the
 * settings name an endpoint, both must use one model. */
NODISCARD int retrieval_open(struct retrieval **out, const char *directory,
                             const struct settings *settings, struct err *err);
void retrieval_close(struct retrieval *retrieval);

/* *examples: [{"name", "summary", "source", "language", "category", "problem", "reference",
 * "solution", "speedup", "score"}, …], best first; scores compare within one answer. A new
 * reference. */
NODISCARD int retrieval_search(struct retrieval *retrieval, const struct retrieval_query *query,
                               json_t **examples, struct err *err);

/* No later search, for any problem, returns an example that would give the query's problem away;
 * for held-out problems. */
NODISCARD int retrieval_withhold(struct retrieval *retrieval, const struct retrieval_query *query,
                                 struct err *err);

/* Name and summary of a problem: the title of a query. The caller's (mem_free). */
char *retrieval_title(const struct problem *problem);
