/* index_build: builds an index from corpora.
 *
 * Three stages: read the examples, each pair of texts once; index their words; optionally embed
 * them with an endpoint. The new index replaces an older one at the end, atomically; any other
 * existing directory is left alone (ERR_INPUT). Ownership: everything is borrowed for the call.
 * Threads: one call for each directory.
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"
#include "retrieval/corpus.h"

#include <jansson.h>

struct index_source {
    const char *path;
    const char *format; /* NULL: detected */
};

struct index_build {
    const char *directory;
    const struct index_source *sources;
    size_t source_count;
    struct corpus_options corpus; /* its format is ignored: the sources have their own */
    bool embeddings;              /* with the settings' endpoint */
    const struct settings *settings;
    const _Atomic int *cancelled;
    /* Called for each example: "reading", with an unknown total (0), "indexing", "embedding". */
    void (*progress)(void *context, const char *stage, uint64_t done, uint64_t total);
    void *context;
};

/* ERR_INPUT: no source has an example. */
NODISCARD int index_build(const struct index_build *build, struct err *err);
