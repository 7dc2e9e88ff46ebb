/* api_episodes: episodes over HTTP (docs/guide/gym.md): begin, step, look, end.
 *
 *   POST step ─► the answer is kept ─► its evaluation is put ─► waited for ─► the turn is over
 *                (document, durable)    (a job, durable)
 *
 * Each arrow may be the last thing that this process does: the same step, sent again to any server
 * on the queue, finds what was done and goes on from there. The job's id is the episode's, the
 * turn's and the attempt's, so none is judged twice, and has a part that nobody can guess, so none
 * is another's. */
#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/remote.h"
#include "server/episode_store.h"
#include "server/submit.h"

#include <stdio.h>
#include <string.h>

#define STEP_WAIT_S 20
#define TRIES 8 /* at a document that others write, too */

/* ------------------------------------------------------------------------------------ documents */

/* By what an episode or its configuration does. */
static void refuse(struct http_response *response, const struct err *err)
{
    if (err->code == ERR_INPUT || err->code == ERR_UNSUPPORTED)
        http_refuse(response, 400, "bad_request", "%s", err->text);
    else if (err->code == ERR_LIMIT)
        http_refuse(response, 413, "too_large", "%s", err->text);
    else
        service_refuse_queue(response, err);
}

static bool get_stored(struct service *service, const char *id, struct stored *stored,
                       struct http_response *response)
{
    struct err err;
    *stored = (struct stored){0};
    if (episode_store_get(service->queue, service->options.gym, id, stored, &err) == 0)
        return true;
    service_refuse_queue(response, &err);
    return false;
}

enum putting { PUT_REFUSED, PUT_TOO_LARGE, PUT_LATE, PUT_WRITTEN };

static enum putting put_stored(struct service *service, struct stored *stored,
                               struct http_response *response)
{
    bool written;
    struct err err;
    int result = episode_store_put(service->queue, stored, &written, &err);
    if (result == ERR_LIMIT)
        return PUT_TOO_LARGE;
    if (result < 0) {
        service_refuse_queue(response, &err);
        return PUT_REFUSED;
    }
    return written ? PUT_WRITTEN : PUT_LATE;
}

/* To try again would not help, as it would with a queue that is full. */
static void refuse_size(struct http_response *response)
{
    http_refuse(response, 413, "too_large",
                "the episode would have more than %zu bytes, and no more can be kept",
                LIMIT_QUEUE_BODY_BYTES);
}

/* There is room for the answer and none for what became of it: that turn never was, and no further
 * one can be. */
static enum putting give_up(struct service *service, struct stored *stored,
                            struct http_response *response)
{
    char id[LIMIT_EPISODE_ID_BYTES + 1];
    snprintf(id, sizeof id, "%s",
             json_string_value(json_object_get(episode_state(stored->episode), "id")));
    stored_deinit(stored);
    if (!get_stored(service, id, stored, response))
        return PUT_REFUSED;
    if (episode_phase(stored->episode) != EPISODE_JUDGING)
        return PUT_LATE;
    episode_end(stored->episode, "budget");
    return put_stored(service, stored, response);
}

static void answer(const struct stored *stored, int status, struct http_response *response)
{
    http_set_status(response, status);
    http_set_json(response, episode_view(stored));
}

/* -------------------------------------------------------------------------------------- judging */

/* Of a job without a result: its worker is lost, or somebody cancelled it. */
static json_t *verdict_without(const struct queue_job *job)
{
    const char *status = job->state == QUEUE_CANCELLED ? "cancelled" : "infrastructure_error";
    return json_pack("{s:s, s:{s:s, s:o, s:n}}", "status", status, "error", "class", "queue",
                     "message", json_text(job->reason), "excerpt");
}

enum judged { JUDGED_REFUSED, JUDGED_NOT_YET, JUDGED_NOT_PUT, JUDGED };

static enum judged find_verdict(struct service *service, const char *id, json_t **verdict,
                                struct http_response *response)
{
    struct queue_job job;
    struct err err;
    int result = queue_get(service->queue, id, QUEUE_RESULT, &job, &err);
    if (result == ERR_MISSING)
        return JUDGED_NOT_PUT;
    if (result < 0) {
        service_refuse_queue(response, &err);
        return JUDGED_REFUSED;
    }
    bool ended = view_ended(&job);
    if (ended &&
        (!job.result || json_parse("verdict", job.result, job.result_bytes, verdict, &err) < 0))
        *verdict = verdict_without(&job);
    queue_job_deinit(&job);
    return ended ? JUDGED : JUDGED_NOT_YET;
}

