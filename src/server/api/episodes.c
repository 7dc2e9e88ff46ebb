/* episodes: episodes over HTTP (docs/guide/gym.md): begin, step, show, end.
 *
 *   POST step ─► answer stored ─► evaluation put ─► wait for it ─► turn ended
 *               (document, durable)  (a job, durable)
 *
 * The process may die at each arrow: the same step, sent again to any server on the queue, finds
 * what was done and continues. The job's id consists of the episode's id, turn and attempt, so
 * nothing is evaluated twice, and of an unguessable part, so that no other client has it. */
#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "client/remote.h"
#include "gym/answer/parse.h"
#include "judge/verdict.h"
#include "server/episode_store.h"
#include "server/long_poll.h"
#include "server/server_settings.h"
#include "server/submit.h"

#include <stdio.h>
#include <string.h>

#define STEP_WAIT_S 20
#define TRIES 8 /* writes of a document that others write, too */

/* Maps an error of an episode or its configuration to a status. */
static void refuse_episode_error(struct http_response *response, const struct err *err)
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

/* What came of it. */
enum step {
    STEP_REFUSED,   /* the response is a refusal */
    STEP_CONFLICT,  /* another writer was first */
    STEP_TOO_LARGE, /* to be stored */
    STEP_PENDING,   /* the answer is being judged */
    STEP_UNSUBMITTED,
    STEP_REPEATED, /* the answer was stored before */
    STEP_DONE,
};

static enum step try_put(struct service *service, struct stored *stored,
                         struct http_response *response)
{
    bool written;
    struct err err;
    int result = episode_store_put(service->queue, stored, &written, &err);
    if (result == ERR_LIMIT)
        return STEP_TOO_LARGE;
    if (result < 0) {
        service_refuse_queue(response, &err);
        return STEP_REFUSED;
    }
    return written ? STEP_DONE : STEP_CONFLICT;
}

/* 413, not 429: retrying would not help, as it does with a full queue. */
static enum step put_stored(struct service *service, struct stored *stored,
                            struct http_response *response)
{
    enum step step = try_put(service, stored, response);
    if (step != STEP_TOO_LARGE)
        return step;
    http_refuse(response, 413, "too_large", "the episode would exceed %zu bytes, its limit",
                LIMIT_QUEUE_BODY_BYTES);
    return STEP_REFUSED;
}

static void refuse_busy(struct http_response *response)
{
    http_refuse_for(response, 503, SERVICE_RETRY_AFTER_S, "busy",
                    "too many concurrent writes of this episode");
}

/* An answer does not fit (`given`), or does, but not its result (NULL): ends the episode with that
 * turn, of which little is kept. */
static enum step end_oversized(struct service *service, struct stored *stored, const json_t *given,
                               struct http_response *response)
{
    struct err err;
    char id[LIMIT_EPISODE_ID_BYTES + 1];
    snprintf(id, sizeof id, "%s",
             json_string_value(json_object_get(episode_state(stored->episode), "id")));
    stored_deinit(stored);
    if (!get_stored(service, id, stored, response))
        return STEP_REFUSED;
    if (episode_phase(stored->episode) != (given ? EPISODE_ANSWERING : EPISODE_JUDGING))
        return STEP_CONFLICT;
    if (episode_give_up(stored->episode, given, &err) < 0) {
        refuse_episode_error(response, &err);
        return STEP_REFUSED;
    }
    return put_stored(service, stored, response);
}

static void answer_episode(const struct stored *stored, int status, struct http_response *response)
{
    http_set_status(response, status);
    http_set_json(response, episode_view(stored));
}

static void answer_step(const struct stored *stored, enum step step, struct http_response *response)
{
    if (step != STEP_REFUSED)
        answer_episode(stored, step == STEP_DONE ? 200 : 202, response);
}

