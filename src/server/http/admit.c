#include "server/http/internal.h"

#include "base/array.h"
#include "base/limits.h"
#include "server/server_settings.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The headers that decide whether a request is admitted; each at most once, except lists. */
struct heads {
    const char *host, *content_length, *transfer_encoding, *content_encoding, *authorization;
    const char *expect, *origin, *request_id, *asked_method, *api_key;
    size_t count;
    bool twice;
};

static enum MHD_Result headers_collect(void *context, enum MHD_ValueKind kind, const char *name,
                                       const char *value)
{
    struct heads *heads = context;
    const struct {
        const char *name, **place;
    } rows[] = {
        {"Host", &heads->host},
        {"Content-Length", &heads->content_length},
        {"Transfer-Encoding", &heads->transfer_encoding},
        {"Content-Encoding", &heads->content_encoding},
        {"Authorization", &heads->authorization},
        {"X-API-Key", &heads->api_key},
        {"Expect", &heads->expect},
        {"Origin", &heads->origin},
        {"X-Request-Id", &heads->request_id},
        {"Access-Control-Request-Method", &heads->asked_method},
    };
    heads->count++;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcasecmp(rows[i].name, name) == 0) {
            heads->twice = heads->twice || *rows[i].place;
            *rows[i].place = value ? value : "";
        }
    return heads->count > LIMIT_HTTP_HEADERS ? MHD_NO : MHD_YES;
}

static bool request_refuse(struct http_request *request, int status, const char *code,
                           const char *text)
{
    http_refuse(&request->response, status, code, "%s", text);
    return false;
}

static const struct {
    enum http_method method;
    const char *name;
} methods[] = {{HTTP_GET, "GET"},
               {HTTP_POST, "POST"},
               {HTTP_PUT, "PUT"},
               {HTTP_PATCH, "PATCH"},
               {HTTP_DELETE, "DELETE"}};

const char *http_method_name(enum http_method method)
{
    for (size_t i = 0; i < COUNT(methods); i++)
        if (methods[i].method == method)
            return methods[i].name;
    return "";
}

static enum http_method method_of(const char *name, bool *head)
{
    *head = strcmp(name, "HEAD") == 0;
    for (size_t i = 0; i < COUNT(methods); i++)
        if (strcmp(methods[i].name, *head ? "GET" : name) == 0)
            return methods[i].method;
    return 0;
}

/* Plain words only: the id is copied into headers and logs. */
static void take_id(struct http_request *request, const char *id)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t length = id ? strspn(id, plain) : 0;
    if (length > 0 && length < sizeof request->id && id[length] == '\0')
        snprintf(request->id, sizeof request->id, "%s", id);
}

static bool check_form(struct http_request *request, const struct heads *heads)
{
    const struct http_server *server = request->server;
    const struct server_settings *values = server_settings(server->settings);
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(request->connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct err err;
    int result = http_target_parse(request->raw, &request->arena, &request->target, &err);
    if (result == ERR_LIMIT)
        return request_refuse(request, 414, "target_too_long", err.text);
    if (result < 0 && *request->raw != '*')
        return request_refuse(request, 400, "malformed", err.text);
    if (heads->count > LIMIT_HTTP_HEADERS || (size && size->header_size > LIMIT_HTTP_HEADER_BYTES))
        return request_refuse(request, 431, "header_too_large",
                              "the headers are more than 100, or longer than 16 KiB");
    if (heads->twice)
        return request_refuse(request, 400, "malformed",
                              "a header that must be unique is repeated");
    if (heads->transfer_encoding && heads->content_length)
        return request_refuse(request, 400, "malformed",
                              "Content-Length and Transfer-Encoding contradict each other");
    if (heads->transfer_encoding && strcasecmp(heads->transfer_encoding, "chunked") != 0)
        return request_refuse(request, 501, "unsupported", "the only Transfer-Encoding is chunked");
    if (heads->expect && strcasecmp(heads->expect, "100-continue") != 0)
        return request_refuse(request, 417, "unsupported", "the only Expect is 100-continue");
    if ((server->listen.loopback || *values->allowed_hosts) && heads->host &&
        !http_host_is_listed(heads->host, values->allowed_hosts))
        return request_refuse(request, 421, "wrong_host",
                              "unknown Host; server.allowed_hosts lists further names");
    return true;
}

/* "Authorization: Bearer TOKEN", or "X-API-Key: TOKEN", as clients of the Tinker API send it. NULL:
 * neither. */
static const char *given_token(const struct heads *heads)
{
    static const char scheme[] = "Bearer ";
    if (!heads->authorization)
        return heads->api_key;
    if (strncasecmp(heads->authorization, scheme, sizeof scheme - 1) != 0)
        return NULL;
    const char *token = heads->authorization + sizeof scheme - 1;
    return token + strspn(token, " ");
}

/* Compares digests: their length is no secret, and the position of a difference reveals nothing. */
static bool token_is_valid(const struct http_server *server, const struct heads *heads)
{
    const char *token = given_token(heads);
    char given[HASH_HEX_BYTES];
    if (server->token_hash[0] == '\0')
        return true;
    if (!token)
        return false;
    hash_bytes(token, strlen(token), given);
    return CRYPTO_memcmp(given, server->token_hash, sizeof given) == 0;
}

/* Other origins' pages may send simple requests without a preflight. Their Origin header
 * identifies them; they are refused unless it is the host itself or in server.allowed_origins. */
static bool check_origin(struct http_request *request, const struct heads *heads)
{
    const char *origins = server_settings(request->server->settings)->allowed_origins;
    if (!heads->origin)
        return true;
    if (strcmp(origins, "*") == 0 ||
        http_list_contains(heads->origin, strlen(heads->origin), origins)) {
        request->origin = arena_strdup(&request->arena, heads->origin);
        return true;
    }
    const char *host = strstr(heads->origin, "://");
    if (request->method == HTTP_GET || (host && heads->host && !strcasecmp(host + 3, heads->host)))
        return true;
    return request_refuse(
        request, 403, "foreign_origin",
        "this origin is not allowed; server.allowed_origins lists those that are");
}

static void set_allow_header(struct http_request *request, unsigned allowed, const char *header)
{
    char text[64] = "";
    size_t used = 0;
    for (size_t i = 0; i < COUNT(methods); i++)
        if (allowed & methods[i].method)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s, %s", methods[i].name,
                                     methods[i].method == HTTP_GET ? "HEAD, " : "");
    snprintf(text + used, sizeof text - used, "OPTIONS");
    http_set_header(&request->response, header, text);
}

