#include "server/http/internal.h"

#include "base/clock.h"

#include <stdlib.h>

#define BUSY_MS 100

struct http_waiter *http_postpone(struct http_request *request, const struct http_wait *wait)
{
    struct http_waiter *waiter = &request->waiter;
    if (request->postponed || request->stream || !wait->late || wait->timeout_ms < 1)
        abort(); /* a defect of the handler */
    http_request_ref(request);
    http_request_keep_headers(request);
    waiter->request = request;
    waiter->wait = *wait;
    waiter->deadline_ns = clock_now_ns() + wait->timeout_ms * 1000000;
    atomic_init(&waiter->refs, 2);
    request->postponed = true;
    if (!request->pooled)
        MHD_suspend_connection(request->connection->mhd);
    metric_shift(request->server->waiting, 1);
    pthread_mutex_lock(&request->lock);
    struct http_connection *connection = request->connection;
    request->turn = TURN_WAIT;
    pthread_mutex_lock(&connection->lock);
    connection->phase = PHASE_WAIT;
    if (connection->gone)
        http_connection_watch(connection, true);
    pthread_mutex_unlock(&connection->lock);
    /* Check after publishing the turn: either http_stop finds it, or this finds http_stop. */
    bool stopping = atomic_load(&request->server->stopping);
    http_connection_set_deadline(connection, stopping ? 0 : wait->timeout_ms);
    pthread_mutex_unlock(&request->lock);
    return waiter;
}

void http_waiter_unref(struct http_waiter *waiter)
{
    if (atomic_fetch_sub(&waiter->refs, 1) != 1)
        return;
    if (waiter->wait.release)
        waiter->wait.release(waiter->wait.context);
    http_request_unref(waiter->request);
}

/* With the request's lock: ends the wait, if it has not ended. */
static bool wait_leave(struct http_request *request, enum http_turn turn)
{
    if (request->turn != TURN_WAIT)
        return false;
    struct http_connection *connection = request->connection;
    request->turn = turn;
    metric_shift(request->server->waiting, -1);
    pthread_mutex_lock(&connection->lock);
    if (connection->phase == PHASE_WAIT)
        connection->phase = PHASE_WORK;
    pthread_mutex_unlock(&connection->lock);
    http_connection_set_deadline(connection, -1);
    return true;
}

bool http_answer(struct http_waiter *waiter, struct http_response *response)
{
    struct http_request *request = waiter->request;
    pthread_mutex_lock(&request->lock);
    bool delivered = wait_leave(request, TURN_READY);
    if (delivered) {
        if (!response->filled)
            http_refuse(response, 500, "internal", "the request got no answer");
        request->reply = response;
        http_connection_resume(request->connection);
    }
    pthread_mutex_unlock(&request->lock);
    if (delivered)
        http_waiter_unref(waiter); /* no callback will follow */
    else
        http_response_free(response);
    http_waiter_unref(waiter);
    return delivered;
}

void http_drop(struct http_waiter *waiter)
{
    struct http_response *response = http_response_new(waiter);
    http_refuse(response, 500, "internal", "the request got no answer");
    (void)http_answer(waiter, response);
}

/* With the request's lock. If the handler may block, so may `late`, and never on a loop's
 * thread: while the handlers' queue is full, the answer is a little later. */
static void wait_expire(struct http_request *request)
{
    if (!(request->binding->route->flags & HTTP_BLOCKS)) {
        (void)wait_leave(request, TURN_LATE);
        http_connection_resume(request->connection);
    } else if (http_request_push(request)) {
        (void)wait_leave(request, TURN_LATE);
    } else {
        http_connection_set_deadline(request->connection, BUSY_MS);
    }
}

void http_waiter_late(struct http_request *request, int64_t now_ns)
{
    if (atomic_load(&request->server->stopping)) {
        http_waiter_stop(request);
        return;
    }
    pthread_mutex_lock(&request->lock);
    if (now_ns >= request->waiter.deadline_ns && request->turn == TURN_WAIT)
        wait_expire(request);
    pthread_mutex_unlock(&request->lock);
}

static void wait_end(struct http_request *request, enum http_turn turn)
{
    struct http_waiter *waiter = &request->waiter;
    pthread_mutex_lock(&request->lock);
    bool ended = wait_leave(request, turn);
    if (ended && turn == TURN_READY) {
        request->reply = http_response_new(waiter);
        http_refuse_for(request->reply, 503, HTTP_STOP_RETRY_AFTER_S, "stopping",
                        "the server is stopping");
    }
    if (ended)
        http_connection_resume(request->connection);
    pthread_mutex_unlock(&request->lock);
    if (!ended)
        return;
    if (waiter->wait.gone)
        waiter->wait.gone(waiter->wait.context);
    http_waiter_unref(waiter);
}

void http_waiter_gone(struct http_request *request)
{
    wait_end(request, TURN_GONE);
}

void http_waiter_stop(struct http_request *request)
{
    wait_end(request, TURN_READY);
}
