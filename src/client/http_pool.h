/* http_pool: connections to one server that threads take and leave.
 *
 * Ownership: strings of the options are copied. Threads: any number take and leave at once; what
 * one has taken is its own until it leaves it.
 */
#ifndef WARPGYM_CLIENT_HTTP_POOL_H
#define WARPGYM_CLIENT_HTTP_POOL_H

#include "client/http_flow.h"

struct http_pool;

/* Keeps up to `most` of them open. Checks URL and token. */
NODISCARD int http_pool_open(struct http_pool **out, const struct http_flow_options *options,
                             size_t most, struct err *err);
/* NULL is fine. Nobody has one. */
void http_pool_close(struct http_pool *pool);
/* One that nobody uses, the last used first (its connection is the warmest), or a new one. */
NODISCARD int http_pool_take(struct http_pool *pool, struct http_flow **out, struct err *err);
void http_pool_leave(struct http_pool *pool, struct http_flow *flow);

#endif