/* Answers OPTIONS: a browser's preflight, or a query for the allowed methods. It has no effect
 * and needs no token. */
static bool answer_options(struct http_request *request, const struct heads *heads,
                           unsigned allowed)
{
    http_set_status(&request->response, 204);
    set_allow_header(request, allowed, "Allow");
    if (request->origin && heads->asked_method) {
        set_allow_header(request, allowed, "Access-Control-Allow-Methods");
        http_set_header(&request->response, "Access-Control-Allow-Headers",
                        "Authorization, Content-Type, Last-Event-ID, X-Request-Id, "
                        "Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name");
        http_set_header(&request->response, "Access-Control-Max-Age", "600");
    }
    return false;
}

static bool is_public(const struct http_request *request)
{
    unsigned flags = request->binding ? request->binding->route->flags : 0;
    return flags & HTTP_PUBLIC || (flags & HTTP_PUBLIC_PAGE && http_wants_page(request));
}

static bool check_route(struct http_request *request, const struct heads *heads, bool options)
{
    unsigned allowed = 0;
    request->binding = http_routes_find(&request->server->routes, &request->target, request->method,
                                        &allowed);
    if (options && (allowed || *request->raw == '*'))
        return check_origin(request, heads) && answer_options(request, heads, allowed);
    if (!is_public(request) && !token_is_valid(request->server, heads)) {
        http_set_header(&request->response, "WWW-Authenticate", "Bearer realm=\"warpgym\"");
        return request_refuse(request, 401, "unauthorized",
                              given_token(heads) ? "wrong bearer token"
                                                 : "a bearer token is required");
    }
    if (!check_origin(request, heads))
        return false;
    if (!request->binding && allowed) {
        set_allow_header(request, allowed, "Allow");
        return request_refuse(request, 405, "method_not_allowed",
                              "this path does not have that method");
    }
    if (!request->binding)
        return request_refuse(request, 404, "not_found", "no such path");
    return true;
}

static bool check_body(struct http_request *request, const struct heads *heads)
{
    const struct http_route *route = request->binding->route;
    bool chunked = heads->transfer_encoding != NULL;
    request->body_max_bytes = route->body_max_bytes == HTTP_BODY_STANDARD
                                  ? server_settings(request->server->settings)->body_max_bytes
                                  : route->body_max_bytes;
    errno = 0;
    uint64_t length = heads->content_length ? strtoull(heads->content_length, NULL, 10) : 0;
    if (heads->content_encoding && strcasecmp(heads->content_encoding, "identity") != 0)
        return request_refuse(request, 415, "encoded", "Content-Encoding is not supported");
    if (!heads->content_length && !chunked &&
        request->method & (HTTP_POST | HTTP_PUT | HTTP_PATCH) && request->body_max_bytes > 0 &&
        !(route->flags & HTTP_BODY_OPTIONAL))
        return request_refuse(request, 411, "length_required",
                              "Content-Length or Transfer-Encoding: chunked is required");
    if (errno || length > request->body_max_bytes || (chunked && request->body_max_bytes == 0)) {
        http_refuse(&request->response, 413, "body_too_large",
                    "the body exceeds %zu bytes, the limit here", request->body_max_bytes);
        return false;
    }
    return true;
}

bool http_admit(struct http_request *request, const char *method, const char *version, bool *early)
{
    struct heads heads = {0};
    MHD_get_connection_values(request->connection->mhd, MHD_HEADER_KIND, headers_collect, &heads);
    uint64_t length = heads.content_length ? strtoull(heads.content_length, NULL, 10) : 0;
    /* Of two lengths libmicrohttpd uses the first, a proxy before us perhaps the other: one's
     * body is the other's next request (request smuggling). With too many headers, not all were
     * read. */
    bool unclear = heads.twice || heads.count > LIMIT_HTTP_HEADERS;
    request->has_body = unclear || heads.transfer_encoding || length > 0;
    *early = unclear || heads.transfer_encoding || length > HTTP_DISCARD_BYTES || heads.expect;
    snprintf(request->method_name, sizeof request->method_name, "%s", method);
    request->method = method_of(method, &request->head);
    take_id(request, heads.request_id);
    if (!heads.host && strcmp(version, "HTTP/1.0") != 0)
        return request_refuse(request, 400, "malformed", "the request has no Host");
    if (!check_form(request, &heads) ||
        !check_route(request, &heads, strcmp(method, "OPTIONS") == 0))
        return false;
    if (atomic_load(&request->server->stopping)) {
        http_refuse_for(&request->response, 503, HTTP_STOP_RETRY_AFTER_S, "stopping",
                        "the server is stopping");
        return false;
    }
    return check_body(request, &heads);
}
