/* http_fixture: an HTTP server of a test's own routes, on a free port of loopback. */
#pragma once

#include "base/settings.h"
#include "server/http/http.h"

struct http_fixture {
    struct settings settings;
    struct http_server *http;
};

/* As cmocka's set-up and tear-down: 0, or what it takes for a failure. */
int http_fixture_begin(struct http_fixture *server, const struct http_route *routes, size_t count,
                       void *context);
/* Stops answering; what `context` holds of requests may be dropped between the two. */
int http_fixture_stop(struct http_fixture *server);
void http_fixture_free(struct http_fixture *server);
