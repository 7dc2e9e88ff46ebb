#include "server/tinker/futures.h"

#include "base/clock.h"
#include "base/mem.h"
#include "policy/tinker_proto.h"
#include "server/tinker/body.h"
#include "server/tinker/names.h"
#include "server/tinker/routes.h"
#include "server/tinker/state.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

#define FUTURE_BYTES 1024 /* of one beside its result */

struct tinker_future {
    char id[TINKER_ID_BYTES];
    char *key, *model; /* or NULL */
    size_t samples;
    atomic_size_t refs;
    /* Below: under the lock. */
    struct lm_engine *engine;
    uint64_t sampling; /* the engine's number of it, while it samples, else 0 */
    bool sampled;
    bool done;
    /* Constant once done. */
    enum tinker_result kind;
    char *bytes; /* JSON text or protocol buffer; NULL: failed */
    size_t count;
    struct err err;
    struct tinker_poll *polls;
    struct tinker_future *prev, *next; /* done, oldest first */
    UT_hash_handle by_id, by_key;
};

struct tinker_futures {
    struct tinker_future *by_id, *by_key, *done;
    uint64_t kept_bytes; /* of what is done */
};

/* A request that waits for a result. */
struct tinker_poll {
    struct tinker_service *service;
    struct tinker_future *future;
    struct http_waiter *waiter;
    bool protobuf; /* wanted */
    /* Under the lock: in the future's list. What takes it out returns the waiter. */
    bool linked;
    struct tinker_poll *prev, *next;
};

/* --- the table --- */

