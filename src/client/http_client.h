/* http_client: requests to one HTTP server, each tried (http_flow.h) until it is answered.
 *
 *   call            one method, path and body; the answer is whole and bounded, whatever the status
 *   retry           after a lost connection, an unreachable server, or 429, 502, 503 or 504, with
 *                   growing pauses, until the retry budget is spent; respects Retry-After. So every
 *                   call must be idempotent: the caller chooses the ids
 *   never           follows a redirect (the token would go along), skips the verification of a
 *                   certificate, or waits longer than its bounds
 *
 * Until a server has answered once, a refused connection or an unknown host is retried for at
 * most HTTP_CLIENT_FIRST_MS: a mistyped URL should fail soon.
 *
 * Ownership: strings of the options are copied. Threads: one client belongs to one thread at a
 * time; it keeps its connection from call to call, so a thread that calls often keeps its
 * client. Errors: ERR_INPUT (an invalid URL, a certificate that is not trusted), ERR_IO (no
 * answer), ERR_TIMEOUT, ERR_LIMIT (the answer is too large), ERR_CANCELLED. */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define HTTP_CLIENT_FIRST_MS 3000

struct http_client;

struct http_client_options {
    const char *url;     /* "https://host:port/prefix", without query */
    const char *token;   /* sent as bearer; NULL or "": none */
    const char *ca_file; /* NULL or "": the system's */
    int64_t connect_timeout_ms, timeout_ms, retry_budget_ms;
    int64_t backoff_ms;           /* first pause before a retry; 0: 200 */
    const _Atomic int *cancelled; /* non-zero ends a call within a tenth of a second; NULL: never */
};

struct http_client_call {
    const char *method; /* "GET", "POST", "DELETE" */
    const char *target; /* "/v1/evaluations?limit=5", escaped */
    const char *body;   /* JSON; NULL: none */
    size_t body_bytes;
    int64_t wait_ms;  /* the server's own wait (long poll), added to timeout_ms */
    size_t max_bytes; /* of the answer */
};

struct http_client_answer {
    int status;
    char *body; /* NUL-terminated, not counted; never NULL after success */
    size_t bytes;
    unsigned asked; /* how often it was sent */
};

NODISCARD int http_client_open(struct http_client **out, const struct http_client_options *options,
                               struct err *err);
/* NULL is fine. */
void http_client_close(struct http_client *client);
/* Replaces the options' `cancelled`; NULL: calls are not cancelled. */
void http_client_set_cancel(struct http_client *client, const _Atomic int *cancelled);
/* As given, without a '/' at its end. */
const char *http_client_url(const struct http_client *client);

/* Fills an answer that is the caller's (http_client_answer_deinit, after a failure too). 0 for
 * every status that is not retried, or that remains when the retry budget is spent. */
NODISCARD int http_client_send(struct http_client *client, const struct http_client_call *call,
                               struct http_client_answer *answer, struct err *err);
void http_client_answer_deinit(struct http_client_answer *answer);

/* Sleeps, until cancelled. */
void http_client_sleep(struct http_client *client, int64_t ms);

/* Turns a status of 300 and above into an error: "URL: the server's own words (404)". Its code:
 * ERR_MISSING for 401, 403 and 404 (not visible with this token), ERR_IO for 429 and 5xx,
 * ERR_UNSUPPORTED for 501, ERR_INPUT for other 4xx, ERR_PROTOCOL for statuses that warpgym never
 * sends. */
int http_client_refusal(const struct http_client *client, const struct http_client_answer *answer,
                        struct err *err);

/* `text` as one segment of a path or one value of a query. The caller's (mem_free). */
char *http_client_escape(const char *text);
