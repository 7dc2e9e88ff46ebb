/* A target that is taken must be sound: text without NUL, no way up, every route's parameters
 * there; and what its parts say, encoded anew, must be taken as the same. */
#include "base/array.h"
#include "base/utf8.h"
#include "server/http/listen.h"
#include "server/http/route_match.h"
#include "server/http/target.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void handler(void *context, struct http_request *request, struct http_response *response)
{
    (void)context, (void)request, (void)response;
}

static const struct http_route rows[] = {
    {HTTP_GET, "/", handler, 0, 0, NULL},
    {HTTP_GET, "/:a", handler, 0, 0, NULL},
    {HTTP_GET, "/v1/:a/:b", handler, 0, 0, NULL},
    {HTTP_POST, "/v1/jobs/:a", handler, 0, 0, NULL},
    {HTTP_GET, "/v1/jobs", handler, 0, 0, NULL},
    {HTTP_GET, "/v1/jobs/:a/events", handler, 0, 0, NULL},
    {HTTP_GET, "/files/*a", handler, 0, 0, NULL},
};

static void encode(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_printf(out, "%%%02X", (unsigned char)*text);
}

static void check_again(const struct http_target *target)
{
    struct arena arena = {0};
    struct http_target again;
    struct buf text;
    buf_init(&text, (size_t)1 << 20);
    for (size_t i = 0; i < target->segment_count; i++) {
        buf_puts(&text, "/");
        encode(&text, target->segments[i]);
    }
    for (size_t i = 0; i < target->query_count; i++) {
        buf_puts(&text, i ? "&" : "?");
        encode(&text, target->query[i].name);
        buf_puts(&text, "=");
        encode(&text, target->query[i].value);
    }
    /* Three bytes for one may be too long: that is no finding. */
    if (text.len <= LIMIT_HTTP_TARGET_BYTES) {
        if (http_target_parse(text.data, &arena, &again, NULL) < 0 ||
            again.segment_count != target->segment_count ||
            again.query_count != target->query_count || strcmp(again.path, target->path) != 0)
            abort();
        for (size_t i = 0; i < target->query_count; i++)
            if (strcmp(again.query[i].name, target->query[i].name) != 0 ||
                strcmp(again.query[i].value, target->query[i].value) != 0)
                abort();
    }
    buf_deinit(&text);
    arena_deinit(&arena);
}

static void check_routes(const struct http_routes *routes, const struct http_target *target)
{
    for (unsigned method = HTTP_GET; method <= HTTP_DELETE; method <<= 1) {
        unsigned allowed;
        const struct http_binding *found = http_routes_find(routes, target,
                                                            (enum http_method)method, &allowed);
        if (found ? !(found->route->methods & method) : (allowed & method) != 0)
            abort();
        if (found && strstr(found->route->pattern, ":a") &&
            *http_routes_parameter(found, target, "a") == '\0')
            abort();
        if (found && strchr(found->route->pattern, '*') &&
            !strstr(target->path, http_routes_parameter(found, target, "a")))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct http_routes routes = {0};
    struct http_target target;
    struct arena arena = {0};
    struct err err = {0};
    if (!text || http_routes_add(&routes, rows, COUNT(rows), NULL, &err) < 0)
        abort();
    if (http_target_parse(text, &arena, &target, &err) == 0) {
        for (size_t i = 0; i < target.segment_count; i++)
            if (strchr(target.segments[i], '/') || strcmp(target.segments[i], "..") == 0)
                abort();
        if (!utf8_is_valid(target.path, strlen(target.path)) || *target.path != '/')
            abort();
        check_routes(&routes, &target);
        check_again(&target);
    } else if (err.text[0] == '\0') {
        abort();
    }
    (void)http_host_is_listed(text, "gym.example, other");
    http_routes_deinit(&routes);
    arena_deinit(&arena);
    free(text);
    return 0;
}
