/* embeddings: texts as vectors, from an OpenAI-compatible endpoint.
 *
 *   POST URL/embeddings {"model", "input": [TEXT, …], "encoding_format": "float"}
 *   200  {"data": [{"index", "embedding": [NUMBER, …]}, …]}
 *
 * Vectors have length 1. Texts are cut to LIMIT_EMBEDDED_BYTES. Threads: one user at a time.
 * Errors: ERR_PROTOCOL for a malformed answer, those of http_client.h.
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"

#include <stddef.h>

#define EMBEDDINGS_BATCH 32

struct embeddings;

/* ERR_INPUT: the settings name no endpoint or no model. */
NODISCARD int embeddings_open(struct embeddings **out, const struct settings *settings,
                              const _Atomic int *cancelled, struct err *err);
void embeddings_close(struct embeddings *embeddings);
const char *embeddings_model(const struct embeddings *embeddings);

/* count <= EMBEDDINGS_BATCH. *dimension: 0 for any, else the required one; set. *vectors: row after
 * row, the caller's (mem_free). */
NODISCARD int embeddings_of(struct embeddings *embeddings, const char *const *texts, size_t count,
                            size_t *dimension, float **vectors, struct err *err);
