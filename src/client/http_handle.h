/* http_handle: what http_client and http_flow share: libcurl's handles for one server, set up to
 * follow no redirects (the token would go along), verify certificates, and speak only http and
 * https. Only these two include this file.
 *
 * Ownership: strings of the options are copied. Threads: one at a time. */
#pragma once

#include "base/err.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#define HTTP_HANDLE_STEP_MS 50 /* interval at which `cancelled` is checked */

struct http_handle_options {
    const char *url;
    const char *token;         /* NULL or "": none */
    const char *token_setting; /* the setting's name in errors: "client.token" */
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
    char why[CURL_ERROR_SIZE]; /* of the last failed transfer */
};

/* ERR_INPUT: it is no address of a server; *loopback: it is this machine's. */
NODISCARD int http_handle_check_url(const char *url, const char *token_setting, bool *loopback,
                                    struct err *err);
/* After a failure there is nothing to deinit. ERR_INPUT: an invalid URL, a token of two lines. */
NODISCARD int http_handle_init(struct http_handle *handle,
                               const struct http_handle_options *options, struct err *err);
void http_handle_deinit(struct http_handle *handle);

bool http_handle_cancelled(const struct http_handle *handle);
/* URL, method and body of the next transfer; borrows the body until it ends. */
void http_handle_set_request(struct http_handle *handle, const char *method, const char *target,
                             const char *body, size_t body_bytes);

/* Why a transfer failed for good: ERR_INPUT, ERR_TIMEOUT or ERR_IO. */
int http_handle_failure(const struct http_handle *handle, CURLcode code, struct err *err);
/* Failures that a retry may cure; those of them that never reached the server. */
bool http_handle_is_passing(CURLcode code);
bool http_handle_is_unreached(CURLcode code);
