/* http: an HTTP/1.1 server of routes, over libmicrohttpd, which only this module uses.
 *
 * A route is a row {methods, pattern, handler, flags, body limit}. The layer reads a request as
 * far as it is allowed to, answers by itself what never reaches a handler
 * (docs/reference/http.md has the list), and calls the handler with a whole request and an empty
 * response. The handler does one of three things:
 *
 *   answers    fills the response and returns
 *   postpones  http_postpone: keeps a struct http_waiter, which any thread answers later; a waiting
 *              request costs memory and no thread
 *   streams    http_stream_open: keeps a struct http_stream, to which any thread appends events
 *
 * Threads. Handlers run on the few threads that serve all connections, so they must not block:
 * no file, no database, no lock that is held for long. A handler that must is marked HTTP_BLOCKS
 * and runs on one of `server.handler_threads` threads. Any thread may call everything else at
 * any time, except functions on a struct http_request or http_response: those belong to the
 * handler until it returns. Callbacks of waiters and streams run without a lock of the layer,
 * and must not block either. `release` may also run within http_answer, http_drop and
 * http_stream_close: return handles outside of any lock that it takes.
 *
 * Ownership. Results of request accessors live until the handler has returned, with
 * http_postpone until `release` is called. Responses own what is put into them. A handle
 * (waiter, stream) is the caller's until it is returned, exactly once: http_answer or http_drop,
 * http_stream_close. The layer keeps it valid until then, even when the client has disconnected.
 *
 * Errors. Every status of 400 and above that the layer makes, or a handler with http_refuse,
 * gets its body from the server's envelope, so that two APIs on one port can have two error
 * formats.
 *
 * A server's lifetime: http_open (bound, not accepting), http_start, http_stop, http_free. */
#pragma once

#include "base/err.h"
#include "base/metrics.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_server;
struct http_request;
struct http_response;
struct http_waiter;
struct http_stream;

enum http_method {
    HTTP_GET = 1, /* a GET row also answers HEAD */
    HTTP_POST = 2,
    HTTP_PUT = 4,
    HTTP_PATCH = 8,
    HTTP_DELETE = 16,
};

/* "GET"; "" for none. */
const char *http_method_name(enum http_method method);

enum http_flag {
    HTTP_PUBLIC = 1, /* needs no token (health probes) */
    HTTP_BLOCKS = 2, /* runs on a handler thread and may wait for disks and databases */
    /* a POST, PUT or PATCH without a length has an empty body, instead of 411 */
    HTTP_BODY_OPTIONAL = 4,
    HTTP_PUBLIC_PAGE = 8, /* needs no token where http_wants_page */
};

/* The setting server.body_max_bytes. */
#define HTTP_BODY_STANDARD SIZE_MAX

/* Fills `response`, or calls http_postpone or http_stream_open; doing neither is a defect, which
 * the client sees as status 500. `context` is the one of http_add. */
typedef void (*http_handler)(void *context, struct http_request *request,
                             struct http_response *response);

struct http_route {
    unsigned methods; /* of enum http_method */
    /* "/v1/evaluations/:id/events": a segment ":name" matches any one segment that is not empty;
     * a last segment "*name" matches all of the rest. If several patterns match, the one with
     * the plain segment at the leftmost difference wins, whatever the order of the rows. */
    const char *pattern;
    http_handler handler;
    unsigned flags;        /* of enum http_flag */
    size_t body_max_bytes; /* 0: no body allowed */
    /* The only names that the query may contain (HTTP_QUERY); NULL: all. An unknown one is a 400
     * with the nearest name. */
    const char *const *query;
};

#define HTTP_QUERY(...) ((const char *const[]){__VA_ARGS__, NULL})
#define HTTP_NO_QUERY ((const char *const[]){NULL})

/* The content of a refusal. `code` is for programs ("not_found"), `text` for people: one
 * sentence without a full stop. */
struct http_error {
    int status;
    const char *code;
    const char *text;
    int retry_after_s; /* 0: no Retry-After */
};

/* Writes the body of a refusal (http_set_json, http_set_bytes); status and headers are set
 * already. `request` is NULL if it could not be parsed. */
