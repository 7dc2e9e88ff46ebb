/* http_flow: one request to a server whose answer arrives over time, as server-sent events.
 *
 * One call is one try (except for libcurl's own repeat on a kept connection that was closed:
 * `sendings` counts it). The caller decides whether and when to retry (policy/retry.h), because
 * an answer that broke off in its middle needs more care than http_client's. Bytes of a
 * successful answer that is not a JSON document go to `on_bytes` as they arrive; a JSON document
 * and every refusal are collected into `body`.
 *
 * Three time bounds, each of which may be absent (0): until the first progress, between two
 * progresses, and for the whole call. on_bytes decides what is progress: a server's keep-alive
 * is not.
 *
 * Redirects are not followed, certificates are verified. Ownership: strings of the options are
 * copied. Threads: one flow belongs to one thread at a time; it keeps its connection. Errors:
 * ERR_INPUT (an invalid URL, a certificate that is not trusted), ERR_IO (no answer, or one that
 * broke off), ERR_TIMEOUT, ERR_LIMIT (too large), ERR_CANCELLED (within a tenth of a second), or
 * what on_bytes returned. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_flow;

struct http_flow_options {
    const char *url;           /* "https://host:port/prefix", without query */
    const char *token;         /* sent as bearer; NULL or "": none */
    const char *token_header;  /* sent in this header as it is; NULL: as bearer */
    const char *token_setting; /* the setting's name in errors: "policy.token" */
    const char *accept;        /* media types; NULL: events and JSON */
    const char *ca_file;       /* NULL or "": the system's */
    int64_t connect_timeout_ms;
    const _Atomic int *cancelled;
};

/* What on_bytes may return beside 0: progress was made; the answer is complete (the server gets
 * a moment to end the response properly, so that its connection can be kept; a failure after
 * this is ignored). */
#define HTTP_FLOW_PROGRESS 1
#define HTTP_FLOW_DONE 2

#define HTTP_FLOW_HEADERS 3

struct http_flow_call {
    const char *method, *target;
    const char *body; /* JSON, unless a header says otherwise; NULL: none */
    size_t body_bytes;
    /* Lines in place of the flow's own of that name ("Accept"); NULL values end them. */
    struct http_flow_header {
        const char *name, *value;
    } headers[HTTP_FLOW_HEADERS];
    int64_t first_ms, between_ms, whole_ms;
    size_t max_bytes; /* of the answer, as transferred */
    /* Returns 0, one of the above, or a negative code (with *err filled) that ends the call.
     * NULL: everything is collected. */
    int (*on_bytes)(void *context, const char *bytes, size_t count, struct err *err);
    void *context;
};

enum http_flow_late { LATE_NOT, LATE_CONNECT, LATE_FIRST, LATE_BETWEEN, LATE_WHOLE };

struct http_flow_answer {
    int status;        /* 0: none */
    bool unreached;    /* no connection was accepted, or the host is unknown */
    unsigned sendings; /* a request is sent again if a kept connection turns out closed */
    bool passing;      /* a failure that a retry may cure */
    enum http_flow_late
        late;               /* the bound that passed: LATE_CONNECT with ERR_IO, else ERR_TIMEOUT */
    int64_t retry_after_ms; /* 0: none given */
    char *body;             /* NUL-terminated; "" if on_bytes consumed it. Never NULL */
    size_t bytes;           /* of body */
    char *type;             /* Content-Type; "": none given. Never NULL */
    char *location;         /* where a redirection points to, as a whole URL; NULL: nowhere */
};

/* ERR_INPUT: no server can have that address; `token_setting` is where a token belongs. */
NODISCARD int http_flow_check_url(const char *url, const char *token_setting, struct err *err);
NODISCARD int http_flow_open(struct http_flow **out, const struct http_flow_options *options,
                             struct err *err);
/* NULL is fine. */
void http_flow_close(struct http_flow *flow);
/* Replaces the options' `cancelled`; NULL: calls are not cancelled. */
void http_flow_set_cancel(struct http_flow *flow, const _Atomic int *cancelled);
/* As given, without a '/' at its end. */
const char *http_flow_url(const struct http_flow *flow);
/* Sleeps, until cancelled. */
void http_flow_sleep(struct http_flow *flow, int64_t ms);

/* 0 for every status whose answer is complete. Fills an answer that is the caller's
 * (http_flow_answer_deinit, after a failure too). */
NODISCARD int http_flow_send(struct http_flow *flow, const struct http_flow_call *call,
                             struct http_flow_answer *answer, struct err *err);
void http_flow_answer_deinit(struct http_flow_answer *answer);