static bool put_job(struct service *service, const json_t *request, struct http_response *response)
{
    struct submission submission;
    struct queue_submission put;
    bool done = submit_prepare(service, request, NULL, &submission, response) &&
                submit_put(service, &submission, 1, NULL, &put, response);
    submit_deinit(&submission);
    return done;
}

/* Takes a verdict into the episode. JUDGED: it is kept; JUDGED_NOT_PUT: it said nothing, and the
 * next attempt is kept. */
static enum judged take(struct service *service, struct stored *stored, const json_t *verdict,
                        bool *late, struct http_response *response)
{
    struct err err;
    int result = episode_verdict(stored->episode, verdict, &err);
    if (result < 0 && result != ERR_IO) {
        refuse(response, &err);
        return JUDGED_REFUSED;
    }
    enum putting putting = put_stored(service, stored, response);
    if (putting == PUT_TOO_LARGE)
        putting = give_up(service, stored, response);
    *late = putting == PUT_LATE;
    if (putting == PUT_TOO_LARGE)
        refuse_size(response);
    if (putting == PUT_REFUSED || putting == PUT_TOO_LARGE)
        return JUDGED_REFUSED;
    return result == 0 ? JUDGED : JUDGED_NOT_PUT;
}

/* As far as it goes without waiting. `job` is what is to be waited for. */
static enum judged go_on(struct service *service, struct stored *stored, bool *late,
                         char job[QUEUE_ID_BYTES], struct http_response *response)
{
    *late = false;
    while (episode_phase(stored->episode) == EPISODE_JUDGING && !*late) {
        json_t *request = episode_request(stored->episode), *verdict = NULL;
        snprintf(job, QUEUE_ID_BYTES, "%s", json_string_value(json_object_get(request, "id")));
        enum judged judged = find_verdict(service, job, &verdict, response);
        if (judged == JUDGED_NOT_PUT)
            judged = put_job(service, request, response)
                         ? find_verdict(service, job, &verdict, response)
                         : JUDGED_REFUSED;
        if (judged == JUDGED)
            judged = take(service, stored, verdict, late, response);
        json_decref(verdict);
        json_decref(request);
        if (judged == JUDGED_REFUSED || judged == JUDGED_NOT_YET)
            return judged;
    }
    return JUDGED;
}

/* The same, begun anew where another server was faster. `stored` is the newest then. */
static enum judged settle(struct service *service, const char *id, struct stored *stored,
                          char job[QUEUE_ID_BYTES], struct http_response *response)
{
    for (int i = 0; i < TRIES; i++) {
        bool late;
        enum judged judged = go_on(service, stored, &late, job, response);
        if (!late)
            return judged;
        stored_deinit(stored);
        if (!get_stored(service, id, stored, response))
            return JUDGED_REFUSED;
    }
    http_refuse_for(response, 503, SERVICE_RETRY_AFTER_S, "busy",
                    "too many write this episode at the same time");
    return JUDGED_REFUSED;
}

/* -------------------------------------------------------------------------------------- waiting */

struct wait {
    struct feed_listener listener; /* first */
    struct pool_work work;
    struct service *service;
    struct http_waiter *waiter;
    char id[LIMIT_EPISODE_ID_BYTES + 1];
    char job[QUEUE_ID_BYTES];
    bool ended; /* the feed's thread */
};

static void answer_now(struct service *service, const char *id, struct http_response *response)
{
    struct stored stored;
    char job[QUEUE_ID_BYTES];
    if (get_stored(service, id, &stored, response)) {
        enum judged judged = settle(service, id, &stored, job, response);
        if (judged != JUDGED_REFUSED)
            answer(&stored, judged == JUDGED ? 200 : 202, response);
    }
    stored_deinit(&stored);
}

static void finish(struct pool_work *work)
{
    struct wait *wait = POOL_WHOLE(work, struct wait, work);
    struct http_response *response = http_response_new(wait->waiter);
    answer_now(wait->service, wait->id, response);
    (void)http_answer(wait->waiter, response);
}

static enum feed_look look(struct feed_listener *listener, const struct queue_event *event)
{
    struct wait *wait = (struct wait *)listener;
    struct queue_job job;
    struct err err;
    if (event && event->state != QUEUE_DONE && event->state != QUEUE_CANCELLED)
        return FEED_WAIT;
    int result = queue_get(wait->service->queue, wait->job, QUEUE_NO_BODIES, &job, &err);
    if (result < 0 && result != ERR_MISSING)
        return FEED_AGAIN;
    if (result == 0 && !view_ended(&job))
        return FEED_WAIT;
    wait->ended = true;
    return FEED_OVER;
}

