/* What a client asks of the server before all else. */
#include "base/json.h"
#include "server/tinker/routes.h"
#include "server/tinker/state.h"

static void answer_healthz(void *context, struct http_request *request,
                           struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, json_pack("{s:s}", "status", "ok"));
}

static void answer_root(void *context, struct http_request *request, struct http_response *response)
{
    const struct tinker_service *service = context;
    http_set_json(response, json_pack("{s:s, s:s}", "name", "warpgym", "model", service->model));
}

/* Bodies come as they are: the SDK compresses them only where a server asks for it. */
static void answer_client_config(void *context, struct http_request *request,
                                 struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, json_pack("{s:b, s:b, s:b, s:I, s:I}", "pjwt_auth_enabled", 0,
                                      "proto_compress_fwdbwd", 0, "parallel_fwdbwd_chunks", 1,
                                      "fwdbwd_max_chunk_len", (json_int_t)1024,
                                      "fwdbwd_max_chunk_bytes_count", (json_int_t)5000000));
}

static void answer_dynamic_config(void *context, struct http_request *request,
                                  struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response,
                  json_pack("{s:i, s:b}", "refresh_interval_sec", 300, "sample_cancel_enabled", 1));
}

static void answer_capabilities(void *context, struct http_request *request,
                                struct http_response *response)
{
    const struct tinker_service *service = context;
    http_set_json(response, json_pack("{s:[{s:s, s:I, s:b, s:b}]}", "supported_models",
                                      "model_name", service->model, "max_context_length",
                                      (json_int_t)service->options.positions, "trainable", 1,
                                      "sampleable", 1));
}

/* It may hold texts of the user's errors: it is not kept. */
static void answer_telemetry(void *context, struct http_request *request,
                             struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, json_pack("{s:s}", "status", "accepted"));
}

const struct http_route tinker_about_routes[] = {
    {HTTP_GET, "/", answer_root, 0, 0, NULL},
    {HTTP_GET, TINKER_API "/healthz", answer_healthz, HTTP_PUBLIC, 0, NULL},
    TINKER_POST("/client/config", client_config, TINKER_SMALL),
    TINKER_POST("/client/dynamic_config", dynamic_config, TINKER_SMALL),
    TINKER_GET("/get_server_capabilities", capabilities),
    TINKER_POST("/telemetry", telemetry, HTTP_BODY_STANDARD),
    {0},
};
