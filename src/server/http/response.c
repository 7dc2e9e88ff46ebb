#include "server/http/internal.h"

#include "base/array.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define METRICS_BYTES ((size_t)16 << 20)
#define RESPONSE_MAX_BYTES ((size_t)1 << 30)

void http_response_init(struct http_response *response, struct http_server *server,
                        struct http_request *request)
{
    *response = (struct http_response){.server = server, .request = request, .status = 200};
}

void http_response_deinit(struct http_response *response)
{
    for (size_t i = 0; i < response->header_count; i++) {
        mem_free(response->headers[i].name);
        mem_free(response->headers[i].value);
    }
    mem_free(response->headers);
    mem_free(response->body);
    response->headers = NULL;
    response->header_count = 0;
    response->body = NULL;
}

struct http_response *http_response_new(struct http_waiter *waiter)
{
    struct http_response *response = mem_alloc(sizeof *response);
    http_response_init(response, waiter->request->server, waiter->request);
    return response;
}

void http_response_free(struct http_response *response)
{
    if (!response)
        return;
    http_response_deinit(response);
    mem_free(response);
}

void http_set_status(struct http_response *response, int status)
{
    response->status = status;
    response->filled = true;
}

void http_set_taken(struct http_response *response, const char *type, char *bytes, size_t count)
{
    snprintf(response->type, sizeof response->type, "%s", type);
    mem_free(response->body);
    response->body = bytes;
    response->count = count;
    response->filled = true;
}

void http_set_bytes(struct http_response *response, const char *type, const void *bytes,
                    size_t count)
{
    char *copy = mem_resize(NULL, count + 1);
    memcpy(copy, bytes, count);
    http_set_taken(response, type, copy, count);
}

void http_set_json(struct http_response *response, json_t *value)
{
    struct buf text;
    buf_init(&text, RESPONSE_MAX_BYTES);
    if (json_line_write(value, &text, NULL) < 0) {
        static const char sorry[] = "the answer cannot be written as JSON\n";
        buf_reset(&text);
        buf_puts(&text, sorry);
        http_set_status(response, 500);
        http_set_bytes(response, "text/plain; charset=utf-8", sorry, sizeof sorry - 1);
        buf_deinit(&text);
    } else {
        size_t count = text.len;
        http_set_taken(response, "application/json", buf_take(&text), count);
    }
    json_decref(value);
}

/* Keeps any value from ending the line or the header. */
static char *header_value_copy(const char *value)
{
    char *copy = mem_strdup(value);
    for (char *at = copy; *at; at++)
        if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7F)
            *at = '?';
    return copy;
}

void http_set_metrics(struct http_response *response, struct metrics *metrics)
{
    struct buf text;
    buf_init(&text, METRICS_BYTES);
    metrics_write(metrics, &text);
    size_t count = text.len;
    http_set_taken(response, "text/plain; version=0.0.4; charset=utf-8", buf_take(&text), count);
}

void http_set_header(struct http_response *response, const char *name, const char *value)
{
    size_t i = 0;
    while (i < response->header_count && strcasecmp(response->headers[i].name, name) != 0)
        i++;
    if (i == response->header_count) {
        response->headers = mem_resize(response->headers, (i + 1) * sizeof *response->headers);
        response->headers[i].name = header_value_copy(name);
        response->header_count++;
    } else {
        mem_free(response->headers[i].value);
    }
    response->headers[i].value = header_value_copy(value);
}

void http_envelope_own(void *context, const struct http_error *error,
                       const struct http_request *request, struct http_response *response)
{
    json_t *inner = json_object(), *outer = json_object();
    json_put(inner, "code", json_text(error->code));
    json_put(inner, "message", json_text(error->text));
    json_put(inner, "request_id", json_text(request ? http_request_id(request) : NULL));
    json_put(outer, "error", inner);
    http_set_json(response, outer);
}

static void response_refuse(struct http_response *response, int status, int retry_after_s,
                            const char *code, const char *format, va_list args)
{
    char text[ERR_TEXT_MAX];
    vsnprintf(text, sizeof text, format, args);
    http_set_status(response, status);
    if (retry_after_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%d", retry_after_s);
        http_set_header(response, "Retry-After", seconds);
    }
    const struct http_error error = {status, code, text, retry_after_s};
    const struct http_options *options = &response->server->options;
    http_envelope envelope = options->envelope ? options->envelope : http_envelope_own;
    envelope(options->context, &error, response->request, response);
}

void http_refuse(struct http_response *response, int status, const char *code, const char *format,
                 ...)
{
    va_list args;
    va_start(args, format);
    response_refuse(response, status, 0, code, format, args);
    va_end(args);
}

