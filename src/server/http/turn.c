#include "server/http/internal.h"

#include "server/server_settings.h"

static void set_turn(struct http_request *request, enum http_turn turn)
{
    pthread_mutex_lock(&request->lock);
    request->turn = turn;
    pthread_mutex_unlock(&request->lock);
}

/* On the connection's thread. */
enum MHD_Result http_turn_queue(struct http_request *request)
{
    struct http_connection *connection = request->connection;
    bool stream = request->stream != NULL;
    if (!http_connection_enter(connection, stream ? PHASE_STREAM : PHASE_SEND,
                               stream
                                   ? HTTP_HEARTBEAT_NS / 1000000
                                   : server_settings(request->server->settings)->send_timeout_ms))
        return MHD_NO;
    /* Check after publishing the phase: either http_stop finds the stream, or this finds
     * http_stop. */
    if (stream && atomic_load(&request->server->stopping))
        http_stream_stop(request->stream);
    request->status = request->reply->status;
    struct MHD_Response *made = http_response_make(request->reply);
    if (!made)
        return MHD_NO;
    enum MHD_Result result = MHD_queue_response(connection->mhd, (unsigned)request->status, made);
    MHD_destroy_response(made);
    return result;
}

static void call_handler(struct http_request *request)
{
    const struct http_binding *binding = request->binding;
    if (http_request_check_query(request, &request->response))
        binding->route->handler(binding->context, request, &request->response);
    if (!request->postponed && !request->stream && !request->response.filled)
        http_refuse(&request->response, 500, "internal", "the handler gave no answer");
}

static void call_late(struct http_request *request)
{
    struct http_waiter *waiter = &request->waiter;
    waiter->wait.late(waiter->wait.context, request, &request->response);
    if (!request->response.filled)
        http_refuse(&request->response, 500, "internal", "the handler gave no answer");
    http_waiter_unref(waiter);
}

static enum MHD_Result request_start(struct http_request *request)
{
    if (!http_connection_enter(request->connection, PHASE_WORK, -1))
        return MHD_NO;
    pthread_mutex_lock(&request->server->lock);
    request->server->active++;
    pthread_mutex_unlock(&request->server->lock);
    request->active = true;
    if (request->refused)
        return http_turn_queue(request);
    set_turn(request, TURN_RUN);
    if (!(request->binding->route->flags & HTTP_BLOCKS)) {
        call_handler(request);
        if (request->postponed)
            return MHD_YES; /* suspended, or resumed already */
        set_turn(request, TURN_READY);
        return http_turn_queue(request);
    }
    /* Set before submitting: the handler may be done before this returns. */
    request->pooled = true;
    MHD_suspend_connection(request->connection->mhd);
    if (http_request_push(request))
        return MHD_YES;
    http_refuse_for(&request->response, 503, HTTP_RETRY_AFTER_S, "busy",
                    "too many requests are waiting");
    set_turn(request, TURN_READY);
    http_connection_resume(request->connection);
    return MHD_YES;
}

enum MHD_Result http_turn_proceed(struct http_request *request)
{
    pthread_mutex_lock(&request->lock);
    enum http_turn turn = request->turn;
    pthread_mutex_unlock(&request->lock);
    switch (turn) {
    case TURN_READ:
        return request_start(request);
    case TURN_LATE:
        call_late(request);
        set_turn(request, TURN_READY);
        return http_turn_queue(request);
    case TURN_READY:
        return http_turn_queue(request);
    case TURN_GONE:
        return MHD_NO;
    default:
        /* Not ours: the owner of the turn resumes the connection. */
        MHD_suspend_connection(request->connection->mhd);
        return MHD_YES;
    }
}

static void run_turn(struct http_request *request)
{
    pthread_mutex_lock(&request->lock);
    bool late = request->turn == TURN_LATE;
    pthread_mutex_unlock(&request->lock);
    if (late)
        call_late(request);
    else
        call_handler(request);
    if (request->postponed && !late)
        return;
    pthread_mutex_lock(&request->lock);
    request->turn = TURN_READY;
    http_connection_resume(request->connection);
    pthread_mutex_unlock(&request->lock);
}

static void run_work(struct pool_task *work)
{
    struct http_request *request = TASK_CONTAINER(work, struct http_request, work);
    run_turn(request);
    http_request_unref(request);
}

bool http_request_push(struct http_request *request)
{
    http_request_ref(request);
    request->work.run = run_work;
    if (task_pool_submit(request->server->pool, &request->work))
        return true;
    http_request_unref(request);
    return false;
}

enum MHD_Result http_turn_receive(struct http_request *request, const char *bytes, size_t count)
{
    struct http_connection *connection = request->connection;
    if (request->refused)
        return MHD_YES;
    if (!request->body.data)
        buf_init(&request->body, request->body_max_bytes);
    if (count <= request->body_max_bytes - request->body.len) {
        buf_append(&request->body, bytes, count);
        return MHD_YES;
    }
    /* In the middle of a body libmicrohttpd accepts no response. */
    pthread_mutex_lock(&connection->lock);
    if (connection->phase != PHASE_DEAD)
        http_connection_send_final(connection, request, 413, "body_too_large",
                                   "the body exceeds the limit here");
    connection->linger = true;
    pthread_mutex_unlock(&connection->lock);
    return MHD_NO;
}