/* Sets *verdict (verdict_deinit) if the turn has ended. */
static enum step find_verdict(struct service *service, const char *id, struct verdict *verdict,
                              struct http_response *response)
{
    struct queue_job job;
    struct err err;
    int result = queue_get(service->queue, id, QUEUE_RESULT, &job, &err);
    if (result == ERR_MISSING)
        return STEP_UNSUBMITTED;
    if (result < 0) {
        service_refuse_queue(response, &err);
        return STEP_REFUSED;
    }
    bool ended = evaluation_has_ended(&job);
    if (ended)
        evaluation_verdict(&job, verdict);
    queue_job_deinit(&job);
    return ended ? STEP_DONE : STEP_PENDING;
}

static bool put_job(struct service *service, const json_t *request, struct http_response *response)
{
    const struct submit_options options = {0};
    struct submitted submitted = {0};
    json_t *requests = json_pack("[O]", request);
    bool done = submit_all(service, requests, &options, &submitted, response);
    submitted_deinit(&submitted);
    json_decref(requests);
    return done;
}

/* Stores a verdict in the episode. DONE: the turn has ended; UNSUBMITTED: the verdict was a failure
 * of ours, and the next attempt is stored. */
static enum step store_verdict(struct service *service, struct stored *stored,
                               const struct verdict *verdict, struct http_response *response)
{
    struct err err;
    int result = episode_verdict(stored->episode, verdict, &err);
    if (result < 0 && result != ERR_IO) {
        refuse_episode_error(response, &err);
        return STEP_REFUSED;
    }
    enum step step = try_put(service, stored, response);
    if (step == STEP_TOO_LARGE)
        step = end_oversized(service, stored, NULL, response);
    return step == STEP_DONE && result < 0 ? STEP_UNSUBMITTED : step;
}

/* Continues as far as possible without waiting. `job`: the job to wait for. */
static enum step continue_stored(struct service *service, struct stored *stored,
                                 char job[QUEUE_ID_BYTES], struct http_response *response)
{
    enum step step = STEP_DONE;
    while (episode_phase(stored->episode) == EPISODE_JUDGING &&
           (step == STEP_DONE || step == STEP_UNSUBMITTED)) {
        json_t *request = episode_request(stored->episode);
        struct verdict verdict = {0};
        snprintf(job, QUEUE_ID_BYTES, "%s", json_string_value(json_object_get(request, "id")));
        step = find_verdict(service, job, &verdict, response);
        if (step == STEP_UNSUBMITTED)
            step = put_job(service, request, response)
                       ? find_verdict(service, job, &verdict, response)
                       : STEP_REFUSED;
        if (step == STEP_DONE)
            step = store_verdict(service, stored, &verdict, response);
        verdict_deinit(&verdict);
        json_decref(request);
    }
    return step;
}

/* The same, started again after each conflict with another writer. `stored` is the newest then. */
static enum step continue_episode(struct service *service, const char *id, struct stored *stored,
                                  char job[QUEUE_ID_BYTES], struct http_response *response)
{
    for (int i = 0; i < TRIES; i++) {
        enum step step = continue_stored(service, stored, job, response);
        if (step != STEP_CONFLICT)
            return step;
        stored_deinit(stored);
        if (!get_stored(service, id, stored, response))
            return STEP_REFUSED;
    }
    refuse_busy(response);
    return STEP_REFUSED;
}

struct wait {
    char id[LIMIT_EPISODE_ID_BYTES + 1];
};

static void wait_answer(struct service *service, void *context, bool ended,
                        struct http_response *response)
{
    const struct wait *wait = context;
    struct stored stored;
    char job[QUEUE_ID_BYTES];
    if (get_stored(service, wait->id, &stored, response)) {
        enum step step = continue_episode(service, wait->id, &stored, job, response);
        answer_step(&stored, step, response);
    }
    stored_deinit(&stored);
}

