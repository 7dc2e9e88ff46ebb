/* submit: turns evaluation requests into jobs.
 *
 * Each request is read, its needs decided and a known result looked up; then all of them are put in
 * one commit, if the queue has capacity. An id that is there already answers for the same problem,
 * candidate and settings alone: 409 for others, unless that job has ended and the request is fresh.
 * Threads: handlers that may block. */
#pragma once

#include "server/internal.h"

struct submit_options {
    const char *const *names; /* what errors call the requests; NULL: nothing */
    bool numbered;            /* errors call them "evaluations[3]" */
    bool path_ids;            /* an id must not contain '/' */
    bool doubts;              /* server.remembered_speedup holds for known results */
    const char *batch;        /* NULL: none */
};

/* The jobs, in the order of the requests. */
struct submitted {
    size_t count;
    char (*ids)[QUEUE_ID_BYTES];
    const char **results; /* "new", "joined", "answered", "cached", "replaced" */
};

/* `requests`: an array. False: the response is a refusal, and nothing was put; except that, if
 * another client puts one of the ids for another request at the same moment, the rest may have been
 * put. *out is the caller's (submitted_deinit) if true. */
bool submit_all(struct service *service, const json_t *requests,
                const struct submit_options *options, struct submitted *out,
                struct http_response *response);
void submitted_deinit(struct submitted *submitted);