void http_refuse_for(struct http_response *response, int status, int retry_after_s,
                     const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    response_refuse(response, status, retry_after_s, code, format, args);
    va_end(args);
}

void http_refuse_err(struct http_response *response, const struct err *err)
{
    static const struct {
        int code, status, retry_after_s;
    } rows[] = {
        {ERR_INPUT, 400, 0},       {ERR_MISSING, 404, 0},   {ERR_LIMIT, 429, HTTP_RETRY_AFTER_S},
        {ERR_TIMEOUT, 504, 0},     {ERR_CANCELLED, 409, 0}, {ERR_IO, 503, HTTP_RETRY_AFTER_S},
        {ERR_UNSUPPORTED, 501, 0},
    };
    int status = 500, retry_after_s = 0;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].code == err->code) {
            status = rows[i].status;
            retry_after_s = rows[i].retry_after_s;
        }
    http_refuse_for(response, status, retry_after_s, err_name(err->code), "%s", err->text);
}

static void add_header(struct MHD_Response *made, const char *name, const char *value)
{
    if (value && *value)
        MHD_add_response_header(made, name, value);
}

static void add_headers(const struct http_response *response, struct MHD_Response *made)
{
    const struct http_request *request = response->request;
    add_header(made, "Content-Type", response->type);
    add_header(made, "X-Request-Id", request->id);
    for (size_t i = 0; i < response->header_count; i++)
        add_header(made, response->headers[i].name, response->headers[i].value);
    if (request->origin) {
        add_header(made, "Access-Control-Allow-Origin", request->origin);
        add_header(made, "Vary", "Origin");
    }
    if (atomic_load(&request->server->stopping))
        add_header(made, "Connection", "close");
}

/* Takes the body. NULL: out of memory. */
struct MHD_Response *http_response_make(struct http_response *response)
{
    struct MHD_Response *made = NULL;
    if (response->request->stream)
        made = http_stream_response(response->request);
    else if (response->body)
        made = MHD_create_response_from_buffer_with_free_callback(response->count, response->body,
                                                                  mem_free);
    else
        made = MHD_create_response_from_buffer_with_free_callback(0, mem_strdup(""), mem_free);
    if (!made)
        return NULL;
    if (!response->request->stream)
        response->body = NULL;
    add_headers(response, made);
    return made;
}

void http_response_write(const struct http_response *response, struct buf *out)
{
    buf_printf(out, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\n",
               response->status, MHD_get_reason_phrase_for((unsigned)response->status),
               response->count);
    if (response->request)
        buf_printf(out, "X-Request-Id: %s\r\n", response->request->id);
    buf_printf(out, "Content-Type: %s\r\n", response->type);
    for (size_t i = 0; i < response->header_count; i++)
        buf_printf(out, "%s: %s\r\n", response->headers[i].name, response->headers[i].value);
    buf_puts(out, "\r\n");
    buf_append(out, response->body, response->count);
}

/* libmicrohttpd answers requests that it cannot parse by itself, with a page of HTML and no
 * callback. It makes that page with this function of its interface: a program's own definition
 * precedes a library's. If the library is linked so that it uses its own, status and headers are
 * the same and the page stays. We never call this function. */
struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *buffer,
                                                     enum MHD_ResponseMemoryMode mode)
{
    static const struct {
        const char *said, *code, *text;
    } rows[] = {
        {"was too big", "header_too_large", "the request line or the headers are too long"},
        {"version", "version_unsupported", "the server speaks HTTP/1.0 and HTTP/1.1"},
        {"chunk size", "body_too_large", "the body is too large"},
        {"chunked", "malformed", "the body is not chunked as Transfer-Encoding requires"},
        {"syntactically", "malformed", "this is not an HTTP request"},
    };
    /* libmicrohttpd 0.9.75 answers an invalid length with the head of the response twice:
     * without a body, the second head is behind the end and harmless. */
    if (memmem(buffer, size, "Content-Length", strlen("Content-Length")))
        return MHD_create_response_from_buffer_with_free_callback(0, mem_strdup(""), mem_free);
    size_t i = 0, count = COUNT(rows);
    while (i < count && !memmem(buffer, size, rows[i].said, strlen(rows[i].said)))
        i++;
    char *body = mem_printf(
        "{\"error\":{\"code\":\"%s\",\"message\":\"%s\",\"request_id\":null}}\n",
        i < count ? rows[i].code : "internal", i < count ? rows[i].text : "the server failed");
    struct MHD_Response *made = MHD_create_response_from_buffer_with_free_callback(strlen(body),
                                                                                   body, mem_free);
    if (made)
        MHD_add_response_header(made, "Content-Type", "application/json");
    return made;
}