typedef void (*http_envelope)(void *context, const struct http_error *error,
                              const struct http_request *request, struct http_response *response);

struct http_options {
    http_envelope envelope;  /* NULL: http_envelope_own */
    void *context;           /* of the envelope */
    struct metrics *metrics; /* the layer adds its own; NULL: none */
};

/* {"error": {"code": "not_found", "message": "…", "request_id": "…"}} */
void http_envelope_own(void *context, const struct http_error *error,
                       const struct http_request *request, struct http_response *response);

/* Reads the settings server.* (which must outlive the server), checks them and binds. ERR_INPUT:
 * an invalid address, or one that is reachable from outside without a token; ERR_IO: cannot
 * bind. *out is the caller's (http_free). */
NODISCARD int http_open(const struct settings *settings, const struct http_options *options,
                        struct http_server **out, struct err *err);
/* Before http_start. The rows must outlive the server. ERR_INTERNAL: a duplicate pattern and
 * method, or an invalid pattern. */
NODISCARD int http_add(struct http_server *server, const struct http_route *routes, size_t count,
                       void *context, struct err *err);
/* Likewise, of rows that end with one without methods. */
NODISCARD int http_add_table(struct http_server *server, const struct http_route *table,
                             void *context, struct err *err);
NODISCARD int http_start(struct http_server *server, struct err *err);

/* "http://127.0.0.1:10907", with the actual port; the server's. */
const char *http_address(const struct http_server *server);
int http_port(const struct http_server *server);
/* Whether http_stop has begun, for /ready. */
bool http_stopping(const struct http_server *server);

/* Stops accepting, answers new requests and all waiters with 503, closes streams, and lets
 * running handlers end. After half of the time it disconnects clients that do not read their
 * responses. ERR_TIMEOUT if a handler is still running at the deadline. Callable once; the
 * owners of waiters and streams must still exist, and return their handles. */
NODISCARD int http_stop(struct http_server *server, int64_t timeout_ms, struct err *err);
/* After http_stop, or without http_start. Waits for running handlers; a caller that cannot wait
 * ends the process instead. Handles that were not returned are a defect. NULL is fine. */
void http_free(struct http_server *server);

enum http_method http_method(const struct http_request *request); /* HTTP_GET for HEAD */
/* Decoded, without query; as received if it could not be decoded. "/v1/evaluations/x y" */
const char *http_path(const struct http_request *request);
/* "/v1/evaluations/:id"; NULL if no route matches. */
const char *http_pattern(const struct http_request *request);
/* Of the pattern's ":name", decoded: never empty, no NUL, no '/', UTF-8 (a "*name" keeps its
 * '/', and may be empty). The name must be in the pattern. */
const char *http_parameter(const struct http_request *request, const char *name);
/* Of the query, decoded (also '+'); NULL: absent; "": without value. The layer refuses repeated
 * names with 400. */
const char *http_query(const struct http_request *request, const char *name);
/* *out is unchanged if the name is absent. On an error (not a number, or outside low … high; not
 * true, false, 1 or 0) the response is a 400 already: return. */
NODISCARD bool http_query_int(const struct http_request *request, const char *name, int64_t low,
                              int64_t high, int64_t *out, struct http_response *response);
NODISCARD bool http_query_bool(const struct http_request *request, const char *name, bool *out,
                               struct http_response *response);
/* Case-insensitive; the first of that name; NULL: absent. */
const char *http_header(const struct http_request *request, const char *name);
/* Whether a browser asks for a page rather than data: its (first) Accept names text/html. */
bool http_wants_page(const struct http_request *request);
/* Never NULL; NUL-terminated, not counted. */
const char *http_body(const struct http_request *request, size_t *count);
/* The body as an object or array: strict JSON of at most JSON_DEPTH_MAX levels, no duplicate
 * keys. NULL: the response is a refusal already (400, or 415 if Content-Type is not JSON):
 * return. Parsed once; the request's. */
json_t *http_json(struct http_request *request, struct http_response *response);
/* When its first line arrived: clock_now_ns. */
int64_t http_started_ns(const struct http_request *request);
/* "127.0.0.1", "::1": without port. */
const char *http_remote(const struct http_request *request);
/* The client's X-Request-Id if it is a plain word of at most 64 bytes, else a generated one. It
 * is in the response's header of that name, in the access log and in the own envelope. */
