#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "server/lm/internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define WRITERS 2 /* threads that write complete answers */
#define LOOK_MS 50

static const char *type_of(int status)
{
    if (status == 401)
        return "authentication_error";
    if (status == 429)
        return "rate_limit_error";
    return status < 500 ? "invalid_request_error" : "server_error";
}

json_t *lm_api_error(int status, const char *param, const char *code, const char *text)
{
    json_t *error = json_object(), *whole = json_object();
    json_put(error, "message", json_text(text));
    json_put(error, "type", json_text(type_of(status)));
    json_put(error, "param", json_text(param && *param ? param : NULL));
    json_put(error, "code", json_text(code));
    json_put(whole, "error", error);
    return whole;
}

void lm_api_refuse(struct http_response *response, int status, const char *param, const char *code,
                   const char *text)
{
    http_set_status(response, status);
    http_set_json(response, lm_api_error(status, param, code, text));
}

void lm_api_refuse_request(struct http_response *response, const char *param, const struct err *err)
{
    const char *code = err->code == ERR_UNSUPPORTED ? "unsupported_parameter" : "invalid_value";
    if (err->code == ERR_INTERNAL || err->code == ERR_IO)
        lm_api_refuse(response, 500, NULL, err_name(err->code), err->text);
    else
        lm_api_refuse(response, 400, param,
                      err->code == ERR_LIMIT && !*param ? "context_length_exceeded" : code,
                      err->text);
}

bool lm_api_has_model(const struct lm_api *api, const char *name, struct http_response *response)
{
    char text[512];
    if (!name || strcmp(name, api->model) == 0)
        return true;
    snprintf(text, sizeof text, "no model '%.200s'; this server has '%.200s'", name, api->model);
    lm_api_refuse(response, 404, "model", "model_not_found", text);
    return false;
}

json_t *lm_api_body(struct lm_api *api, struct http_request *request,
                    struct http_response *response)
{
    if (!atomic_load(&api->draining))
        return http_json(request, response);
    http_refuse_for(response, 503, RETRY_AFTER_S, "stopping", "the server is stopping");
    return NULL;
}

static void openai_envelope(void *context, const struct http_error *error,
                            const struct http_request *request, struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, lm_api_error(error->status, NULL, error->code, error->text));
}

static json_t *model_json(const struct lm_api *api)
{
    json_t *model = json_object();
    json_put(model, "id", json_text(api->model));
    json_put(model, "object", json_text("model"));
    json_put(model, "created", json_integer(api->created));
    json_put(model, "owned_by", json_text("warpgym"));
    json_put(model, "max_model_len", json_integer((json_int_t)api->options.positions));
    return model;
}

static void list_models(void *context, struct http_request *request, struct http_response *response)
{
    http_set_json(response, json_pack("{s:s, s:[o]}", "object", "list", "data",
                                      model_json((const struct lm_api *)context)));
}

static void show_model(void *context, struct http_request *request, struct http_response *response)
{
    const struct lm_api *api = context;
    const char *name = http_parameter(request, "name");
    if (strcmp(name, api->model) == 0)
        http_set_json(response, model_json(api));
    else
        http_refuse(response, 404, "model_not_found", "no model '%.200s'; this server has '%.200s'",
                    name, api->model);
}

static void answer_chat(void *context, struct http_request *request, struct http_response *response)
{
    lm_api_call(context, true, request, response);
}

static void answer_completions(void *context, struct http_request *request,
                               struct http_response *response)
{
    lm_api_call(context, false, request, response);
}

static void show_health(void *context, struct http_request *request, struct http_response *response)
{
    struct lm_api *api = context;
    struct lm_sampler_stats stats = lm_engine_stats(api->options.engine);
    if (atomic_load(&api->draining))
        http_set_status(response, 503);
    http_set_json(response,
                  json_pack("{s:s, s:s, s:I, s:I, s:I}", "status",
                            atomic_load(&api->draining) ? "stopping" : "ok", "model", api->model,
                            "running", (json_int_t)stats.running, "waiting",
                            (json_int_t)stats.waiting, "tokens", (json_int_t)stats.tokens));
}

