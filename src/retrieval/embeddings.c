#include "retrieval/embeddings.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "retrieval/embeddings_source.h"
#include "retrieval/retrieval_settings.h"

#include <string.h>

struct embeddings {
    const struct embeddings_source *from;
    void *source;
    char *model;
};

bool embeddings_wanted(const struct settings *settings)
{
    return retrieval_settings(settings)->embeddings_model[0] != '\0';
}

int embeddings_open(struct embeddings **out, const struct settings *settings,
                    const _Atomic int *cancelled, struct err *err)
{
    *out = NULL;
    if (!embeddings_wanted(settings))
        return err_set(err, ERR_INPUT,
                       "embeddings need a model: set retrieval.embeddings_model to a model's "
                       "directory, or to its name at the endpoint retrieval.embeddings_url");
    struct embeddings *embeddings = mem_alloc(sizeof *embeddings);
    embeddings->from = retrieval_settings(settings)->embeddings_url[0] ? &embeddings_endpoint
                                                                       : &embeddings_engine;
    int result = embeddings->from->open(&embeddings->source, &embeddings->model, settings,
                                        cancelled, err);
    if (result < 0)
        embeddings_close(embeddings);
    else
        *out = embeddings;
    return result;
}

void embeddings_close(struct embeddings *embeddings)
{
    if (!embeddings)
        return;
    embeddings->from->close(embeddings->source);
    mem_free(embeddings->model);
    mem_free(embeddings);
}

const char *embeddings_model(const struct embeddings *embeddings)
{
    return embeddings->model;
}

int embeddings_of(struct embeddings *embeddings, const char *const *texts, size_t count,
                  size_t *dimension, float **vectors, struct err *err)
{
    return embeddings->from->embed(embeddings->source, texts, count, dimension, vectors, err);
}

size_t embeddings_cut(const char *text)
{
    return utf8_cut(text, strnlen(text, LIMIT_EMBEDDED_BYTES + 1), LIMIT_EMBEDDED_BYTES);
}
