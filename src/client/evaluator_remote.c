/* evaluator_remote: evaluates on a server. */
#include "client/evaluator_internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/paths.h"
#include "client/remote.h"
#include "client/remote_batch.h"
#include "judge/request/request.h"
#include "judge/verdict.h"
#include "problem/suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CANCEL_PAUSE_MS 200 /* before a second look for a submission that may still be in transit */

struct server {
    const struct settings *settings;
    const char *url;
    const _Atomic int *cancelled;
    const struct paths_list *search_paths;
    char *own_suite; /* "…/problems/", which a server has too */
};

static const char *id_of(const json_t *request)
{
    return json_string_value(json_object_get(json_object_get(request, "problem"), "id"));
}

/* Sends a problem of the caller's own directories whole, as the server need not have it. True:
 * sent whole. */
static bool send_whole(const struct server *server, json_t *request)
{
    struct problem problem = {0};
    struct err ignored;
    const char *id = id_of(request), *own = server->own_suite;
    bool whole = id && suite_load_id(server->search_paths, id, &problem, &ignored) == 0 &&
                 problem.directory && strncmp(problem.directory, own, strlen(own)) != 0;
    if (whole)
        json_put(request, "problem", evaluation_problem_json(&problem));
    problem_deinit(&problem);
    return whole;
}

/* Cancels an evaluation whose verdict is no longer wanted. `known`: the server has confirmed it. */
static void cancel_evaluation(const struct server *server, const char *id, bool known)
{
    int64_t deadline_ns = clock_now_ns() + REMOTE_CANCEL_MS * (int64_t)1000000;
    struct timespec pause = {.tv_nsec = CANCEL_PAUSE_MS * 1000000L};
    struct remote *remote;
    struct err err;
    if (remote_open_briefly(&remote, server->settings, server->url, REMOTE_CANCEL_MS, &err) < 0)
        return;
    while (remote_cancel(remote, id, &err) == ERR_MISSING && !known &&
           clock_left_ms(deadline_ns) > CANCEL_PAUSE_MS)
        nanosleep(&pause, NULL);
    remote_close(remote);
}

/* True: it ended before this request without a judge's verdict (cancelled, or a fault of the
 * machine), and must be evaluated again. */
static bool ended_unjudged(const struct remote_evaluation *evaluation)
{
    enum verdict_status status = verdict_status_named(evaluation->outcome);
    return remote_is_ended(evaluation) &&
           (status == STATUS_CANCELLED || status == STATUS_INFRASTRUCTURE_ERROR ||
            evaluation->state == REMOTE_CANCELLED);
}

static int submit_evaluation(struct remote *remote, json_t *request, json_t **evaluation,
                             struct remote_evaluation *read, struct err *err)
{
    json_decref(*evaluation);
    *evaluation = NULL;
    int result = remote_submit(remote, request, evaluation, err);
    return result == 0 ? remote_read(*evaluation, read, err) : result;
}

/* Polls until it has ended. *known: the server has it, under the request's id. */
static int await_evaluation(struct remote *remote, json_t *request, json_t **evaluation,
                            bool *known, struct err *err)
{
    struct remote_evaluation read;
    int result = submit_evaluation(remote, request, evaluation, &read, err);
    if (result == 0 && ended_unjudged(&read)) {
        json_put(request, "fresh", json_true());
        result = submit_evaluation(remote, request, evaluation, &read, err);
    }
    *known = result == 0;
    if (result < 0 || remote_is_ended(&read))
        return result;
    json_decref(*evaluation);
    *evaluation = NULL;
    return remote_wait(remote, json_string_value(json_object_get(request, "id")), evaluation, err);
}

static int verdict_of(const json_t *evaluation, struct verdict *verdict, struct err *err)
{
    struct remote_evaluation read;
    int result = remote_read(evaluation, &read, err);
    if (result < 0)
        return result;
    if (read.state == REMOTE_CANCELLED)
        return err_set(err, ERR_CANCELLED, "evaluation %s was cancelled on the server: %s", read.id,
                       read.reason ? read.reason : "no reason given");
    remote_verdict(&read, verdict);
    return 0;
}

static int evaluate_object(void *state, void *session, const json_t *object,
                           const struct evaluator_call *call, struct verdict *verdict,
                           struct err *err)
{
    const struct server *server = state;
    json_t *request = json_copy((json_t *)object); /* the copy gets an id */
    json_t *evaluation = NULL;
    bool known = false;
    bool whole = send_whole(server, request);
    remote_set_cancel(session, call->cancelled);
    int result = json_is_object(request)
                     ? await_evaluation(session, request, &evaluation, &known, err)
                     : err_set(err, ERR_INPUT, "an evaluation must be an object");
    if (result == ERR_CANCELLED)
        cancel_evaluation(server, json_string_value(json_object_get(request, "id")), known);
    if (result == 0)
        result = verdict_of(evaluation, verdict, err);
    if (result == 0 && whole) /* as the caller calls it */
        verdict->problem_id = arena_strdup(&verdict->arena, id_of(object));
    json_decref(evaluation);
    json_decref(request);
    return result;
}

static int remote_session_open(void *state, void **out, struct err *err)
{
    const struct server *server = state;
    struct remote *remote;
    int result = remote_open(&remote, server->settings, server->url, server->cancelled, err);
    *out = remote;
    return result;
}

static void remote_session_close(void *state, void *session)
{
    remote_close(session);
}

static void server_free(void *state)
{
    struct server *server = state;
    mem_free(server->own_suite);
    mem_free(server);
}

/* A wrong URL fails here, not at the first evaluation. */
int evaluator_open_remote(struct evaluator **out, const char *url,
                          const struct evaluator_options *options, struct err *err)
{
    static const struct evaluator_kind kind = {remote_session_open, remote_session_close,
                                               evaluate_object, server_free};
    struct remote *probe;
    *out = NULL;
    int result = remote_open(&probe, options->settings, url, options->cancelled, err);
    if (result < 0)
        return result;
    remote_close(probe);
    struct server *server = mem_alloc(sizeof *server);
    char *root = paths_root();
    *server = (struct server){.settings = options->settings,
                              .url = url,
                              .cancelled = options->cancelled,
                              .search_paths = options->search_paths,
                              .own_suite = mem_printf("%s/problems/", root)};
    mem_free(root);
    *out = evaluator_new(&kind, server,
                         options->max_in_flight ? options->max_in_flight : REMOTE_MAX_IN_FLIGHT,
                         options->cancelled);
    return 0;
}
