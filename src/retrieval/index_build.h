/* index_build: from corpora to an index.
 *
 * Three stages: the examples are read, each pair of texts once; their words are indexed; where that
 * is wanted, an endpoint embeds them. The index takes the place of an older one at the end, in one
 * step (staging.h); a directory that is something else is left alone (ERR_INPUT).
 */
#ifndef WARPGYM_RETRIEVAL_INDEX_BUILD_H
#define WARPGYM_RETRIEVAL_INDEX_BUILD_H

#include "base/err.h"
#include "base/settings.h"
#include "retrieval/corpus.h"

#include <jansson.h>

struct index_source {
    const char *path;
    const char *format; /* NULL: found out */
};

struct index_build {
    const char *directory;
    const struct index_source *sources;
    size_t source_count;
    struct corpus_options corpus; /* its format is the sources' */
    bool embeddings;              /* with the endpoint of the settings */
    const struct settings *settings;
    const _Atomic int *cancelled;
    /* Told of each example: "reading", of an unknown total (0), "indexing", "embedding". */
    void (*progress)(void *context, const char *stage, uint64_t done, uint64_t total);
    void *context;
};

/* ERR_INPUT: there is not one example. */
NODISCARD int index_build(const struct index_build *build, struct err *err);

/* What an index holds: {"directory", "format", "created_at", "examples", "references", "terms",
 * "languages": {NAME: COUNT}, "categories": {…}, "embeddings": {"model", "dimension"} or null,
 * "sources": [{"path", "taken", "duplicates", "bad", "complaints", "incorrect", …}]}. A new
 * reference. */
NODISCARD int index_stats(const char *directory, json_t **stats, struct err *err);

#endif
