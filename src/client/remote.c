#include "client/remote.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/client_settings.h"
#include "client/http_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASTY_MS 500

struct remote {
    struct http_client *http;
};

static const char *const state_names[] = {
#define X(symbol, name) name,
    REMOTE_STATES(X)
#undef X
};

/* The environment's WARPGYM_TOKEN is also a client's token; a server's configuration is not. */
static const char *token_of(const struct settings *settings)
{
    const struct client_settings *client = client_settings(settings);
    if (client->token[0])
        return client->token;
    return settings_origin(settings, "server.token") == ORIGIN_ENVIRONMENT
               ? settings_text(settings, "server.token")
               : "";
}

static struct http_client_options options_of(const struct settings *settings, const char *url,
                                             const _Atomic int *cancelled)
{
    const struct client_settings *client = client_settings(settings);
    if (!url)
        url = client->url[0] ? client->url : REMOTE_STANDARD_URL;
    return (struct http_client_options){
        .url = url,
        .token = token_of(settings),
        .ca_file = client->ca_file,
        .connect_timeout_ms = client->connect_timeout_ms,
        .timeout_ms = client->timeout_ms,
        .retry_budget_ms = client->retry_budget_ms,
        .cancelled = cancelled,
    };
}

static int open_with(struct remote **out, const struct http_client_options *options,
                     struct err *err)
{
    struct http_client *http;
    *out = NULL;
    int result = http_client_open(&http, options, err);
    if (result < 0)
        return result;
    *out = mem_alloc(sizeof **out);
    (*out)->http = http;
    return 0;
}

int remote_open(struct remote **out, const struct settings *settings, const char *url,
                const _Atomic int *cancelled, struct err *err)
{
    const struct http_client_options options = options_of(settings, url, cancelled);
    return open_with(out, &options, err);
}

int remote_open_briefly(struct remote **out, const struct settings *settings, const char *url,
                        int64_t within_ms, struct err *err)
{
    struct http_client_options options = options_of(settings, url, NULL);
    options.timeout_ms = options.connect_timeout_ms = within_ms / 2;
    options.retry_budget_ms = 0;
    return open_with(out, &options, err);
}

void remote_close(struct remote *remote)
{
    if (!remote)
        return;
    http_client_close(remote->http);
    mem_free(remote);
}

void remote_set_cancel(struct remote *remote, const _Atomic int *cancelled)
{
    http_client_set_cancel(remote->http, cancelled);
}

int remote_read(const json_t *object, struct remote_evaluation *evaluation, struct err *err)
{
    const char *state = "";
    json_t *verdict = NULL;
    *evaluation = (struct remote_evaluation){.attempt = 1, .state = REMOTE_STATE_COUNT};
    if (!json_is_object(object))
        return err_set(err, ERR_PROTOCOL, "an evaluation is not an object");
    int result = json_get_string(object, "id", &evaluation->id, err);
    if (result == 0)
        result = json_get_string(object, "state", &state, err);
    for (int i = 0; result == 0 && i < REMOTE_STATE_COUNT; i++)
        if (strcmp(state, state_names[i]) == 0)
            evaluation->state = (enum remote_state)i;
    if (result == 0 && evaluation->state == REMOTE_STATE_COUNT)
        result = err_set(err, ERR_PROTOCOL, "'state' is '%.64s'", state);
    if (result == 0)
        result = json_find_string(object, "outcome", &evaluation->outcome, err);
    if (result == 0)
        result = json_find_string(object, "reason", &evaluation->reason, err);
    if (result == 0)
        result = json_find_string(object, "worker", &evaluation->worker, err);
    if (result == 0)
        result = json_find_string(object, "created_at", &evaluation->created_at, err);
    if (result == 0)
        result = json_find_int(object, "attempt", &evaluation->attempt, err);
    if (result == 0)
        result = json_find_object(object, "verdict", &verdict, err);
    evaluation->verdict = verdict;
    if (result == 0)
        return 0;
    err_prefix(err, "an invalid evaluation");
    if (err)
        err->code = ERR_PROTOCOL;
    return ERR_PROTOCOL;
}

