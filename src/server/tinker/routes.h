/* routes: which file answers what. Each has its table, whose last row has no methods.
 *
 * The context of a handler is the service (state.h). Threads: the HTTP server's, several at once.
 */
#pragma once

#include "server/http/http.h"

#define TINKER_API "/api/v1"
#define TINKER_CHECKPOINT TINKER_API "/training_runs/:run/checkpoints/:kind/:name"
#define TINKER_SMALL ((size_t)64 << 10) /* a body without arrays */

#define TINKER_GET(path, name)                                                                     \
    {                                                                                              \
        HTTP_GET, TINKER_API path, answer_##name, HTTP_BLOCKS, 0, NULL                             \
    }
#define TINKER_POST(path, name, bytes)                                                             \
    {                                                                                              \
        HTTP_POST, TINKER_API path, answer_##name, HTTP_BLOCKS | HTTP_BODY_OPTIONAL, bytes, NULL   \
    }

extern const struct http_route tinker_about_routes[];
extern const struct http_route tinker_archive_routes[];
extern const struct http_route tinker_checkpoints_routes[];
extern const struct http_route tinker_create_routes[];
extern const struct http_route tinker_futures_routes[];
extern const struct http_route tinker_runs_routes[];
extern const struct http_route tinker_samplers_routes[];
extern const struct http_route tinker_sampling_routes[];
extern const struct http_route tinker_sessions_routes[];
extern const struct http_route tinker_training_routes[];