/* The last thing that the feed does with it. */
static void drop(struct feed_listener *listener)
{
    struct wait *wait = (struct wait *)listener;
    if (!wait->ended || !pool_push(wait->service->finishers, &wait->work))
        http_drop(wait->waiter);
}

static void late(void *context, struct http_request *request, struct http_response *response)
{
    struct wait *wait = context;
    (void)request;
    answer_now(wait->service, wait->id, response);
    feed_cancel(wait->service->feed, &wait->listener);
}

static void gone(void *context)
{
    struct wait *wait = context;
    feed_cancel(wait->service->feed, &wait->listener);
}

static void wait_for(struct service *service, const char *id, const char *job, int64_t wait_ms,
                     struct http_request *request)
{
    struct wait *wait = mem_alloc(sizeof *wait);
    wait->listener.look = look;
    wait->listener.drop = drop;
    wait->work.run = finish;
    wait->service = service;
    snprintf(wait->id, sizeof wait->id, "%s", id);
    snprintf(wait->job, sizeof wait->job, "%s", job);
    feed_key_job(wait->listener.key, job);
    const struct http_wait asked = {
        .timeout_ms = wait_ms, .late = late, .gone = gone, .release = mem_free, .context = wait};
    wait->waiter = http_postpone(request, &asked);
    feed_add(service->feed, &wait->listener);
}

/* Answers, or waits until it can. */
static void answer_or_wait(struct service *service, const char *id, struct stored *stored,
                           int64_t wait_ms, struct http_request *request,
                           struct http_response *response)
{
    char job[QUEUE_ID_BYTES] = "";
    enum judged judged = settle(service, id, stored, job, response);
    if (judged == JUDGED_REFUSED)
        return;
    if (judged == JUDGED || wait_ms == 0)
        answer(stored, judged == JUDGED ? 200 : 202, response);
    else
        wait_for(service, id, job, wait_ms, request);
}

static bool read_wait(const struct http_request *request, struct http_response *response,
                      int64_t standard_s, int64_t *wait_ms)
{
    static const char *const names[] = {"wait_s", NULL};
    int64_t wait_s = standard_s;
    if (!http_query_known(request, names, response) ||
        !http_query_int(request, "wait_s", 0, LIMIT_WAIT_S, &wait_s, response))
        return false;
    *wait_ms = wait_s * 1000;
    return true;
}

/* ---------------------------------------------------------------------------------------- begin */

struct beginning {
    const char *id;
    json_t *notes; /* borrowed; NULL */
    int64_t expires_s;
};

/* What the episode itself does not know goes out of the configuration. */
static int read_beginning(json_t *body, struct beginning *out, struct err *err)
{
    *out = (struct beginning){.expires_s = EPISODE_EXPIRES_S};
    int result = json_find_string(body, "id", &out->id, err);
    if (result == 0)
        result = json_find_object(body, "notes", &out->notes, err);
    if (result == 0)
        result = json_find_int(body, "expires_s", &out->expires_s, err);
    if (result == 0 && (out->expires_s < 1 || out->expires_s > EPISODE_EXPIRES_MOST_S))
        result = err_set(err, ERR_INPUT, "'expires_s' must be within 1 and %d",
                         EPISODE_EXPIRES_MOST_S);
    if (result == 0 && out->notes &&
        json_dumpb(out->notes, NULL, 0, JSON_COMPACT) > LIMIT_NOTES_BYTES)
        result = err_set(err, ERR_LIMIT, "'notes' has more than %zu bytes", LIMIT_NOTES_BYTES);
    if (result == 0 && json_object_get(body, "labels"))
        result = err_set(err, ERR_INPUT, "'labels' is not for episodes over HTTP; use 'notes'");
    return result;
}

/* Who asks again for what he has may, however many there are. */
static bool is_there(struct service *service, const json_t *body)
{
    const char *id = json_string_value(json_object_get(body, "id"));
    struct stored stored = {0};
    struct err ignored;
    bool there = id && episode_store_get(service->queue, service->options.gym, id, &stored,
                                         &ignored) == 0;
    stored_deinit(&stored);
    return there;
}

static bool may_begin(struct service *service, const json_t *body, struct http_response *response)
{
    uint64_t most = (uint64_t)service->settings->server_episodes_max;
    struct queue_stats stats;
    if (!service_stats(service, &stats) || stats.documents < most || is_there(service, body))
        return true;
    http_refuse_for(response, 429, SERVICE_RETRY_AFTER_S, "episodes_full",
                    "%llu episodes are kept at most (server.episodes_max); end some, or try again "
                    "later",
                    (unsigned long long)most);
    return false;
}