/* Answers, or waits until it can. */
static void answer_or_wait(struct service *service, const char *id, struct stored *stored,
                           int64_t wait_ms, struct http_request *request,
                           struct http_response *response)
{
    char job[QUEUE_ID_BYTES] = "";
    enum step step = continue_episode(service, id, stored, job, response);
    if (step != STEP_PENDING || wait_ms == 0) {
        answer_step(stored, step, response);
        return;
    }
    struct wait *wait = mem_alloc(sizeof *wait);
    snprintf(wait->id, sizeof wait->id, "%s", id);
    const struct long_poll waiting = {.ids = (const char(*)[QUEUE_ID_BYTES]) & job,
                                      .count = 1,
                                      .timeout_ms = wait_ms,
                                      .pool = service->finishers,
                                      .answer = wait_answer,
                                      .release = mem_free,
                                      .context = wait};
    long_poll_begin(service, request, &waiting);
}

struct creation {
    const char *id;
    json_t *notes; /* borrowed; NULL */
    int64_t expires_s;
};

/* Removes from the configuration what only this API reads. */
static int read_creation(json_t *body, struct creation *out, struct err *err)
{
    *out = (struct creation){.expires_s = EPISODE_EXPIRES_S};
    int result = json_find_string(body, "id", &out->id, err);
    if (result == 0)
        result = json_find_object(body, "notes", &out->notes, err);
    if (result == 0)
        result = json_find_int(body, "expires_s", &out->expires_s, err);
    if (result == 0 && (out->expires_s < 1 || out->expires_s > EPISODE_EXPIRES_MOST_S))
        result = err_set(err, ERR_INPUT, "'expires_s' must be 1 to %d", EPISODE_EXPIRES_MOST_S);
    if (result == 0 && out->notes &&
        json_dumpb(out->notes, NULL, 0, JSON_COMPACT) > LIMIT_NOTES_BYTES)
        result = err_set(err, ERR_LIMIT, "'notes' has more than %zu bytes", LIMIT_NOTES_BYTES);
    if (result == 0 && json_object_get(body, "labels"))
        result = err_set(err, ERR_INPUT,
                         "'labels' is not available for episodes over HTTP; use 'notes'");
    return result;
}

/* Re-posting an existing episode is allowed even at the limit. */
static bool episode_exists(struct service *service, const json_t *body)
{
    const char *id = json_string_value(json_object_get(body, "id"));
    struct stored stored = {0};
    struct err ignored;
    bool there = id && episode_store_get(service->queue, service->options.gym, id, &stored,
                                         &ignored) == 0;
    stored_deinit(&stored);
    return there;
}

static bool episodes_below_limit(struct service *service, const json_t *body,
                                 struct http_response *response)
{
    uint64_t most = (uint64_t)server_settings(service->settings)->episodes_max;
    struct queue_stats stats;
    if (!service_stats(service, &stats) || stats.documents < most || episode_exists(service, body))
        return true;
    http_refuse_for(response, 429, SERVICE_RETRY_AFTER_S, "episodes_full",
                    "the server keeps at most %llu episodes (server.episodes_max); end some, or "
                    "try again later",
                    (unsigned long long)most);
    return false;
}

/* An episode with this id exists: answers with it if its configuration is the same. */
static void answer_existing(struct service *service, const char *id, const struct stored *wanted,
                            struct http_response *response)
{
    struct stored found;
    if (get_stored(service, id, &found, response)) {
        const json_t *ours = json_object_get(episode_state(wanted->episode), "configuration");
        const json_t *theirs = json_object_get(episode_state(found.episode), "configuration");
        if (json_equal((json_t *)ours, (json_t *)theirs))
            answer_episode(&found, 200, response);
        else
            http_refuse(response, 409, "exists", "episode '%s' exists with another configuration",
                        id);
    }
    stored_deinit(&found);
}