const char *http_request_id(const struct http_request *request);

/* Each sets the body and its type, replacing an earlier one. The default status is 200. */
void http_set_status(struct http_response *response, int status);
/* Takes the reference of `value`. */
void http_set_json(struct http_response *response, json_t *value);
/* A copy. `type`: "text/plain; charset=utf-8". */
void http_set_bytes(struct http_response *response, const char *type, const void *bytes,
                    size_t count);
/* Takes `bytes`, which mem_free frees. */
void http_set_taken(struct http_response *response, const char *type, char *bytes, size_t count);
/* All metrics in Prometheus's format. */
void http_set_metrics(struct http_response *response, struct metrics *metrics);
/* Copies; replaces a header of the same name. Bytes that a header may not contain become '?'. */
void http_set_header(struct http_response *response, const char *name, const char *value);
/* Status and envelope. `format`: for people, without status or full stop. */
void http_refuse(struct http_response *response, int status, const char *code, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));
/* The same, with Retry-After: 429 and 503. */
void http_refuse_for(struct http_response *response, int status, int retry_after_s,
                     const char *code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* From a struct err: ERR_INPUT 400, ERR_MISSING 404, ERR_LIMIT 429, ERR_TIMEOUT 504,
 * ERR_UNSUPPORTED 501, ERR_CANCELLED 409, ERR_IO 503 with Retry-After, others 500. */
void http_refuse_err(struct http_response *response, const struct err *err);

/* All but `late` may be NULL. */
struct http_wait {
    int64_t timeout_ms; /* at least 1 */
    /* The deadline passed: called like the request's handler, with `context` of this wait; it
     * fills the response and must not postpone again. The handle stays the caller's. */
    http_handler late;
    /* The client disconnected, or the server stops (the client gets 503): no answer is needed. */
    void (*gone)(void *context);
    /* Last use of context: after the handle was returned and every other callback has returned. */
    void (*release)(void *context);
    void *context;
};

/* Called by a handler, once; the handler must not touch its response after this. Another thread
 * may answer the waiter before this returns. */
struct http_waiter *http_postpone(struct http_request *request, const struct http_wait *wait);

/* A response to fill for a waiter. The caller's, until http_answer or http_response_free. */
struct http_response *http_response_new(struct http_waiter *waiter);
void http_response_free(struct http_response *response);

/* Both return the handle; http_answer takes the response. False: the client was gone, or `late`
 * was first. Only the delivery failed: durable state is unaffected. */
bool http_answer(struct http_waiter *waiter, struct http_response *response);
/* For a waiter without an answer (`late` or `gone` was called): a request that still waits gets
 * 500. */
void http_drop(struct http_waiter *waiter);

struct http_stream_options {
    size_t backlog_bytes;        /* unread by the client; a client above it is dropped; 0: 1 MiB */
    void (*gone)(void *context); /* as struct http_wait */
    void (*release)(void *context); /* as struct http_wait */
    void *context;
};

struct http_event {
    const char *id;   /* NULL: none; no newline */
    const char *name; /* NULL: "message"; no newline */
    const char *data; /* any lines */
};

/* The last event that the client saw, for handlers that can resume; NULL: none, or its first
 * visit. */
const char *http_last_event_id(const struct http_request *request);

/* Called by a handler, once, instead of answering: status 200, text/event-stream. Sends a
 * comment every 15 s, so that a dead client is noticed and proxies keep the connection. */
struct http_stream *http_stream_open(struct http_request *request,
                                     const struct http_stream_options *options);
/* False: the client is gone, or was dropped because of its backlog; `gone` has been or will be
 * called. Never waits. */
bool http_stream_send(struct http_stream *stream, const struct http_event *event);
/* An event whose data is one line of JSON; false also where that exceeds the backlog. */
bool http_stream_send_json(struct http_stream *stream, const char *name, const char *id,
                           const json_t *value);
/* Returns the handle. Earlier events are still sent, then the response ends. */
void http_stream_close(struct http_stream *stream);
