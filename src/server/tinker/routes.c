#include "server/tinker/internal.h"

#include "base/array.h"

#define API "/api/v1"
#define CHECKPOINT API "/training_runs/:run/checkpoints/:kind/:name"
#define SMALL ((size_t)64 << 10)

#define GET(path, name)                                                                            \
    {                                                                                              \
        HTTP_GET, API path, tinker_##name, HTTP_BLOCKS, 0, NULL                                    \
    }
#define POST(path, name, bytes)                                                                    \
    {                                                                                              \
        HTTP_POST, API path, tinker_##name, HTTP_BLOCKS | HTTP_BODY_OPTIONAL, bytes, NULL          \
    }

static const struct http_route routes[] = {
    {HTTP_GET, "/", tinker_root, 0, 0, NULL},
    {HTTP_GET, API "/healthz", tinker_healthz, HTTP_PUBLIC, 0, NULL},
    POST("/client/config", client_config, SMALL),
    POST("/client/dynamic_config", dynamic_config, SMALL),
    GET("/get_server_capabilities", capabilities),
    POST("/telemetry", telemetry, HTTP_BODY_STANDARD),
    POST("/create_session", create_session, SMALL),
    POST("/session_heartbeat", heartbeat, SMALL),
    POST("/sessions/:session/finish", finish_session, SMALL),
    GET("/sessions", list_sessions),
    GET("/sessions/:session", show_session),
    POST("/create_model", create_model, SMALL),
    POST("/unload_model", unload_model, SMALL),
    POST("/get_info", get_info, SMALL),
    POST("/forward", forward, HTTP_BODY_STANDARD),
    POST("/forward_backward", forward_backward, HTTP_BODY_STANDARD),
    POST("/optim_step", optim_step, SMALL),
    POST("/save_weights", save_weights, SMALL),
    POST("/save_weights_for_sampler", save_for_sampler, SMALL),
    POST("/save_weights_external", save_external, SMALL),
    POST("/load_weights", load_weights, SMALL),
    POST("/weights_info", weights_info, SMALL),
    GET("/training_runs", list_runs),
    GET("/training_runs/:run", show_run),
    GET("/training_runs/:run/checkpoints", list_checkpoints),
    GET("/checkpoints", list_all_checkpoints),
    {HTTP_DELETE, CHECKPOINT, tinker_delete_checkpoint, HTTP_BLOCKS, SMALL, NULL},
    {HTTP_PUT, CHECKPOINT "/ttl", tinker_set_ttl, HTTP_BLOCKS, SMALL, NULL},
    {HTTP_GET, CHECKPOINT "/archive", tinker_archive, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, CHECKPOINT "/external_weights_urls", tinker_external_urls, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, API "/archives/:run/:kind/:name", tinker_download, HTTP_BLOCKS | HTTP_PUBLIC, 0,
     HTTP_QUERY("expires", "file", "key")},
    POST("/create_sampling_session", create_sampling_session, SMALL),
    GET("/samplers/:sampler", show_sampler),
    POST("/asample", asample, HTTP_BODY_STANDARD),
    POST("/retrieve_future", retrieve_future, SMALL),
    POST("/cancel_future", cancel_future, SMALL),
};

int tinker_service_add_routes(struct tinker_service *service, struct http_server *server,
                              struct err *err)
{
    return http_add(server, routes, COUNT(routes), service, err);
}
