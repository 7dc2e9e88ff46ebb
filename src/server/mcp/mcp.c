#include "server/mcp/internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/remote.h"
#include "server/server_settings.h"

#include <math.h>
#include <string.h>

#include <utlist.h>

#define TICK_MS 1000
#define QUICK_THREADS 4

/* With the lock: NULL: the limit is reached. */
static struct mcp_session *session_add(struct mcp *mcp, bool lasting)
{
    if (mcp->stopping || mcp->session_count >= LIMIT_MCP_SESSIONS)
        return NULL;
    struct mcp_session *session = mem_alloc(sizeof *session);
    session->mcp = mcp;
    session->lasting = lasting;
    session->level = MCP_LEVEL_COUNT;
    session->used_ns = clock_now_ns();
    atomic_init(&session->refs, 1);
    remote_draw_id(session->id);
    remote_draw_id(session->handle);
    LL_PREPEND(mcp->sessions, session);
    mcp->session_count++;
    return session;
}

int mcp_session_new(struct mcp *mcp, bool lasting, struct mcp_session **out, struct err *err)
{
    pthread_mutex_lock(&mcp->lock);
    *out = session_add(mcp, lasting);
    if (*out)
        atomic_fetch_add(&(*out)->refs, 1);
    pthread_mutex_unlock(&mcp->lock);
    return *out ? 0 : err_set(err, ERR_LIMIT, "the server's limit of sessions is reached");
}

void mcp_session_unref(struct mcp_session *session)
{
    if (session && atomic_fetch_sub(&session->refs, 1) == 1)
        mem_free(session);
}

struct mcp_session *mcp_session_find(struct mcp *mcp, const char *id)
{
    pthread_mutex_lock(&mcp->lock);
    struct mcp_session *session = mcp->sessions;
    while (session && strcmp(session->id, id) != 0)
        session = session->next;
    if (session) {
        atomic_fetch_add(&session->refs, 1);
        session->used_ns = clock_now_ns();
    }
    pthread_mutex_unlock(&mcp->lock);
    return session;
}

const char *mcp_session_id(const struct mcp_session *session)
{
    return session->id;
}

const char *mcp_session_handle(const struct mcp_session *session)
{
    return session->handle;
}

void **mcp_session_state(struct mcp_session *session)
{
    return &session->state;
}

bool mcp_session_leave(struct mcp_session *session)
{
    if (!session)
        return false;
    session->used_ns = clock_now_ns();
    return --session->calls == 0 && session->over;
}

void mcp_session_close(struct mcp_session *session)
{
    const struct mcp_service *service = session->mcp->service;
    if (session->state)
        service->session_over(service->context, session->state);
    mcp_session_unref(session);
}

static void cancel(struct mcp_call *call)
{
    call->cancelled = true;
    call->stop = 1;
}

void mcp_session_end(struct mcp_session *session)
{
    struct mcp *mcp = session->mcp;
    pthread_mutex_lock(&mcp->lock);
    bool first = !session->over;
    session->over = true;
    if (first) {
        LL_DELETE(mcp->sessions, session);
        mcp->session_count--;
    }
    for (struct mcp_call *call = mcp->calls; call; call = call->next)
        if (call->session == session)
            cancel(call);
    bool closes = first && session->calls == 0;
    pthread_mutex_unlock(&mcp->lock);
    if (closes)
        mcp_session_close(session);
}

/* Ends all sessions, or those that are idle. */
static void end_sessions(struct mcp *mcp, bool idle)
{
    double idle_ms = (double)mcp_settings(mcp->settings)->idle_ms;
    struct mcp_session *session;
    do {
        pthread_mutex_lock(&mcp->lock);
        session = mcp->sessions;
        while (
            session && idle &&
            (session->lasting || session->calls > 0 || clock_ms_since(session->used_ns) < idle_ms))
            session = session->next;
        if (session)
            atomic_fetch_add(&session->refs, 1);
        pthread_mutex_unlock(&mcp->lock);
        if (session)
            mcp_session_end(session);
        mcp_session_unref(session);
    } while (session);
}

const _Atomic int *mcp_call_stop(const struct mcp_call *call)
{
    return &call->stop;
}

bool mcp_call_is_stateless(const struct mcp_call *call)
{
    return call->version->stateless || !call->session;
}

struct mcp_session *mcp_call_join(struct mcp_call *call, const char *handle, bool make)
{
    struct mcp *mcp = call->mcp;
    bool stateless = mcp_call_is_stateless(call);
    pthread_mutex_lock(&mcp->lock);
    struct mcp_session *session = handle ? mcp->sessions : stateless ? NULL : call->session;
    while (handle && session && strcmp(session->handle, handle) != 0)
        session = session->next;
    if (!handle && stateless && make)
        session = session_add(mcp, false);
    if (session)
        session->calls++;
    call->joined = session;
    pthread_mutex_unlock(&mcp->lock);
    return session;
}

const char *mcp_call_client(const struct mcp_call *call)
{
    return call->client;
}

void mcp_cancel(struct mcp *mcp, const struct mcp_session *session, const json_t *id)
{
    pthread_mutex_lock(&mcp->lock);
    for (struct mcp_call *call = mcp->calls; call; call = call->next)
        if (call->session == session && json_equal(call->id, id))
            cancel(call);
    pthread_mutex_unlock(&mcp->lock);
}

void mcp_exchange_abandon(struct mcp_exchange *exchange)
{
    struct mcp *mcp = exchange->mcp;
    atomic_store(&exchange->abandoned, true);
    pthread_mutex_lock(&mcp->lock);
    for (struct mcp_call *call = mcp->calls; call; call = call->next)
        if (call->exchange == exchange && call->version->stateless)
            cancel(call);
    pthread_mutex_unlock(&mcp->lock);
}

