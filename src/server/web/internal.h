/* internal: what the dashboard's files share. */
#pragma once

#include "server/web/run_set.h"
#include "server/web/web.h"

#include <jansson.h>
#include <pthread.h>

struct run_follower;
struct verdict_reader;

struct web {
    struct run_set *runs;
    char *folder;        /* NULL: none */
    struct queue *queue; /* NULL: none */

    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t wake;
    bool quit;
    struct verdict_reader *verdicts; /* NULL: no page wanted any yet */
    struct run_follower *followers;
    size_t follower_count;
};

/* The run of the path's :name, locked, with all of its metrics; NULL: the response is a refusal.
 * The caller's web_run_close. */
struct web_run *web_request_run(struct web *web, const struct http_request *request,
                                struct http_response *response);
/* What a list shows of a run: a new reference. */
json_t *web_run_json(const struct run_view *view, const char *name);
/* A number as JSON, null where it is not finite. A whole one is an integer. */
json_t *web_number(double value);

/* follow.c */
void web_followers_run(struct web *web);
void web_followers_end(struct web *web);
/* GET /v1/runs/:name/events */
void web_follow_run(void *context, struct http_request *request, struct http_response *response);
