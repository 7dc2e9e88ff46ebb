#include "http_fixture.h"

#define STOP_MS 60000

int http_fixture_begin(struct http_fixture *server, const struct http_route *routes, size_t count,
                       void *context)
{
    struct http_options options = {0};
    settings_init(&server->settings);
    if (settings_assign(&server->settings, "server.listen=127.0.0.1:0", NULL) < 0 ||
        http_open(&server->settings, &options, &server->http, NULL) < 0 ||
        http_add(server->http, routes, count, context, NULL) < 0 ||
        http_start(server->http, NULL) < 0)
        return -1;
    return 0;
}

int http_fixture_stop(struct http_fixture *server)
{
    return http_stop(server->http, STOP_MS, NULL);
}

void http_fixture_free(struct http_fixture *server)
{
    http_free(server->http);
    settings_deinit(&server->settings);
}