struct tinker_futures *tinker_futures_new(void)
{
    return mem_alloc(sizeof(struct tinker_futures));
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static struct tinker_future *find_id(const struct tinker_futures *futures, const char *id)
{
    struct tinker_future *found;
    HASH_FIND(by_id, futures->by_id, id, strlen(id), found);
    return found;
}

/* NOLINTNEXTLINE(readability-function-size) */
static struct tinker_future *find_key(const struct tinker_futures *futures, const char *key)
{
    struct tinker_future *found;
    HASH_FIND(by_key, futures->by_key, key, strlen(key), found);
    return found;
}

/* NOLINTNEXTLINE(readability-function-size) */
static void put(struct tinker_futures *futures, struct tinker_future *future)
{
    HASH_ADD(by_id, futures->by_id, id[0], strlen(future->id), future);
    if (future->key)
        HASH_ADD_KEYPTR(by_key, futures->by_key, future->key, strlen(future->key), future);
}

/* NOLINTNEXTLINE(readability-function-size) */
static void take_out(struct tinker_futures *futures, struct tinker_future *future)
{
    HASH_DELETE(by_id, futures->by_id, future); /* NOLINT(clang-analyzer-core.NullDereference) */
    if (future->key)
        HASH_DELETE(by_key, futures->by_key, future); /* NOLINT(clang-analyzer-*) */
    if (future->done) {
        DL_DELETE(futures->done, future);
        futures->kept_bytes -= future->count + FUTURE_BYTES;
    }
    tinker_future_unref(future);
}

void tinker_futures_free(struct tinker_futures *futures)
{
    for (struct tinker_future *future; (future = futures->by_id);)
        take_out(futures, future);
    mem_free(futures);
}

struct tinker_future *tinker_future_find(struct tinker_service *service, const char *key)
{
    struct tinker_future *future = key ? find_key(service->futures, key) : NULL;
    return future ? tinker_future_ref(future) : NULL;
}

struct tinker_future *tinker_future_new(struct tinker_service *service, const char *key,
                                        const char *model, size_t samples)
{
    struct tinker_future *future = mem_alloc(sizeof *future);
    snprintf(future->id, sizeof future->id, "f%" PRIu64 "-%016" PRIx64, ++service->serial,
             clock_secret());
    future->key = key ? mem_strdup(key) : NULL;
    future->model = model ? mem_strdup(model) : NULL;
    future->samples = samples;
    atomic_init(&future->refs, 2);
    put(service->futures, future);
    return future;
}

void tinker_future_forget(struct tinker_service *service, struct tinker_future *future)
{
    take_out(service->futures, future);
}

struct tinker_future *tinker_future_ref(struct tinker_future *future)
{
    atomic_fetch_add(&future->refs, 1);
    return future;
}

void tinker_future_unref(struct tinker_future *future)
{
    if (!future || atomic_fetch_sub(&future->refs, 1) != 1)
        return;
    mem_free(future->key);
    mem_free(future->model);
    mem_free(future->bytes);
    mem_free(future);
}

void tinker_future_show(const struct tinker_future *future, struct http_response *response)
{
    json_t *answer = json_object();
    json_put(answer, "request_id", json_text(future->id));
    json_put(answer, "future_id", json_text(future->id));
    json_put(answer, "status", json_text("pending"));
    if (future->model)
        json_put(answer, "model_id", json_text(future->model));
    if (future->samples > 0) {
        json_t *ids = json_array();
        for (size_t i = 0; i < future->samples; i++)
            json_array_append_new(ids, json_sprintf("%s:%zu", future->id, i));
        json_put(answer, "sample_sequence_ids", ids);
    }
    http_set_json(response, answer);
}

/* --- the answer to a poll --- */

static const char *category_of(const struct err *err)
{
    return err->code == ERR_INPUT || err->code == ERR_LIMIT || err->code == ERR_MISSING ||
                   err->code == ERR_UNSUPPORTED || err->code == ERR_PROTOCOL
               ? "user"
               : "server";
}

/* Results are kept as protocol buffers; older clients read them as JSON. */
static void fill_json(const struct tinker_future *future, struct http_response *response)
{
    json_t *answer = NULL;
    struct err err;
    int result = future->kind == TINKER_RESULT_PASS
                     ? tinker_proto_read_pass(future->bytes, future->count, &answer, &err)
                     : tinker_proto_read_sample(future->bytes, future->count, &answer, &err);
    if (result < 0)
        http_refuse(response, 500, "internal", "%s", err.text);
    else
        http_set_json(response, answer);
}

static void fill_done(const struct tinker_future *future, bool protobuf,
                      struct http_response *response)
{
    if (!future->bytes)
        http_set_json(response, json_pack("{s:s, s:s}", "error", future->err.text, "category",
                                          category_of(&future->err)));
    else if (future->kind == TINKER_RESULT_JSON)
        http_set_bytes(response, "application/json", future->bytes, future->count);
    else if (protobuf)
        http_set_bytes(response, TINKER_PROTOBUF, future->bytes, future->count);
    else
        fill_json(future, response);
}

static void fill_later(const struct tinker_future *future, struct http_response *response)
{
    http_set_json(response, json_pack("{s:s, s:s, s:s}", "type", "try_again", "request_id",
                                      future->id, "queue_state", "active"));
}

/* --- polls --- */

/* Whether the caller has to return the waiter. */
static bool poll_take(struct tinker_poll *poll)
{
    pthread_mutex_lock(&poll->service->lock);
    const bool ours = poll->linked;
    if (ours)
        DL_DELETE(poll->future->polls, poll);
    poll->linked = false;
    pthread_mutex_unlock(&poll->service->lock);
    return ours;
}

static void poll_late(void *context, struct http_request *request, struct http_response *response)
{
    struct tinker_poll *poll = context;
    fill_later(poll->future, response);
    if (poll_take(poll))
        http_drop(poll->waiter);
}

static void poll_gone(void *context)
{
    struct tinker_poll *poll = context;
    if (poll_take(poll))
        http_drop(poll->waiter);
}

static void poll_free(void *context)
{
    struct tinker_poll *poll = context;
    tinker_future_unref(poll->future);
    mem_free(poll);
}

static void poll_answer(struct tinker_poll *poll)
{
    struct http_response *response = http_response_new(poll->waiter);
    fill_done(poll->future, poll->protobuf, response);
    (void)http_answer(poll->waiter, response);
}

/* With the lock: the oldest results go, but never the newest. */
static void keep_within(struct tinker_futures *futures, uint64_t most_bytes)
{
    while (futures->kept_bytes > most_bytes && futures->done && futures->done->next)
        take_out(futures, futures->done);
}

void tinker_future_sampling(struct tinker_service *service, struct tinker_future *future,
                            struct lm_engine *engine, uint64_t number)
{
    pthread_mutex_lock(&service->lock);
    future->engine = engine;
    future->sampling = future->sampled ? 0 : number;
    pthread_mutex_unlock(&service->lock);
}

void tinker_future_sampled(struct tinker_future *future)
{
    future->sampled = true;
    future->sampling = 0;
}

void tinker_future_end(struct tinker_service *service, struct tinker_future *future,
                       enum tinker_result kind, int result, struct buf *bytes,
                       const struct err *err)
{
    struct tinker_poll *polls, *poll, *next;
    pthread_mutex_lock(&service->lock);
    future->kind = kind;
    if (result < 0) {
        future->err = *err;
    } else {
        future->count = bytes->len;
        future->bytes = buf_take(bytes);
    }
    future->done = true;
    DL_APPEND(service->futures->done, future);
    service->futures->kept_bytes += future->count + FUTURE_BYTES;
    polls = future->polls;
    future->polls = NULL;
    DL_FOREACH (polls, poll)
        poll->linked = false;
    keep_within(service->futures, tinker_of(service)->results_max_bytes);
    pthread_mutex_unlock(&service->lock);
    DL_FOREACH_SAFE (polls, poll, next)
        poll_answer(poll);
}

static bool wants_protobuf(const struct http_request *request)
{
    const char *accept = http_header(request, "Accept");
    return accept && strstr(accept, TINKER_PROTOBUF);
}

/* With the lock. */
static void poll_begin(struct tinker_service *service, struct tinker_future *future,
                       struct http_request *request)
{
    struct tinker_poll *poll = mem_alloc(sizeof *poll);
    poll->service = service;
    poll->future = future;
    poll->protobuf = wants_protobuf(request);
    poll->linked = true;
    DL_APPEND(future->polls, poll);
    const struct http_wait wait = {.timeout_ms = tinker_of(service)->poll_ms,
                                   .late = poll_late,
                                   .gone = poll_gone,
                                   .release = poll_free,
                                   .context = poll};
    poll->waiter = http_postpone(request, &wait);
}

static struct tinker_future *find(struct tinker_service *service, const char *id)
{
    struct tinker_future *future = find_id(service->futures, id);
    return future ? tinker_future_ref(future) : NULL;
}

static void answer_retrieve_future(void *context, struct http_request *request,
                                   struct http_response *response)
{
    struct tinker_service *service = context;
    const json_t *body = tinker_body(request, response);
    if (!body)
        return;
    const char *id = json_text_at(body, "request_id");
    pthread_mutex_lock(&service->lock);
    struct tinker_future *future = find(service, id[0] ? id : json_text_at(body, "future_id"));
    const bool done = future && future->done;
    if (future && !done)
        poll_begin(service, future, request); /* has the reference now */
    pthread_mutex_unlock(&service->lock);
    if (!future) {
        http_refuse(response, 410, "gone",
                    "no such request: its result is older than what is kept, or the server was "
                    "restarted; send the request again, or resume from a checkpoint");
    } else if (done) {
        fill_done(future, wants_protobuf(request), response);
        tinker_future_unref(future);
    }
}

/* Only samples can be cancelled. */
static void answer_cancel_future(void *context, struct http_request *request,
                                 struct http_response *response)
{
    struct tinker_service *service = context;
    const json_t *body = tinker_body(request, response);
    if (!body)
        return;
    pthread_mutex_lock(&service->lock);
    struct tinker_future *future = find(service, json_text_at(body, "request_id"));
    if (future && future->sampling > 0)
        lm_engine_cancel(future->engine, future->sampling);
    pthread_mutex_unlock(&service->lock);
    tinker_future_unref(future);
    http_set_json(response, json_pack("{s:s}", "type", "cancel_future"));
}

const struct http_route tinker_futures_routes[] = {
    TINKER_POST("/retrieve_future", retrieve_future, TINKER_SMALL),
    TINKER_POST("/cancel_future", cancel_future, TINKER_SMALL),
    {0},
};
