/* http_client: requests to one HTTP server, over libcurl (http_handle.h).
 *
 *   call            one method, path and body; its answer is whole and bounded, whatever the status
 *   again           a server that is away, drops the connection, or says 429, 502, 503 or 504 is
 *                   asked again, later and later, for `patience_ms`; Retry-After is kept to. So
 *                   every call must be one that may be made twice: the caller draws the ids
 *   never           redirects are not followed (a token would go along), certificates are always
 *                   verified, nothing waits longer than it was told to
 *
 * Until a server has answered once, one that refuses the connection or has no address is not waited
 * for longer than HTTP_CLIENT_FIRST_MS: a mistyped URL is not worth two minutes.
 *
 * Ownership: strings of the options are copied. Threads: one client belongs to one thread at a
 * time; it keeps its connection from call to call, so a thread that calls often keeps its client.
 * Errors: ERR_INPUT (a URL that is none, a certificate that is not trusted), ERR_IO (no answer),
 * ERR_TIMEOUT, ERR_LIMIT (the answer is too large), ERR_CANCELLED.
 */
#ifndef WARPGYM_CLIENT_HTTP_CLIENT_H
#define WARPGYM_CLIENT_HTTP_CLIENT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define HTTP_CLIENT_FIRST_MS 3000

struct http_client;

struct http_client_options {
    const char *url;     /* "https://host:port/prefix", without query */
    const char *token;   /* sent as bearer; NULL or "": none */
    const char *ca_file; /* NULL or "": the system's */
    int64_t connect_timeout_ms, timeout_ms, patience_ms;
    int64_t backoff_ms;           /* first pause before asking again; 0: 200 */
    const _Atomic int *cancelled; /* non-zero ends a call within a tenth of a second; NULL: never */
};

struct http_client_call {
    const char *method; /* "GET", "POST", "DELETE" */
    const char *target; /* "/v1/evaluations?limit=5", escaped */
    const char *body;   /* JSON; NULL: none */
    size_t body_bytes;
    int64_t wait_ms;  /* that the server may take by agreement, beside timeout_ms */
    size_t max_bytes; /* of the answer */
};

struct http_client_answer {
    int status;
    char *body; /* NUL-terminated, which is not counted; never NULL after success */
    size_t bytes;
    unsigned asked; /* how often */
};

NODISCARD int http_client_open(struct http_client **out, const struct http_client_options *options,
                               struct err *err);
/* NULL is fine. */
void http_client_close(struct http_client *client);
/* What ends its calls from now on, instead of the options' `cancelled`; NULL: nothing. */
void http_client_watch(struct http_client *client, const _Atomic int *cancelled);
/* As it was given, without a '/' at its end. */
const char *http_client_url(const struct http_client *client);

/* Into an answer that is the caller's (http_client_answer_deinit, after a failure too). 0 for every
 * status that was not asked again or was so until patience ran out. */
NODISCARD int http_client_send(struct http_client *client, const struct http_client_call *call,
                               struct http_client_answer *answer, struct err *err);
void http_client_answer_deinit(struct http_client_answer *answer);

/* Sleeps, or less where somebody cancels. */
void http_client_rest(struct http_client *client, int64_t ms);

/* What a status of 300 and above says: "URL: the server's own words (404)". Its code: ERR_MISSING
 * for 401, 403 and 404 (nothing that this token may see), ERR_IO for 429 and 5xx, ERR_UNSUPPORTED
 * for 501, ERR_INPUT for other 4xx, ERR_PROTOCOL for what no warpgym answers. */
int http_client_refusal(const struct http_client *client, const struct http_client_answer *answer,
                        struct err *err);

/* `text` as one segment of a path or one value of a query. The caller's (mem_free). */
char *http_client_escape(const char *text);

#endif
