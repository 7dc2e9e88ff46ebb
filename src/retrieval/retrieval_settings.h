/* retrieval_settings: the section retrieval.*. */
#pragma once

#include "base/settings.h"
#include "base/word_table.h"

#define RETRIEVAL_RANKINGS(X)                                                                      \
    X(RETRIEVAL_BOTH, "both")                                                                      \
    X(RETRIEVAL_WORDS, "words")                                                                    \
    X(RETRIEVAL_VECTORS, "vectors")
enum retrieval_ranking { WORD_SYMBOLS(RETRIEVAL_RANKINGS) };

struct retrieval_settings {
    const char *directory;      /* "": none */
    const char *embeddings_url; /* "": none */
    const char *embeddings_model;
    const char *embeddings_token; /* "": none */
    enum retrieval_ranking ranking;
};
SETTINGS_OF(retrieval)
