/* embeddings: texts as vectors, from a model that retrieval.embeddings_model names: at an
 * OpenAI-compatible endpoint (retrieval.embeddings_url), or, without one, in a directory, which the
 * engine runs (lm/embed/embedder.h).
 *
 *   POST URL/embeddings {"model", "input": [TEXT, …], "encoding_format": "float"}
 *   200  {"data": [{"index", "embedding": [NUMBER, …]}, …]}
 *
 * Vectors have length 1. Texts are cut to LIMIT_EMBEDDED_BYTES. Threads: one user at a time.
 * Errors: ERR_PROTOCOL for a malformed answer, those of http_client.h, those of model.h.
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"

#include <stdbool.h>
#include <stddef.h>

#define EMBEDDINGS_BATCH 32

struct embeddings;

/* Whether the settings name a model. */
bool embeddings_wanted(const struct settings *settings);
/* ERR_INPUT: they do not. */
NODISCARD int embeddings_open(struct embeddings **out, const struct settings *settings,
                              const _Atomic int *cancelled, struct err *err);
void embeddings_close(struct embeddings *embeddings);
/* Its name at the endpoint; of a directory its last part and a digest, "qwen3 (8c12d0b1a5c4e7f9)".
 */
const char *embeddings_model(const struct embeddings *embeddings);

/* count <= EMBEDDINGS_BATCH. *dimension: 0 for any, else the required one; set. *vectors: row after
 * row, the caller's (mem_free). */
NODISCARD int embeddings_of(struct embeddings *embeddings, const char *const *texts, size_t count,
                            size_t *dimension, float **vectors, struct err *err);