static void episodes_create(struct service *service, json_t *body, struct http_response *response)
{
    char drawn[REMOTE_ID_BYTES];
    struct creation creation;
    struct stored stored = {0};
    struct err err;
    json_t *configuration = json_copy(body);
    int result = read_creation(body, &creation, &err);
    remote_draw_id(drawn);
    const char *id = creation.id ? creation.id : drawn;
    json_object_del(configuration, "id");
    json_object_del(configuration, "notes");
    json_object_del(configuration, "expires_s");
    json_put(configuration, "labels", json_pack("{s:s}", "policy", "http"));
    if (result == 0)
        result = episode_new(&stored.episode, service->options.gym, id, configuration, &err);
    json_decref(configuration);
    if (result < 0) {
        if (err.code == ERR_MISSING) /* the body's error, not the path's */
            err.code = ERR_INPUT;
        refuse_episode_error(response, &err);
        return;
    }
    stored.expires_s = creation.expires_s;
    stored.notes = json_incref(creation.notes);
    enum step step = put_stored(service, &stored, response);
    if (step == STEP_DONE)
        answer_episode(&stored, 201, response);
    else if (step == STEP_CONFLICT)
        answer_existing(service, id, &stored, response);
    stored_deinit(&stored);
}

static void episodes_post(void *context, struct http_request *request,
                          struct http_response *response)
{
    struct service *service = context;
    json_t *body = http_json(request, response);
    if (!body)
        return;
    if (!json_is_object(body))
        http_refuse(response, 400, "bad_request", "the body must be an object");
    else if (episodes_below_limit(service, body, response))
        episodes_create(service, body, response);
}

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

/* The answer stored for this turn; NULL: none. */
static const json_t *stored_answer(const struct episode *episode, int64_t turn)
{
    const json_t *record = episode_record(episode, turn);
    if (record)
        return json_object_get(record, "answer");
    if (turn != episode_turn(episode))
        return NULL;
    const json_t *pending = json_object_get(episode_state(episode), "pending");
    return json_object_get(json_object_get(pending, "answer"), "text");
}

/* Whether it is the one stored, of which only a part may have been kept. */
static bool is_stored(const json_t *before, const json_t *given)
{
    const char *text = json_text_at(given, "text");
    size_t count = strlen(text), kept = json_string_length(before);
    return (kept == parse_answer_bytes(text, count) ||
            kept == utf8_cut(text, count, EPISODE_KEPT_BYTES)) &&
           strncmp(json_string_value(before), text, kept) == 0;
}

/* Stores the answer in the episode, durably. */
static enum step store_answer(struct service *service, struct stored *stored, int64_t turn,
                              const json_t *given, struct http_response *response)
{
    struct episode *episode = stored->episode;
    const json_t *before = stored_answer(episode, turn);
    json_t *request = NULL;
    struct err err;
    if (before && is_stored(before, given))
        return STEP_REPEATED;
    if (before) {
        http_refuse(response, 409, "answered", "turn %lld has another answer already",
                    (long long)turn);
        return STEP_REFUSED;
    }
    if (turn != episode_turn(episode) || episode_phase(episode) == EPISODE_DONE) {
        http_refuse(response, 409, "wrong_turn",
                    "the episode is %s at turn %lld; it accepts no answer to turn %lld",
                    episode_phase_name(episode_phase(episode)), (long long)episode_turn(episode),
                    (long long)turn);
        return STEP_REFUSED;
    }
    if (episode_answer(episode, given, &request, &err) < 0) {
        refuse_episode_error(response, &err);
        return STEP_REFUSED;
    }
    json_decref(request);
    enum step step = try_put(service, stored, response);
    return step == STEP_TOO_LARGE ? end_oversized(service, stored, given, response) : step;
}

/* Shows an earlier turn, as it was answered then. */
static void answer_earlier(struct stored *stored, int64_t turn, struct http_response *response)
{
    json_t *view = episode_view(stored);
    json_put(view, "step", episode_step_view(stored, turn));
    http_set_json(response, view);
}

