/* route_match: finds the row for a path.
 *
 * Rows are sorted in the order in which they are tried: plain segments before ":name" before
 * "*name", at the leftmost difference of two patterns. Built before the server starts, and only
 * read then. */
#pragma once

#include "server/http/http.h"
#include "server/http/target.h"

struct http_binding {
    const struct http_route *route;
    void *context;
    size_t segment_count;
    const char *segments[LIMIT_HTTP_SEGMENTS]; /* "v1", ":id", "*path" */
};

struct http_routes {
    struct http_binding *bindings;
    size_t count;
    struct arena arena;
};

/* A zeroed one is empty. */
void http_routes_deinit(struct http_routes *routes);
NODISCARD int http_routes_add(struct http_routes *routes, const struct http_route *rows,
                              size_t count, void *context, struct err *err);

/* The row for path and method, or NULL; *allowed is then every method of the path (0: no such
 * path). */
const struct http_binding *http_routes_find(const struct http_routes *routes,
                                            const struct http_target *target,
                                            enum http_method method, unsigned *allowed);
/* The path's value of ":name" or "*name"; NULL: the pattern has no such name. */
const char *http_routes_parameter(const struct http_binding *binding,
                                  const struct http_target *target, const char *name);
