#include "server/http/internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/json_mend.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/suggest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct http_request *http_request_new(struct http_connection *connection, const char *raw)
{
    struct http_request *request = mem_alloc(sizeof *request);
    struct http_server *server = connection->server;
    atomic_init(&request->refs, 1);
    request->server = server;
    request->connection = connection;
    request->started_ns = clock_now_ns();
    request->raw = arena_strdup(&request->arena, raw ? raw : "");
    request->target.path = request->raw;
    memcpy(request->remote, connection->remote, sizeof request->remote);
    snprintf(request->id, sizeof request->id, "%08" PRIx32 "-%08" PRIx32, server->id_prefix,
             atomic_fetch_add(&server->next_id, 1));
    pthread_mutex_init(&request->lock, NULL);
    http_response_init(&request->response, server, request);
    request->reply = &request->response;
    return request;
}

struct http_request *http_request_ref(struct http_request *request)
{
    atomic_fetch_add(&request->refs, 1);
    return request;
}

void http_request_unref(struct http_request *request)
{
    if (atomic_fetch_sub(&request->refs, 1) != 1)
        return;
    if (request->reply != &request->response)
        http_response_free(request->reply);
    http_response_deinit(&request->response);
    json_decref(request->json);
    mem_free(request->body.data);
    http_stream_free(request->stream);
    pthread_mutex_destroy(&request->lock);
    arena_deinit(&request->arena);
    mem_free(request);
}

struct copying {
    struct http_request *request;
    struct http_pair *pairs;
    size_t count;
};

static enum MHD_Result copy_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct copying *copying = context;
    struct arena *arena = &copying->request->arena;
    copying->pairs[copying->count].name = arena_strdup(arena, name);
    copying->pairs[copying->count++].value = arena_strdup(arena, value ? value : "");
    return copying->count < LIMIT_HTTP_HEADERS ? MHD_YES : MHD_NO;
}

/* libmicrohttpd's memory ends with the connection; a waiter's request may outlive it. */
void http_request_keep_headers(struct http_request *request)
{
    struct copying copying = {.request = request};
    copying.pairs = arena_alloc(&request->arena, LIMIT_HTTP_HEADERS * sizeof *copying.pairs);
    MHD_get_connection_values(request->connection->mhd, MHD_HEADER_KIND, copy_header, &copying);
    request->header_count = copying.count;
    request->headers = copying.pairs;
}

enum http_method http_method(const struct http_request *request)
{
    return request->method;
}

const char *http_path(const struct http_request *request)
{
    return request->target.path;
}

const char *http_pattern(const struct http_request *request)
{
    return request->binding ? request->binding->route->pattern : NULL;
}

const char *http_parameter(const struct http_request *request, const char *name)
{
    const char *value = http_routes_parameter(request->binding, &request->target, name);
    if (!value)
        abort(); /* the pattern has no such name: a defect of the handler */
    return value;
}

const char *http_query(const struct http_request *request, const char *name)
{
    return http_target_query(&request->target, name);
}

bool http_query_int(const struct http_request *request, const char *name, int64_t low, int64_t high,
                    int64_t *out, struct http_response *response)
{
    const char *text = http_query(request, name);
    char *end;
    if (!text)
        return true;
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    bool sound = (*text == '-' || (*text >= '0' && *text <= '9')) && *end == '\0' && errno == 0;
    if (sound && value >= low && value <= high) {
        *out = value;
        return true;
    }
    http_refuse(response, 400, "input",
                "the query's '%s' must be a whole number from %" PRId64 " to %" PRId64, name, low,
                high);
    return false;
}

bool http_query_bool(const struct http_request *request, const char *name, bool *out,
                     struct http_response *response)
{
    const char *text = http_query(request, name);
    if (!text)
        return true;
    if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0) {
        *out = true;
        return true;
    }
    if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0) {
        *out = false;
        return true;
    }
    http_refuse(response, 400, "input", "the query's '%s' must be true or false", name);
    return false;
}

bool http_request_check_query(const struct http_request *request, struct http_response *response)
{
    const char *const *names = request->binding->route->query;
    size_t count = 0;
    if (!names)
        return true;
    while (names[count])
        count++;
    for (size_t i = 0; i < request->target.query_count; i++) {
        const char *name = request->target.query[i].name;
        size_t at = 0;
        while (at < count && strcmp(names[at], name) != 0)
            at++;
        if (at < count)
            continue;
        struct err err;
        err_unknown(&err, "query parameter", name, names, count);
        http_refuse(response, 400, "input", "%s", err.text);
        return false;
    }
    return true;
}

const char *http_header(const struct http_request *request, const char *name)
{
    if (!request->headers)
        return MHD_lookup_connection_value(request->connection->mhd, MHD_HEADER_KIND, name);
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

bool http_wants_page(const struct http_request *request)
{
    const char *accept = http_header(request, "Accept");
    return accept && strcasestr(accept, "text/html");
}

const char *http_last_event_id(const struct http_request *request)
{
    const char *id = http_header(request, "Last-Event-ID");
    return id && *id ? id : NULL;
}

int64_t http_started_ns(const struct http_request *request)
{
    return request->started_ns;
}

const char *http_remote(const struct http_request *request)
{
    return request->remote;
}

const char *http_request_id(const struct http_request *request)
{
    return request->id;
}

const char *http_body(const struct http_request *request, size_t *count)
{
    *count = request->body.len;
    return request->body.data ? request->body.data : "";
}

/* "application/json", "application/problem+json"; with charset, if that is UTF-8. */
static bool is_json(const char *type)
{
    size_t length = type ? strcspn(type, "; \t") : 0;
    bool json = (length == 16 && strncasecmp(type, "application/json", 16) == 0) ||
                (length > 5 && strncasecmp(type + length - 5, "+json", 5) == 0);
    const char *charset = json ? strcasestr(type + length, "charset=") : NULL;
    if (!charset)
        return json;
    charset += strlen("charset=");
    charset += *charset == '"';
    return strncasecmp(charset, "utf-8", 5) == 0;
}

json_t *http_json(struct http_request *request, struct http_response *response)
{
    struct err err;
    if (request->json)
        return request->json;
    if (request->body.len == 0) {
        http_refuse(response, 400, "input", "the request needs a JSON body");
        return NULL;
    }
    if (!is_json(http_header(request, "Content-Type"))) {
        http_refuse(response, 415, "not_json", "Content-Type must be application/json");
        return NULL;
    }
    if (json_parse_mended("body", 1, request->body.data, request->body.len, &request->json, &err) <
        0)
        http_refuse(response, 400, "input", "%s", err.text);
    return request->json;
}
