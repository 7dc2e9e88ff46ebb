/* http_pool: a pool of connections to one server.
 *
 * Ownership: strings of the options are copied. Threads: any number take and leave concurrently;
 * a connection belongs to its taker until it is returned. */
#pragma once

#include "client/http_flow.h"

struct http_pool;

/* Keeps up to `most` connections open. Checks URL and token. */
NODISCARD int http_pool_open(struct http_pool **out, const struct http_flow_options *options,
                             size_t most, struct err *err);
/* NULL is fine. All connections must have been returned. */
void http_pool_close(struct http_pool *pool);
/* An idle connection, the last used first (the warmest), or a new one. */
NODISCARD int http_pool_take(struct http_pool *pool, struct http_flow **out, struct err *err);
void http_pool_return(struct http_pool *pool, struct http_flow *flow);
