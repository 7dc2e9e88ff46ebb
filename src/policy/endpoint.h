/* endpoint: a server that requests go to, with its connections, its token, and the loop around a
 * request.
 *
 * endpoint_request takes an idle connection (or opens one) and makes attempts over it until one
 * succeeds or asks for no other. The token appears in no error: an endpoint may echo it, and a body
 * that is not JSON is quoted. Threads: any number may request at once, each on its own connection.
 */
#pragma once

#include "base/log.h"
#include "base/settings.h"
#include "client/http_flow.h"

struct endpoint {
    const struct settings *settings; /* policy.*; borrowed, as is `cancelled` */
    const _Atomic int *cancelled;
    char *url, *token;
    _Atomic bool known; /* it has answered before */
    struct http_pool *pool;
};

struct endpoint_options {
    const char *url;
    const struct settings *settings;
    const _Atomic int *cancelled;
    /* Of the environment, with the token if policy.token has none; sent over private connections
     * only (policy_url_is_private). */
    const char *variable;
    const char *token_header, *accept; /* as in struct http_flow_options */
    size_t at_once;                    /* connections that are kept open */
};
/* endpoint_close releases it after a failure, too. */
NODISCARD int endpoint_open(struct endpoint *endpoint, const struct endpoint_options *options,
                            struct err *err);
/* A zeroed one is fine. */
void endpoint_close(struct endpoint *endpoint);

/* What follows a failed attempt. */
struct endpoint_next {
    int64_t pause_ms; /* before another; RETRY_STOP (if nothing sets it): there is none */
    enum log_level level;
};
typedef int endpoint_attempt(void *context, struct http_flow *flow, struct endpoint_next *next,
                             struct err *err);
/* *asked: the number of attempts, after a failure too. */
NODISCARD int endpoint_request(struct endpoint *endpoint, endpoint_attempt *attempt, void *context,
                               unsigned *asked, struct err *err);
