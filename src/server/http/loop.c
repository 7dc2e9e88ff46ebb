#include "server/http/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/server_settings.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Per connection: request line, headers, trailers, and the part of a body read at a time. */
#define CONNECTION_MEMORY_BYTES ((size_t)32 << 10)

static struct http_connection *connection_of(struct MHD_Connection *mhd)
{
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void *on_request_line(void *context, const char *target, struct MHD_Connection *mhd)
{
    struct http_connection *connection = connection_of(mhd);
    struct http_request *request = http_request_new(connection, target);
    pthread_mutex_lock(&connection->lock);
    connection->request = request;
    pthread_mutex_unlock(&connection->lock);
    return request;
}

static size_t leave_escaped(void *context, struct MHD_Connection *mhd, char *text)
{
    (void)context, (void)mhd;
    return strlen(text);
}

static enum MHD_Result request_begin(struct http_request *request, const char *method,
                                     const char *version)
{
    struct http_connection *connection = request->connection;
    bool early;
    request->admitted = true;
    request->refused = !http_admit(request, method, version, &early);
    if (request->refused && request->has_body && early) {
        connection->linger = true;
        return http_turn_queue(request);
    }
    if (!request->has_body)
        return MHD_YES;
    int64_t timeout_ms = server_settings(request->server->settings)->body_timeout_ms;
    return http_connection_enter(connection, PHASE_BODY, timeout_ms) ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *bytes,
                                 size_t *count, void **request_context)
{
    struct http_request *request = *request_context;
    (void)context, (void)mhd, (void)url;
    if (!request->admitted)
        return request_begin(request, method, version);
    if (*count > 0) {
        size_t given = *count;
        *count = 0;
        return http_turn_receive(request, bytes, given);
    }
    return http_turn_proceed(request);
}

static void request_account(const struct http_request *request)
{
    struct http_server *server = request->server;
    char status[16], spent[32];
    const char *route = request->binding ? request->binding->route->pattern : "none";
    double seconds = clock_ms_since(request->started_ns) * 1e-3;
    snprintf(status, sizeof status, "%d", request->status);
    if (request->status == 0)
        snprintf(status, sizeof status, "none"); /* the client disconnected first */
    metrics_count(server->metrics, ROW_REQUESTS, (const char *[]){route, status}, 1);
    metrics_observe(server->metrics, ROW_SECONDS, &route, seconds);
    if (!log_enabled(LOG_LEVEL_DEBUG))
        return;
    snprintf(spent, sizeof spent, "%.3f", 1e3 * seconds);
    log_event(LOG_LEVEL_DEBUG, "http", "request", "request", request->id, "client", request->remote,
              "method", request->method_name, "path", request->target.path, "status", status, "ms",
              spent, NULL);
}

/* The response is sent, or the client is gone; libmicrohttpd is done with the request. */
static void request_complete(struct http_connection *connection, struct http_request *request)
{
    struct http_server *server = request->server;
    connection->answered++;
    pthread_mutex_lock(&request->lock);
    request->connection = NULL;
    pthread_mutex_unlock(&request->lock);
    pthread_mutex_lock(&connection->lock);
    connection->request = NULL;
    if (connection->phase != PHASE_DEAD)
        connection->phase = PHASE_IDLE;
    if (connection->gone)
        http_connection_shut_reading(connection);
    pthread_mutex_unlock(&connection->lock);
    http_connection_set_deadline(connection, server_settings(server->settings)->idle_timeout_ms);
    if (request->stream)
        http_stream_over(request->stream);
    request_account(request);
    bool active = request->active;
    http_request_unref(request);
    pthread_mutex_lock(&server->lock);
    server->active -= active;
    if (active && server->active == 0)
        pthread_cond_broadcast(&server->calm);
    pthread_mutex_unlock(&server->lock);
}

static void on_completed(void *context, struct MHD_Connection *mhd, void **request_context,
                         enum MHD_RequestTerminationCode code)
{
    (void)context, (void)code;
    request_complete(connection_of(mhd), *request_context);
}

static void on_connection(void *context, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_connection *connection = *socket_context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        http_connection_open(context, mhd, socket_context);
        return;
    }
    if (connection->request) /* out of memory in the middle: the end was not reported */
        request_complete(connection, connection->request);
    http_connection_close(connection);
}