/* One of that id is there: the same one when it was asked for with the same words. */
static void answer_existing(struct service *service, const char *id, const struct stored *wanted,
                            struct http_response *response)
{
    struct stored found;
    if (get_stored(service, id, &found, response)) {
        const json_t *ours = json_object_get(episode_state(wanted->episode), "configuration");
        const json_t *theirs = json_object_get(episode_state(found.episode), "configuration");
        if (json_equal((json_t *)ours, (json_t *)theirs))
            answer(&found, 200, response);
        else
            http_refuse(response, 409, "exists", "episode '%s' is there, and is another one", id);
    }
    stored_deinit(&found);
}

static void begin(struct service *service, json_t *body, struct http_response *response)
{
    char drawn[REMOTE_ID_BYTES];
    struct beginning beginning;
    struct stored stored = {0};
    struct err err;
    json_t *configuration = json_copy(body);
    int result = read_beginning(body, &beginning, &err);
    remote_draw_id(drawn);
    const char *id = beginning.id ? beginning.id : drawn;
    json_object_del(configuration, "id");
    json_object_del(configuration, "notes");
    json_object_del(configuration, "expires_s");
    json_put(configuration, "labels", json_pack("{s:s}", "policy", "http"));
    if (result == 0)
        result = episode_new(&stored.episode, service->options.gym, id, configuration, &err);
    json_decref(configuration);
    if (result < 0) {
        if (err.code == ERR_MISSING) /* of the body, not of the path */
            err.code = ERR_INPUT;
        refuse(response, &err);
        return;
    }
    stored.expires_s = beginning.expires_s;
    stored.notes = json_incref(beginning.notes);
    enum putting putting = put_stored(service, &stored, response);
    if (putting == PUT_WRITTEN)
        answer(&stored, 201, response);
    else if (putting == PUT_LATE)
        answer_existing(service, id, &stored, response);
    else if (putting == PUT_TOO_LARGE)
        refuse_size(response);
    stored_deinit(&stored);
}

static void post(void *context, struct http_request *request, struct http_response *response)
{
    static const char *const names[] = {NULL};
    struct service *service = context;
    if (!http_query_known(request, names, response))
        return;
    json_t *body = http_json(request, response);
    if (!body)
        return;
    if (!json_is_object(body))
        http_refuse(response, 400, "bad_request", "the body must be an object");
    else if (may_begin(service, body, response))
        begin(service, body, response);
}

/* ---------------------------------------------------------------------------------------- steps */

/* {"turn", "answer", …} as episode_answer wants it. */
static int read_step(const json_t *body, int64_t *turn, json_t **given, struct err *err)
{
    static const char *const names[] = {"turn",          "answer", "reasoning", "finish", "model",
                                        "thinking_open", "usage",  "logprobs",  "tokens"};
    const char *text;
    int result = json_check_keys(body, names, COUNT(names), err);
    if (result == 0)
        result = json_get_int(body, "turn", turn, err);
    if (result == 0)
        result = json_get_string(body, "answer", &text, err);
    if (result < 0)
        return result;
    *given = json_copy((json_t *)body);
    json_object_del(*given, "turn");
    json_object_del(*given, "answer");
    json_put(*given, "text", json_incref(json_object_get(body, "answer")));
    return 0;
}

/* The answer that this turn has already; NULL: none. */
static const json_t *answered(const struct episode *episode, int64_t turn)
{
    const json_t *record = episode_record(episode, turn);
    if (record)
        return json_object_get(record, "answer");
    if (turn != episode_turn(episode))
        return NULL;
    const json_t *pending = json_object_get(episode_state(episode), "pending");
    return json_object_get(json_object_get(pending, "answer"), "text");
}

enum stepping { STEP_REFUSED, STEP_LATE, STEP_KEPT, STEP_WAS_KEPT };

