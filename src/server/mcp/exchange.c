/* One message or a batch: reads it, starts its calls, and answers when all of them have ended. */
#include "server/mcp/internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#include <utlist.h>

struct mcp_exchange *mcp_exchange_new(struct mcp *mcp, struct mcp_session *session,
                                      const struct mcp_sink *sink)
{
    struct mcp_exchange *exchange = mem_alloc(sizeof *exchange);
    exchange->mcp = mcp;
    exchange->session = session;
    if (session)
        atomic_fetch_add(&session->refs, 1);
    exchange->sink = *sink;
    exchange->open = 1;
    atomic_init(&exchange->refs, 1);
    pthread_mutex_init(&exchange->lock, NULL);
    return exchange;
}

void mcp_exchange_unref(struct mcp_exchange *exchange)
{
    if (!exchange || atomic_fetch_sub(&exchange->refs, 1) != 1)
        return;
    mcp_session_unref(exchange->session);
    pthread_mutex_destroy(&exchange->lock);
    mem_free(exchange);
}

void mcp_exchange_notify(struct mcp_exchange *exchange, const json_t *message)
{
    pthread_mutex_lock(&exchange->lock);
    if (!exchange->over && !atomic_load(&exchange->abandoned))
        exchange->sink.notify(exchange->sink.context, message);
    pthread_mutex_unlock(&exchange->lock);
}

/* Counts one call as ended; `answer` may be NULL. */
static void add_answer(struct mcp_exchange *exchange, json_t *answer)
{
    pthread_mutex_lock(&exchange->lock);
    if (answer && exchange->batch) {
        if (!exchange->answers)
            exchange->answers = json_array();
        json_array_append_new(exchange->answers, answer);
    } else if (answer) {
        exchange->answers = answer;
    }
    exchange->over = --exchange->open == 0;
    bool over = exchange->over;
    pthread_mutex_unlock(&exchange->lock);
    if (over)
        exchange->sink.done(exchange->sink.context, exchange->answers);
}

static void open_one(struct mcp_exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->open++;
    pthread_mutex_unlock(&exchange->lock);
}

static void exchange_refuse(struct mcp_exchange *exchange, const json_t *id, int code,
                            const char *text, json_t *data)
{
    open_one(exchange);
    add_answer(exchange, mcp_message_error(id, code, text, data));
}

static void put_server(json_t *result)
{
    json_t *meta = json_object_get(result, "_meta");
    if (!meta) {
        meta = json_object();
        json_put(result, "_meta", meta);
    }
    json_put(meta, MCP_META "serverInfo",
             json_pack("{s:s, s:s}", "name", "warpgym", "version", WARPGYM_VERSION));
}

/* Adds what the results of stateless requests carry. */
static void result_add_metadata(const struct mcp_call *call, json_t *result)
{
    unsigned flags = call->method->flags;
    if (!call->version->stateless)
        return;
    json_put(result, "resultType", json_string("complete"));
    put_server(result);
    if (!(flags & (MCP_PUBLIC | MCP_PRIVATE)))
        return;
    json_put(result, "ttlMs", json_integer(call->method->ttl_ms));
    json_put(result, "cacheScope", json_string(flags & MCP_PUBLIC ? "public" : "private"));
}

static json_t *error_of(struct mcp_call *call, const struct err *err)
{
    bool theirs = err->code == ERR_INPUT || err->code == ERR_MISSING;
    int code = call->code ? call->code : theirs ? MCP_INVALID_PARAMS : MCP_INTERNAL_ERROR;
    json_t *data = call->data;
    call->data = NULL;
    return mcp_message_error(call->id, code, err->text, data);
}

static void call_free(struct mcp_call *call)
{
    mcp_exchange_unref(call->exchange);
    json_decref(call->id);
    json_decref(call->params);
    json_decref(call->token);
    json_decref(call->data);
    mem_free(call);
}

/* Removes it from the server's list; true: its client expects an answer. */
static bool call_over(struct mcp_call *call)
{
    struct mcp *mcp = call->mcp;
    pthread_mutex_lock(&mcp->lock);
    LL_DELETE(mcp->calls, call);
    bool closes_joined = mcp_session_leave(call->joined);
    bool closes = mcp_session_leave(call->session);
    bool wanted = !call->cancelled;
    pthread_mutex_unlock(&mcp->lock);
    if (closes_joined)
        mcp_session_close(call->joined);
    if (closes)
        mcp_session_close(call->session);
    return wanted;
}

/* exchange.c: runs a call and ends it. */
static void call_run(struct pool_task *work)
{
    struct mcp_call *call = TASK_CONTAINER(work, struct mcp_call, work);
    json_t *result = NULL, *answer;
    struct err err = {0};
    int code = call->stop ? err_set(&err, ERR_CANCELLED, "the server is stopping")
                          : call->method->run(call, &result, &err);
    if (code == 0) {
        result_add_metadata(call, result);
        answer = mcp_message_result(call->id, result);
    } else {
        answer = error_of(call, &err);
    }
    if (!call_over(call)) {
        json_decref(answer);
        answer = NULL;
    }
    add_answer(call->exchange, answer);
    call_free(call);
}

/* Lists it and starts it; false: the lanes are full. */
static bool call_start(struct mcp_call *call)
{
    struct mcp *mcp = call->mcp;
    bool blocks = call->method->flags & MCP_BLOCKS;
    struct task_pool *pool = mcp_method_is_long(call) ? mcp->judging : mcp->quick;
    pthread_mutex_lock(&mcp->lock);
    bool taken = !mcp->stopping && !(call->session && call->session->over);
    if (taken) {
        LL_PREPEND(mcp->calls, call);
        if (call->session)
            call->session->calls++;
        taken = !blocks || task_pool_submit(pool, &call->work);
        if (!taken) {
            mcp->calls = call->next;
            if (call->session)
                call->session->calls--;
        }
    }
    pthread_mutex_unlock(&mcp->lock);
    if (taken && !blocks)
        call_run(&call->work);
    return taken;
}