/* With the lock. Progress must increase, whatever the clock does. */
static json_t *progress_of(struct mcp_call *call)
{
    double seconds = floor(clock_ms_since(call->begun_ns)) * 1e-3;
    call->sent_progress = seconds > call->sent_progress ? seconds : call->sent_progress + 1e-3;
    json_t *params = json_object();
    json_put(params, "progressToken", json_deep_copy(call->token));
    json_put(params, "progress", json_number(call->sent_progress));
    if (call->version->annotations) {
        char *text = mem_printf("%s, %.0f s", call->doing, call->sent_progress);
        json_put(params, "message", json_text(text));
        mem_free(text);
    }
    return mcp_message_notification("notifications/progress", params);
}

void mcp_call_progress(struct mcp_call *call, const char *what)
{
    if (!call->token)
        return;
    pthread_mutex_lock(&call->mcp->lock);
    call->doing = what;
    json_t *message = progress_of(call);
    pthread_mutex_unlock(&call->mcp->lock);
    mcp_exchange_notify(call->exchange, message);
    json_decref(message);
}

static const char *const level_names[] = {
#define X(symbol, name) name,
    MCP_LEVELS(X)
#undef X
};

enum mcp_level mcp_level_of(const char *name)
{
    for (int i = 0; name && i < MCP_LEVEL_COUNT; i++)
        if (strcmp(level_names[i], name) == 0)
            return (enum mcp_level)i;
    return MCP_LEVEL_COUNT;
}

void mcp_call_log(struct mcp_call *call, enum mcp_level level, json_t *data)
{
    if (call->level == MCP_LEVEL_COUNT || level < call->level) {
        json_decref(data);
        return;
    }
    json_t *message = mcp_message_notification("notifications/message",
                                               json_pack("{s:s, s:s, s:o}", "level",
                                                         level_names[level], "logger", "warpgym",
                                                         "data", data));
    mcp_exchange_notify(call->exchange, message);
    json_decref(message);
}

struct sent_progress {
    struct mcp_exchange *exchange;
    json_t *message;
};

/* A client that does not read must not block the lock: collect all first, then send. */
static void send_progress(struct mcp *mcp)
{
    size_t count = 0;
    pthread_mutex_lock(&mcp->lock);
    for (const struct mcp_call *call = mcp->calls; call; call = call->next)
        count++;
    struct sent_progress *sent_progress = mem_alloc((count + 1) * sizeof *sent_progress);
    count = 0;
    for (struct mcp_call *call = mcp->calls; call; call = call->next) {
        if (!call->token || !call->doing || call->cancelled)
            continue;
        atomic_fetch_add(&call->exchange->refs, 1);
        sent_progress[count++] = (struct sent_progress){call->exchange, progress_of(call)};
    }
    pthread_mutex_unlock(&mcp->lock);
    for (size_t i = 0; i < count; i++) {
        mcp_exchange_notify(sent_progress[i].exchange, sent_progress[i].message);
        mcp_exchange_unref(sent_progress[i].exchange);
        json_decref(sent_progress[i].message);
    }
    mem_free(sent_progress);
}

/* False: the server stops. */
static bool maintenance_wait(struct mcp *mcp)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += TICK_MS / 1000;
    pthread_mutex_lock(&mcp->lock);
    if (!mcp->stopping)
        pthread_cond_timedwait(&mcp->wake, &mcp->lock, &until);
    bool goes_on = !mcp->stopping;
    pthread_mutex_unlock(&mcp->lock);
    return goes_on;
}

static void *maintenance_main(void *argument)
{
    struct mcp *mcp = argument;
    while (maintenance_wait(mcp)) {
        send_progress(mcp);
        end_sessions(mcp, true);
    }
    return NULL;
}

static void mcp_deinit(struct mcp *mcp)
{
    pthread_cond_destroy(&mcp->wake);
    pthread_mutex_destroy(&mcp->lock);
    mem_free(mcp);
}

int mcp_open(struct mcp **out, const struct mcp_options *options, struct err *err)
{
    struct mcp *mcp = mem_alloc(sizeof *mcp);
    mcp->settings = options->settings;
    mcp->service = options->service;
    pthread_mutex_init(&mcp->lock, NULL);
    clock_condition_init(&mcp->wake);
    int code = pthread_create(&mcp->maintenance_thread, NULL, maintenance_main, mcp);
    if (code != 0) {
        mcp_deinit(mcp);
        return err_sys(err, code, "cannot start a thread");
    }
    size_t max_in_flight = options->max_in_flight < LIMIT_MCP_THREADS ? options->max_in_flight
                                                                      : LIMIT_MCP_THREADS;
    mcp->quick = task_pool_new(QUICK_THREADS, LIMIT_MCP_CALLS);
    mcp->judging = task_pool_new(max_in_flight > 0 ? max_in_flight : 1, LIMIT_MCP_CALLS);
    *out = mcp;
    return 0;
}

const struct settings *mcp_all_settings(const struct mcp *mcp)
{
    return mcp->settings;
}

void mcp_stop(struct mcp *mcp)
{
    pthread_mutex_lock(&mcp->lock);
    bool first = !mcp->stopping;
    mcp->stopping = true;
    for (struct mcp_call *call = mcp->calls; call; call = call->next)
        call->stop = 1;
    pthread_cond_signal(&mcp->wake);
    pthread_mutex_unlock(&mcp->lock);
    if (!first)
        return;
    pthread_join(mcp->maintenance_thread, NULL);
    task_pool_free(mcp->judging);
    task_pool_free(mcp->quick);
    end_sessions(mcp, false);
}

void mcp_free(struct mcp *mcp)
{
    if (mcp)
        mcp_deinit(mcp);
}