/* Brings the answer into the episode, durably. */
static enum stepping keep_answer(struct service *service, struct stored *stored, int64_t turn,
                                 const json_t *given, struct http_response *response)
{
    struct episode *episode = stored->episode;
    const json_t *before = answered(episode, turn);
    json_t *request = NULL;
    struct err err;
    if (before && json_equal((json_t *)before, json_object_get(given, "text")))
        return STEP_WAS_KEPT;
    if (before) {
        http_refuse(response, 409, "answered", "turn %lld has another answer already",
                    (long long)turn);
        return STEP_REFUSED;
    }
    if (turn != episode_turn(episode) || episode_phase(episode) == EPISODE_DONE) {
        http_refuse(response, 409, "wrong_turn",
                    "the episode is %s, at turn %lld; an answer to turn "
                    "%lld is not asked for",
                    episode_phase_name(episode_phase(episode)), (long long)episode_turn(episode),
                    (long long)turn);
        return STEP_REFUSED;
    }
    if (episode_answer(episode, given, &request, &err) < 0) {
        refuse(response, &err);
        return STEP_REFUSED;
    }
    json_decref(request);
    enum putting putting = put_stored(service, stored, response);
    if (putting == PUT_TOO_LARGE)
        refuse_size(response);
    return putting == PUT_LATE ? STEP_LATE : putting == PUT_WRITTEN ? STEP_KEPT : STEP_REFUSED;
}

/* An earlier turn, as it was answered then. */
static void answer_earlier(struct stored *stored, int64_t turn, struct http_response *response)
{
    json_t *view = episode_view(stored);
    json_put(view, "step", episode_step_view(stored, turn));
    http_set_json(response, view);
}

static void step_with(struct service *service, const char *id, int64_t turn, const json_t *given,
                      int64_t wait_ms, struct http_request *request, struct http_response *response)
{
    struct stored stored;
    enum stepping stepping = STEP_LATE;
    for (int i = 0; i < TRIES && stepping == STEP_LATE; i++) {
        if (i > 0)
            stored_deinit(&stored);
        if (!get_stored(service, id, &stored, response)) {
            stored_deinit(&stored);
            return;
        }
        stepping = keep_answer(service, &stored, turn, given, response);
    }
    if (stepping == STEP_LATE)
        http_refuse_for(response, 503, SERVICE_RETRY_AFTER_S, "busy",
                        "too many write this episode at the same time");
    else if (stepping == STEP_WAS_KEPT && turn + 1 < episode_turn(stored.episode))
        answer_earlier(&stored, turn, response);
    else if (stepping != STEP_REFUSED)
        answer_or_wait(service, id, &stored, wait_ms, request, response);
    stored_deinit(&stored);
}

static void step(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    int64_t wait_ms, turn;
    json_t *given;
    struct err err;
    if (!read_wait(request, response, STEP_WAIT_S, &wait_ms))
        return;
    const json_t *body = http_json(request, response);
    if (!body)
        return;
    if (read_step(body, &turn, &given, &err) < 0) {
        refuse(response, &err);
        return;
    }
    step_with(service, http_parameter(request, "id"), turn, given, wait_ms, request, response);
    json_decref(given);
}

static void get(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    const char *id = http_parameter(request, "id");
    struct stored stored;
    int64_t wait_ms;
    if (!read_wait(request, response, 0, &wait_ms))
        return;
    if (get_stored(service, id, &stored, response)) {
        char job[QUEUE_ID_BYTES];
        if (wait_ms > 0)
            answer_or_wait(service, id, &stored, wait_ms, request, response);
        else if (settle(service, id, &stored, job, response) != JUDGED_REFUSED)
            answer(&stored, 200, response);
    }
    stored_deinit(&stored);
}

static void end(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    const char *id = http_parameter(request, "id");
    struct stored stored;
    enum queue_state state;
    bool removed;
    struct err err;
    if (get_stored(service, id, &stored, response)) {
        json_t *judged = episode_phase(stored.episode) == EPISODE_JUDGING
                             ? episode_request(stored.episode)
                             : NULL;
        if (episode_store_remove(service->queue, id, &removed, &err) < 0)
            service_refuse_queue(response, &err);
        else
            http_set_json(response, json_pack("{s:s, s:s}", "id", id, "state", "gone"));
        /* Nobody waits for it any more. Now that the episode is gone: a step that is told of it
         * before would have it judged again. */
        if (judged)
            (void)!service_cancel(service, json_string_value(json_object_get(judged, "id")), &state,
                                  &err);
        json_decref(judged);
    }
    stored_deinit(&stored);
}

const struct http_route api_episodes_routes[] = {
    {HTTP_POST, "/v1/episodes", post, HTTP_BLOCKS, HTTP_BODY_STANDARD},
    {HTTP_GET, "/v1/episodes/:id", get, HTTP_BLOCKS, 0},
    {HTTP_DELETE, "/v1/episodes/:id", end, HTTP_BLOCKS, 0},
    {HTTP_POST, "/v1/episodes/:id/step", step, HTTP_BLOCKS, HTTP_BODY_STANDARD},
    {0},
};
