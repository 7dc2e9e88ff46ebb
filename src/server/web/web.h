/* web: the dashboard: its page, and the data that the rest of the server does not have.
 *
 * The page is one HTML file with its scripts and style, which hold no data and need no token; all
 * data is below /v1, behind the token. Runs are read from their directories, which belong to other
 * processes and may change at any instant; nothing is written.
 *
 * Ownership: settings and queue are borrowed and outlive it. Threads: handlers on any of HTTP's;
 * one thread follows the runs that pages listen to, and one reads verdicts once a page wants some.
 * web_new … web_free belong to one thread.
 * Errors: what a handler cannot read is a refusal with its reason. */
#pragma once

#include "base/err.h"
#include "server/http/http.h"

#include <stdbool.h>
#include <stddef.h>

struct queue;
struct web;

struct web_options {
    const char *folder;      /* of runs; NULL or "": none */
    const char *const *runs; /* directories of further runs */
    size_t run_count;
    struct queue *queue; /* whose verdicts are shown; NULL: none */
};

struct web *web_new(const struct web_options *options);
/* After the server that has its routes has stopped. NULL is fine. */
void web_free(struct web *web);
/* Follows runs for the pages that listen; without it their streams get no events. */
NODISCARD int web_start(struct web *web, struct err *err);
/* Ends the streams; before http_free. */
void web_stop(struct web *web);

/* Tables whose context is a struct web; a row without methods ends each. */
extern const struct http_route web_page_routes[];
extern const struct http_route web_root_routes[]; /* GET /, for a server that has no other */
extern const struct http_route web_run_routes[];
extern const struct http_route web_trace_routes[];
extern const struct http_route web_verdict_routes[]; /* with a queue alone */
/* All of them but the root, for a server with a queue; ends with NULL. */
extern const struct http_route *const web_tables[];

/* For a request that http_wants_page. */
void web_answer_page(struct http_response *response);