void remote_verdict(const struct remote_evaluation *evaluation, struct verdict *verdict)
{
    enum verdict_status outcome = verdict_status_named(evaluation->outcome);
    if (outcome == STATUS_COUNT && evaluation->state == REMOTE_CANCELLED)
        outcome = STATUS_CANCELLED;
    verdict_recover(&(struct verdict_source){.id = evaluation->id,
                                             .outcome = outcome,
                                             .reason = evaluation->reason,
                                             .json = evaluation->verdict},
                    verdict);
}

int remote_read_list(const json_t *list, struct err *err)
{
    json_t *items = NULL;
    int64_t before = 0;
    struct remote_evaluation read;
    int result = json_get_array(list, "evaluations", &items, err);
    for (size_t i = 0; result == 0 && i < json_array_size(items); i++)
        result = remote_read(json_array_get(items, i), &read, err);
    if (result == 0)
        result = json_find_int(list, "before", &before, err);
    if (result < 0 && err)
        err->code = ERR_PROTOCOL;
    return result < 0 ? ERR_PROTOCOL : 0;
}

bool remote_is_ended(const struct remote_evaluation *evaluation)
{
    return evaluation->state == REMOTE_DONE || evaluation->state == REMOTE_CANCELLED;
}

const char *remote_state_name(enum remote_state state)
{
    return state_names[state];
}

void remote_draw_id(char id[REMOTE_ID_BYTES])
{
    snprintf(id, REMOTE_ID_BYTES, "%016" PRIx64 "%016" PRIx64, clock_secret(), clock_secret());
}

struct remote_call {
    const char *method;
    char *target; /* freed by the request */
    const json_t *body;
    int64_t wait_ms;
};

/* Sends a request; an answer of 2xx as JSON. */
static int remote_call(struct remote *remote, const struct remote_call *what, json_t **out,
                       struct err *err)
{
    struct http_client_answer answer = {0};
    char *text = what->body ? json_dumps(what->body, JSON_COMPACT) : NULL;
    struct http_client_call call = {.method = what->method,
                                    .target = what->target,
                                    .body = text,
                                    .body_bytes = text ? strlen(text) : 0,
                                    .wait_ms = what->wait_ms,
                                    .max_bytes = LIMIT_CLIENT_ANSWER_BYTES};
    json_t *object = NULL;
    int result = http_client_send(remote->http, &call, &answer, err);
    if (result == 0 && (answer.status < 200 || answer.status > 299))
        result = http_client_refusal(remote->http, &answer, err);
    if (result == 0 && json_parse("answer", answer.body, answer.bytes, &object, err) < 0) {
        err_prefix(err, "%s", http_client_url(remote->http));
        result = err->code = ERR_PROTOCOL;
    }
    http_client_answer_deinit(&answer);
    free(text);
    mem_free(what->target);
    if (out)
        *out = object;
    else
        json_decref(object);
    return result;
}

/* The same for an answer that is an evaluation. */
static int remote_call_evaluation(struct remote *remote, const struct remote_call *what,
                                  json_t **evaluation, struct remote_evaluation *read,
                                  struct err *err)
{
    int result = remote_call(remote, what, evaluation, err);
    if (result == 0 && (result = remote_read(*evaluation, read, err)) < 0) {
        err_prefix(err, "%s", http_client_url(remote->http));
        json_decref(*evaluation);
        *evaluation = NULL;
    }
    return result;
}

static char *target_of(const char *collection, const char *id)
{
    char *escaped = http_client_escape(id);
    char *target = mem_printf("/v1/%s/%s", collection, escaped);
    mem_free(escaped);
    return target;
}

static void ensure_id(json_t *request)
{
    char id[REMOTE_ID_BYTES];
    if (json_is_string(json_object_get(request, "id")))
        return;
    remote_draw_id(id);
    json_put(request, "id", json_string(id));
}

int remote_submit(struct remote *remote, json_t *request, json_t **evaluation, struct err *err)
{
    struct remote_evaluation read;
    ensure_id(request);
    struct remote_call what = {"POST", mem_strdup("/v1/evaluations"), request, 0};
    return remote_call_evaluation(remote, &what, evaluation, &read, err);
}