static struct mcp_call *call_new(struct mcp_exchange *exchange, const struct mcp_message *message,
                                 const struct mcp_version *version)
{
    const json_t *token = json_object_get(message->meta, "progressToken");
    struct mcp_call *call = mem_alloc(sizeof *call);
    call->work.run = call_run;
    call->mcp = exchange->mcp;
    call->exchange = exchange;
    atomic_fetch_add(&exchange->refs, 1);
    call->session = exchange->session;
    call->version = version;
    call->id = json_deep_copy(message->id);
    call->params = message->params ? json_deep_copy(message->params) : NULL;
    if (json_is_string(token) || json_is_integer(token))
        call->token = json_deep_copy(token);
    call->level = MCP_LEVEL_COUNT;
    call->begun_ns = clock_now_ns();
    call->sent_progress = -1e-3;
    if (version->stateless) {
        mcp_client_text(json_object_get(message->meta, MCP_META "clientInfo"), call->client);
        call->level = mcp_level_of(
            json_string_value(json_object_get(message->meta, MCP_META "logLevel")));
    } else if (call->session) {
        pthread_mutex_lock(&call->mcp->lock);
        snprintf(call->client, sizeof call->client, "%s", call->session->client);
        call->level = call->session->level;
        pthread_mutex_unlock(&call->mcp->lock);
    }
    return call;
}

static const struct mcp_version *version_of_session(struct mcp_exchange *exchange)
{
    pthread_mutex_lock(&exchange->mcp->lock);
    const struct mcp_version *version = exchange->session ? exchange->session->version : NULL;
    pthread_mutex_unlock(&exchange->mcp->lock);
    return version;
}

static void read_request(struct mcp_exchange *exchange, const struct mcp_message *message)
{
    const struct mcp_version *version = version_of_session(exchange);
    bool stateless = mcp_version_is_stateless(message) ||
                     strcmp(message->method, "server/discover") == 0;
    struct err err;
    json_t *data = NULL;
    int code;
    if (stateless && !(version = mcp_version_of(message, &code, &data, &err))) {
        exchange_refuse(exchange, message->id, code, err.text, data);
        return;
    }
    const struct mcp_method *method = mcp_method_find(message->method, stateless);
    if (!method) {
        err_set(&err, ERR_MISSING, "unknown method '%.100s'", message->method);
        exchange_refuse(exchange, message->id, MCP_NO_METHOD, err.text, NULL);
        return;
    }
    if (!version && !(method->flags & MCP_ANY_TIME)) {
        exchange_refuse(exchange, message->id, MCP_INVALID_REQUEST, "`initialize` must come first",
                        NULL);
        return;
    }
    struct mcp_call *call = call_new(exchange, message, version ? version : mcp_versions);
    call->method = method;
    open_one(exchange);
    if (call_start(call))
        return;
    add_answer(exchange,
               mcp_message_error(message->id, MCP_INTERNAL_ERROR,
                                 "the server is busy or stopping; try again later", NULL));
    call_free(call);
}

static void read_message(struct mcp_exchange *exchange, const json_t *object)
{
    struct mcp_message message;
    struct err err;
    if (mcp_message_read(object, &message, &err) < 0)
        exchange_refuse(exchange, message.id, MCP_INVALID_REQUEST, err.text, NULL);
    else if (message.kind == MCP_REQUEST)
        read_request(exchange, &message);
    else if (message.kind == MCP_NOTIFICATION &&
             strcmp(message.method, "notifications/cancelled") == 0 && exchange->session)
        mcp_cancel(exchange->mcp, exchange->session, json_object_get(message.params, "requestId"));
}

void mcp_exchange_receive(struct mcp_exchange *exchange, const json_t *document)
{
    const struct mcp_version *version = version_of_session(exchange);
    size_t count = json_array_size(document);
    atomic_fetch_add(&exchange->refs, 1); /* `done` may free its owner */
    if (!json_is_array(document)) {
        read_message(exchange, document);
    } else if (!version || !version->batches) {
        exchange_refuse(exchange, NULL, MCP_INVALID_REQUEST,
                        "this version does not support batches", NULL);
    } else if (count == 0 || count > LIMIT_MCP_BATCH) {
        exchange_refuse(exchange, NULL, MCP_INVALID_REQUEST, "a batch has 1 to 100 messages", NULL);
    } else {
        exchange->batch = true;
        for (size_t i = 0; i < count; i++)
            read_message(exchange, json_array_get(document, i));
    }
    add_answer(exchange, NULL);
    mcp_exchange_unref(exchange);
}

static bool wants_notifications(const json_t *object)
{
    const json_t *meta = json_object_get(json_object_get(object, "params"), "_meta");
    return json_object_get(meta, "progressToken") || json_object_get(meta, MCP_META "logLevel");
}

bool mcp_wants_notifications(struct mcp_session *session, const json_t *document)
{
    bool wanted = wants_notifications(document);
    if (session) {
        pthread_mutex_lock(&session->mcp->lock);
        wanted = wanted || session->level != MCP_LEVEL_COUNT;
        pthread_mutex_unlock(&session->mcp->lock);
    }
    for (size_t i = 0; i < json_array_size(document); i++)
        wanted = wanted || wants_notifications(json_array_get(document, i));
    return wanted;
}
