/* lm_api: a model over HTTP, with OpenAI's API.
 *
 *   POST /v1/chat/completions   POST /v1/completions   GET /v1/models   GET /v1/models/NAME
 *   POST /v1/embeddings         GET /health                 GET /metrics
 *
 * A request's choices go to the engine; its tokens complete a waiting answer, or are sent as
 * events. A disconnect cancels the request's choices. Refusals are {"error": {message, type,
 * param, code}}.
 *
 * With a tinker_service its routes are served, too (server/tinker/service.h).
 *
 * Ownership: engine, embedder, tokenizer and settings are the caller's and outlive it. */
#pragma once

#include "base/settings.h"
#include "lm/embed/embedder.h"
#include "lm/sample/engine.h"
#include "lm/tokenizer/chat.h"
#include "server/tinker/service.h"

struct lm_api;

struct lm_api_options {
    const struct settings *settings; /* server.* */
    struct lm_engine *engine;
    struct lm_embedder *embedder; /* computes on another backend than the engine */
    struct tokenizer *tokenizer;
    const char *model; /* its name; copied */
    enum chat_style style;
    size_t positions;              /* of the longest sequence */
    size_t choices_max;            /* running and waiting; above it 429 */
    struct tinker_service *tinker; /* the Tinker API beside it; NULL: none */
};

NODISCARD int lm_api_open(struct lm_api **out, const struct lm_api_options *options,
                          struct err *err);
/* "http://127.0.0.1:8000/v1" */
const char *lm_api_address(const struct lm_api *api);
/* Answers new requests with 503 from here on; waits until running ones have ended, *stop is
 * non-zero or the time is over. */
void lm_api_drain(struct lm_api *api, int64_t timeout_ms, const _Atomic int *stop);
/* Cancels running requests. ERR_TIMEOUT: a request hangs, and nothing may be freed. */
NODISCARD int lm_api_stop(struct lm_api *api, int64_t timeout_ms, struct err *err);
/* After lm_api_stop; the engine still runs. NULL is fine. */
void lm_api_free(struct lm_api *api);