static void on_log(void *context, const char *format, va_list args)
{
    char text[512];
    if (!log_enabled(LOG_LEVEL_DEBUG))
        return;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    log_write(LOG_LEVEL_DEBUG, "http", "%s", text);
}

/* Our own loop around MHD_run, which never waits: libmicrohttpd's own thread (0.9.75) sleeps
 * with 128 events unhandled when there are exactly that many, until another one arrives. */
static void *loop_thread_main(void *argument)
{
    struct http_loop *loop = argument;
    int epoll_fd = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct pollfd polled[] = {{.fd = epoll_fd, .events = POLLIN},
                              {.fd = loop->wake_fd, .events = POLLIN}};
    bool quiet = false;
    enum http_command command;
    while ((command = atomic_load(&loop->command)) != HTTP_QUIT) {
        uint64_t ignored;
        MHD_UNSIGNED_LONG_LONG left_ms;
        if (command == HTTP_QUIET && !quiet) {
            quiet = true;
            close(MHD_quiesce_daemon(loop->daemon));
        }
        /* No connection has a timeout of libmicrohttpd's: either there is work now, or none. */
        bool busy = MHD_get_timeout(loop->daemon, &left_ms) == MHD_YES && left_ms == 0;
        if (poll(polled, 2, busy ? 0 : -1) > 0 && polled[1].revents)
            (void)!read(loop->wake_fd, &ignored, sizeof ignored);
        MHD_run(loop->daemon);
    }
    if (!quiet)
        close(MHD_quiesce_daemon(loop->daemon));
    MHD_stop_daemon(loop->daemon);
    return NULL;
}

int http_loop_start(struct http_loop *loop, struct http_server *server, unsigned connections_max,
                    struct err *err)
{
    int listen_fd = dup(server->listen.fd);
    loop->server = server;
    loop->wake_fd = eventfd(0, EFD_CLOEXEC);
    atomic_init(&loop->command, HTTP_RUN);
    /* TURBO also keeps libmicrohttpd from shutting down its side of a socket before it reports
     * the close: http_connection_close may still send there. */
    if (listen_fd >= 0 && loop->wake_fd >= 0)
        loop->daemon = MHD_start_daemon(
            MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_TURBO, 0, NULL,
            NULL, on_access, server, MHD_OPTION_EXTERNAL_LOGGER, on_log, server,
            MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_LIMIT, connections_max,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY_BYTES,
            MHD_OPTION_STRICT_FOR_CLIENT, 0, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, server,
            MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_NOTIFY_COMPLETED,
            on_completed, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection, loop,
            MHD_OPTION_END);
    int code = loop->daemon ? pthread_create(&loop->thread, NULL, loop_thread_main, loop) : errno;
    if (loop->daemon && code == 0)
        return 0;
    if (loop->daemon)
        MHD_stop_daemon(loop->daemon); /* closes listen_fd */
    else if (listen_fd >= 0)
        close(listen_fd);
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    return err_sys(err, code, "cannot start the HTTP server at %s", http_address(server));
}

/* libmicrohttpd cannot wake an external loop. */
void http_loop_wake(struct http_loop *loop)
{
    uint64_t one = 1;
    (void)!write(loop->wake_fd, &one, sizeof one);
}

void http_loop_command(struct http_loop *loop, enum http_command command)
{
    atomic_store(&loop->command, command);
    http_loop_wake(loop);
}

void http_loop_join(struct http_loop *loop)
{
    pthread_join(loop->thread, NULL);
    close(loop->wake_fd);
}
