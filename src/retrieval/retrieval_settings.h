/* retrieval_settings: the section retrieval.*. */
#pragma once

#include "base/settings.h"

struct retrieval_settings {
    const char *directory;      /* "": none */
    const char *embeddings_url; /* "": none */
    const char *embeddings_model;
    const char *embeddings_token; /* "": none */
};
SETTINGS_OF(retrieval)
