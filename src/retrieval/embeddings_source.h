/* embeddings_source: the two places that vectors come from; for embeddings.c alone. */
#pragma once

#include "retrieval/embeddings.h"

struct embeddings_source {
    /* *model: what an index remembers, the caller's (mem_free). */
    int (*open)(void **out, char **model, const struct settings *settings,
                const _Atomic int *cancelled, struct err *err);
    /* As embeddings_of. */
    int (*embed)(void *source, const char *const *texts, size_t count, size_t *dimension,
                 float **vectors, struct err *err);
    void (*close)(void *source); /* NULL is fine */
};

extern const struct embeddings_source embeddings_endpoint, embeddings_engine;

/* How many bytes of a text are embedded; whole characters. */
size_t embeddings_cut(const char *text);