static void step_with_answer(struct service *service, const char *id, int64_t turn,
                             const json_t *given, int64_t wait_ms, struct http_request *request,
                             struct http_response *response)
{
    struct stored stored;
    enum step step = STEP_CONFLICT;
    for (int i = 0; i < TRIES && step == STEP_CONFLICT; i++) {
        if (i > 0)
            stored_deinit(&stored);
        if (!get_stored(service, id, &stored, response)) {
            stored_deinit(&stored);
            return;
        }
        step = store_answer(service, &stored, turn, given, response);
    }
    if (step == STEP_CONFLICT)
        refuse_busy(response);
    else if (step == STEP_REPEATED && turn + 1 < episode_turn(stored.episode))
        answer_earlier(&stored, turn, response);
    else if (step != STEP_REFUSED)
        answer_or_wait(service, id, &stored, wait_ms, request, response);
    stored_deinit(&stored);
}

static void episodes_step(void *context, struct http_request *request,
                          struct http_response *response)
{
    struct service *service = context;
    int64_t wait_ms, turn;
    json_t *given;
    struct err err;
    if (!service_wait_ms(request, STEP_WAIT_S, response, &wait_ms))
        return;
    const json_t *body = http_json(request, response);
    if (!body)
        return;
    if (read_step(body, &turn, &given, &err) < 0) {
        refuse_episode_error(response, &err);
        return;
    }
    step_with_answer(service, http_parameter(request, "id"), turn, given, wait_ms, request,
                     response);
    json_decref(given);
}

static void episodes_get(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct service *service = context;
    const char *id = http_parameter(request, "id");
    struct stored stored;
    int64_t wait_ms;
    if (!service_wait_ms(request, 0, response, &wait_ms))
        return;
    if (get_stored(service, id, &stored, response)) {
        char job[QUEUE_ID_BYTES];
        if (wait_ms > 0)
            answer_or_wait(service, id, &stored, wait_ms, request, response);
        else if (continue_episode(service, id, &stored, job, response) != STEP_REFUSED)
            answer_episode(&stored, 200, response);
    }
    stored_deinit(&stored);
}

static void episodes_delete(void *context, struct http_request *request,
                            struct http_response *response)
{
    struct service *service = context;
    const char *id = http_parameter(request, "id");
    struct stored stored;
    enum queue_state state;
    bool removed;
    struct err err;
    if (get_stored(service, id, &stored, response)) {
        json_t *turn_state = episode_phase(stored.episode) == EPISODE_JUDGING
                                 ? episode_request(stored.episode)
                                 : NULL;
        if (episode_store_remove(service->queue, id, &removed, &err) < 0)
            service_refuse_queue(response, &err);
        else
            http_set_json(response, json_pack("{s:s, s:s}", "id", id, "state", "gone"));
        /* Its job is no longer wanted. Cancelled after the removal: a step that saw the
         * cancellation earlier would evaluate it again. */
        if (turn_state)
            (void)!service_cancel(service, json_string_value(json_object_get(turn_state, "id")),
                                  &state, &err);
        json_decref(turn_state);
    }
    stored_deinit(&stored);
}

const struct http_route api_episodes_routes[] = {
    {HTTP_POST, "/v1/episodes", episodes_post, HTTP_BLOCKS, HTTP_BODY_STANDARD, HTTP_NO_QUERY},
    {HTTP_GET, "/v1/episodes/:id", episodes_get, HTTP_BLOCKS, 0, HTTP_QUERY("wait_s")},
    {HTTP_DELETE, "/v1/episodes/:id", episodes_delete, HTTP_BLOCKS, 0, NULL},
    {HTTP_POST, "/v1/episodes/:id/step", episodes_step, HTTP_BLOCKS, HTTP_BODY_STANDARD,
     HTTP_QUERY("wait_s")},
    {0},
};
