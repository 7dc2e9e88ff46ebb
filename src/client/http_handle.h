/* http_handle: what http_client and http_flow have in common: libcurl's handles for one server,
 * prepared so that redirects are not followed (a token would go along), certificates are verified
 * and nothing but http and https is spoken. Only these two include this file.
 *
 * Ownership: strings of the options are copied. Threads: one at a time.
 */
#ifndef WARPGYM_CLIENT_HTTP_HANDLE_H
#define WARPGYM_CLIENT_HTTP_HANDLE_H

#include "base/err.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#define HTTP_HANDLE_STEP_MS 50 /* between two looks at `cancelled` */

struct http_handle_options {
    const char *url;
    const char *token;         /* NULL or "": none */
    const char *token_setting; /* how errors call the place for it: "client.token" */
    const char *ca_file;       /* NULL or "": the system's */
    const char *accept;        /* media types */
    const char *token_header;  /* NULL: "Authorization", as bearer */
    int64_t connect_timeout_ms;
    const _Atomic int *cancelled;
};

struct http_handle {
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    char *url; /* without a '/' at its end */
    char *ca_file;
    const _Atomic int *cancelled;
    char why[CURL_ERROR_SIZE]; /* of the last transfer that failed */
};

/* After a failure there is nothing to deinit. ERR_INPUT: no URL of ours, a token of two lines. */
NODISCARD int http_handle_init(struct http_handle *handle,
                               const struct http_handle_options *options, struct err *err);
void http_handle_deinit(struct http_handle *handle);

bool http_handle_cancelled(const struct http_handle *handle);
/* URL, method and body of the next transfer; the body is borrowed until it is over. */
void http_handle_describe(struct http_handle *handle, const char *method, const char *target,
                          const char *body, size_t body_bytes);

/* Why a transfer failed for good: ERR_INPUT, ERR_TIMEOUT or ERR_IO. */
int http_handle_failure(const struct http_handle *handle, CURLcode code, struct err *err);
/* Failures that a second try may mend; those of them that never reached the server. */
bool http_handle_is_passing(CURLcode code);
bool http_handle_is_unreached(CURLcode code);

#endif