static void show_metrics(void *context, struct http_request *request,
                         struct http_response *response)
{
    http_set_metrics(response, ((struct lm_api *)context)->metrics);
}

static const struct http_route routes[] = {
    {HTTP_POST, "/v1/chat/completions", answer_chat, HTTP_BLOCKS, HTTP_BODY_STANDARD, NULL},
    {HTTP_POST, "/v1/completions", answer_completions, HTTP_BLOCKS, HTTP_BODY_STANDARD, NULL},
    {HTTP_POST, "/v1/embeddings", lm_api_embed, HTTP_BLOCKS, HTTP_BODY_STANDARD, NULL},
    {HTTP_GET, "/v1/models", list_models, 0, 0, NULL},
    {HTTP_GET, "/v1/models/*name", show_model, 0, 0, NULL},
    {HTTP_GET, "/health", show_health, HTTP_PUBLIC, 0, NULL},
    {HTTP_GET, "/metrics", show_metrics, 0, 0, NULL},
};

static int server_start(struct lm_api *api, struct err *err)
{
    const struct http_options options = {.envelope = openai_envelope, .metrics = api->metrics};
    int result = http_open(api->options.settings, &options, &api->http, err);
    if (result == 0)
        result = http_add(api->http, routes, COUNT(routes), api, err);
    if (result == 0 && api->options.tinker)
        result = tinker_service_add_routes(api->options.tinker, api->http, err);
    return result < 0 ? result : http_start(api->http, err);
}

int lm_api_open(struct lm_api **out, const struct lm_api_options *options, struct err *err)
{
    struct lm_api *api = mem_alloc(sizeof *api);
    *out = NULL;
    api->options = *options;
    api->model = mem_strdup(options->model);
    api->options.model = api->model;
    api->created = clock_wall_ms() / 1000;
    api->metrics = metrics_new();
    api->pool = task_pool_new(WRITERS, SIZE_MAX);
    pthread_mutex_init(&api->lock, NULL);
    pthread_cond_init(&api->idle, NULL);
    pthread_mutex_init(&api->embedding, NULL);
    int result = server_start(api, err);
    if (result < 0) {
        lm_api_free(api);
        return result;
    }
    api->address = mem_printf("%s/v1", http_address(api->http));
    *out = api;
    return 0;
}

const char *lm_api_address(const struct lm_api *api)
{
    return api->address;
}

/* Waits until no call is left. */
static bool wait_idle(struct lm_api *api, int64_t timeout_ms, const _Atomic int *stop)
{
    const int64_t began_ns = clock_now_ns();
    pthread_mutex_lock(&api->lock);
    while (api->running > 0 && !(stop && *stop) && clock_ms_since(began_ns) < (double)timeout_ms) {
        struct timespec until = clock_in_ms(LOOK_MS);
        pthread_cond_timedwait(&api->idle, &api->lock, &until);
    }
    bool idle = api->running == 0;
    pthread_mutex_unlock(&api->lock);
    return idle;
}

void lm_api_drain(struct lm_api *api, int64_t timeout_ms, const _Atomic int *stop)
{
    atomic_store(&api->draining, true);
    (void)wait_idle(api, timeout_ms, stop);
}

int lm_api_stop(struct lm_api *api, int64_t timeout_ms, struct err *err)
{
    atomic_store(&api->draining, true);
    int result = http_stop(api->http, timeout_ms, err);
    if (result == 0 && !wait_idle(api, timeout_ms, NULL))
        result = err_set(err, ERR_TIMEOUT, "the engine still holds a request");
    return result;
}

void lm_api_free(struct lm_api *api)
{
    if (!api)
        return;
    task_pool_free(api->pool);
    http_free(api->http);
    metrics_free(api->metrics);
    pthread_mutex_destroy(&api->embedding);
    pthread_mutex_destroy(&api->lock);
    pthread_cond_destroy(&api->idle);
    mem_free(api->address);
    mem_free(api->model);
    mem_free(api);
}