int remote_submit_batch(struct remote *remote, const char *id, json_t *requests, struct err *err)
{
    json_t *body = json_object();
    json_put(body, "id", json_text(id));
    for (size_t i = 0; i < json_array_size(requests); i++)
        ensure_id(json_array_get(requests, i));
    json_put(body, "evaluations", json_incref(requests));
    struct remote_call what = {"POST", mem_strdup("/v1/batches"), body, 0};
    int result = remote_call(remote, &what, NULL, err);
    json_decref(body);
    return result;
}

static int get_evaluation(struct remote *remote, const char *id, int64_t wait_ms,
                          json_t **evaluation, struct remote_evaluation *read, struct err *err)
{
    int64_t wait_s = (wait_ms + 999) / 1000;
    char *path = target_of("evaluations", id);
    struct remote_call what = {"GET", mem_printf("%s?wait_s=%" PRId64, path, wait_s), NULL,
                               wait_s * 1000};
    mem_free(path);
    return remote_call_evaluation(remote, &what, evaluation, read, err);
}

int remote_get(struct remote *remote, const char *id, int64_t wait_ms, json_t **evaluation,
               struct err *err)
{
    struct remote_evaluation read;
    return get_evaluation(remote, id, wait_ms, evaluation, &read, err);
}

int remote_wait(struct remote *remote, const char *id, json_t **evaluation, struct err *err)
{
    struct remote_evaluation read = {0};
    for (;;) {
        int64_t asked_ns = clock_now_ns();
        int result = get_evaluation(remote, id, REMOTE_WAIT_MS, evaluation, &read, err);
        if (result < 0 || remote_is_ended(&read))
            return result;
        json_decref(*evaluation);
        *evaluation = NULL;
        /* Bounds the rate for a server that does not hold long polls. */
        if (clock_ms_since(asked_ns) < HASTY_MS)
            http_client_sleep(remote->http, HASTY_MS);
    }
}

static void put_query(struct buf *target, const char *name, const char *value)
{
    if (!value)
        return;
    char *escaped = http_client_escape(value);
    buf_printf(target, "&%s=%s", name, escaped);
    mem_free(escaped);
}

int remote_list(struct remote *remote, const struct remote_query *query, json_t **list,
                struct err *err)
{
    struct buf target;
    buf_init(&target, LIMIT_CLIENT_TARGET_BYTES);
    buf_printf(&target, "/v1/evaluations?limit=%" PRId64 "&verdict=%s", query->limit,
               query->verdicts ? "true" : "false");
    put_query(&target, "state", query->state);
    put_query(&target, "batch", query->batch);
    if (query->before > 0)
        buf_printf(&target, "&before=%" PRId64, query->before);
    struct remote_call what = {"GET", buf_take(&target), NULL, 0};
    int result = remote_call(remote, &what, list, err);
    if (result == 0 && (result = remote_read_list(*list, err)) < 0) {
        err_prefix(err, "%s", http_client_url(remote->http));
        json_decref(*list);
        *list = NULL;
    }
    return result;
}

int remote_workers(struct remote *remote, json_t **workers, struct err *err)
{
    struct remote_call what = {"GET", mem_strdup("/v1/workers"), NULL, 0};
    json_t *answer = NULL, *list = NULL;
    int result = remote_call(remote, &what, &answer, err);
    if (result == 0 && (result = json_get_array(answer, "workers", &list, err)) < 0) {
        err_prefix(err, "%s", http_client_url(remote->http));
        result = err->code = ERR_PROTOCOL;
    }
    *workers = json_incref(list);
    json_decref(answer);
    return result;
}

int remote_cancel(struct remote *remote, const char *id, struct err *err)
{
    struct remote_call what = {"DELETE", target_of("evaluations", id), NULL, 0};
    return remote_call(remote, &what, NULL, err);
}

int remote_cancel_batch(struct remote *remote, const char *id, struct err *err)
{
    struct remote_call what = {"DELETE", target_of("batches", id), NULL, 0};
    return remote_call(remote, &what, NULL, err);
}
