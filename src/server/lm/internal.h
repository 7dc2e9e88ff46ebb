/* lm_api_internal: shared by routes and calls. */
#pragma once

#include "base/metrics.h"
#include "server/http/http.h"
#include "server/lm/api.h"
#include "server/task_pool.h"

#include <pthread.h>
#include <stdatomic.h>

#define RETRY_AFTER_S 1

struct lm_api {
    struct lm_api_options options;
    char *model, *address;
    int64_t created; /* seconds */
    struct http_server *http;
    struct metrics *metrics;
    struct task_pool *pool; /* writes answers, to keep the engine's thread free */
    atomic_bool draining;
    atomic_size_t choices; /* running and waiting */
    atomic_ullong calls;   /* in total; part of their ids */
    pthread_mutex_t lock;  /* all below */
    pthread_cond_t idle;
    size_t running;            /* calls that have not been freed */
    pthread_mutex_t embedding; /* the embedder */
};

/* An error in OpenAI's shape; `param` may be NULL. */
void lm_api_refuse(struct http_response *response, int status, const char *param, const char *code,
                   const char *text);
json_t *lm_api_error(int status, const char *param, const char *code, const char *text);

/* Why a request was not taken; `param` as lm_api_request_read gives it. */
void lm_api_refuse_request(struct http_response *response, const char *param,
                           const struct err *err);
/* Whether this is the model that is asked for (NULL: any); else the response is a refusal. */
bool lm_api_has_model(const struct lm_api *api, const char *name, struct http_response *response);
/* As http_json; NULL also, with a refusal, while the server is stopping. */
json_t *lm_api_body(struct lm_api *api, struct http_request *request,
                    struct http_response *response);

/* The handler of /v1/embeddings. */
void lm_api_embed(void *context, struct http_request *request, struct http_response *response);
/* The handler of both kinds of completions. */
void lm_api_call(struct lm_api *api, bool chat, struct http_request *request,
                 struct http_response *response);
