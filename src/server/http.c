#include "server/http_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Of each connection: request line, headers, trailers, and what is read of a body at a time. */
#define CONNECTION_MEMORY_BYTES ((size_t)32 << 10)
#define SPARE_DESCRIPTORS 128

static const struct metric rows[ROW_COUNT] = {
    [ROW_REQUESTS] = {"warpgym_http_requests_total",
                      "Requests answered, by route and status.",
                      METRIC_COUNTER,
                      {"route", "status"},
                      NULL,
                      0},
    [ROW_SECONDS] = {"warpgym_http_request_seconds",
                     "From a request's first line to the end of its response, waiting included.",
                     METRIC_HISTOGRAM,
                     {"route"},
                     metric_seconds,
                     METRIC_SECONDS},
    [ROW_CONNECTIONS] =
        {"warpgym_http_connections", "Open connections.", METRIC_GAUGE, {NULL}, NULL, 0},
    [ROW_WAITING] = {"warpgym_http_waiting",
                     "Requests that wait for an answer (long polls).",
                     METRIC_GAUGE,
                     {NULL},
                     NULL,
                     0},
    [ROW_STREAMS] = {"warpgym_http_streams",
                     "Clients that follow server-sent events.",
                     METRIC_GAUGE,
                     {NULL},
                     NULL,
                     0},
};

/* ------------------------------------------------------------------- called by libmicrohttpd */

static struct http_connection *connection_of(struct MHD_Connection *mhd)
{
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void *on_request_line(void *context, const char *target, struct MHD_Connection *mhd)
{
    struct http_connection *connection = connection_of(mhd);
    struct http_request *request = http_request_new(connection, target);
    (void)context;
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

static enum MHD_Result begin(struct http_request *request, const char *method, const char *version)
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
    int64_t timeout_ms = request->server->settings->server_body_timeout_ms;
    return http_connection_enter(connection, PHASE_BODY, timeout_ms) ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *bytes,
                                 size_t *count, void **request_context)
{
    struct http_request *request = *request_context;
    (void)context, (void)mhd, (void)url;
    if (!request->admitted)
        return begin(request, method, version);
    if (*count > 0) {
        size_t given = *count;
        *count = 0;
        return http_turn_receive(request, bytes, given);
    }
    return http_turn_proceed(request);
}

static void account(const struct http_request *request)
{
    struct http_server *server = request->server;
    char status[16], spent[32];
    const char *route = request->binding ? request->binding->route->pattern : "none";
    double seconds = clock_ms_since(request->started_ns) * 1e-3;
    snprintf(status, sizeof status, "%d", request->status);
    if (request->status == 0)
        snprintf(status, sizeof status, "none"); /* the client was gone first */
    metrics_count(server->metrics, ROW_REQUESTS, (const char *[]){route, status}, 1);
    metrics_observe(server->metrics, ROW_SECONDS, &route, seconds);
    if (!log_enabled(LOG_LEVEL_DEBUG))
        return;
    snprintf(spent, sizeof spent, "%.3f", 1e3 * seconds);
    log_event(LOG_LEVEL_DEBUG, "http", "request", "request", request->id, "client", request->remote,
              "method", request->method_name, "path", request->target.path, "status", status, "ms",
              spent, NULL);
}

/* Sent, or the client is gone; in any case libmicrohttpd is done with the request. */
static void complete(struct http_connection *connection, struct http_request *request)
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
        http_connection_no_more(connection);
    pthread_mutex_unlock(&connection->lock);
    http_connection_due(connection, server->settings->server_idle_timeout_ms);
    if (request->stream)
        http_stream_over(request->stream);
    account(request);
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
    complete(connection_of(mhd), *request_context);
}

static void on_connection(void *context, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_connection *connection = *socket_context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        http_connection_open(context, mhd, socket_context);
        return;
    }
    if (connection->request) /* out of memory in the middle: nobody told that it is over */
        complete(connection, connection->request);
    http_connection_close(connection);
}

static void on_log(void *context, const char *format, va_list args)
{
    char text[512];
    (void)context;
    if (!log_enabled(LOG_LEVEL_DEBUG))
        return;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    log_write(LOG_LEVEL_DEBUG, "http", "%s", text);
}

/* --------------------------------------------------------------------------------------- server */

static int check_token(const struct settings *settings, const struct http_listen *listen,
                       struct err *err)
{
    if (listen->loopback || *settings->server_token || settings->server_insecure)
        return 0;
    return err_set(err, ERR_INPUT,
                   "server.listen is %.100s, which others can reach: set a token (WARPGYM_TOKEN), "
                   "or server.insecure=true if everybody there may run code on this machine",
                   settings->server_listen);
}

int http_open(const struct settings *settings, const struct http_options *options,
              struct http_server **out, struct err *err)
{
    struct http_server *server = mem_alloc(sizeof *server);
    *out = NULL;
    server->settings = settings;
    server->options = *options;
    server->epoll_fd = server->wake_fd = -1;
    server->id_prefix = (uint32_t)clock_secret();
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->calm, NULL);
    http_timers_init(&server->timers);
    if (*settings->server_token)
        hash_bytes(settings->server_token, strlen(settings->server_token), server->token_hash);
    int result = http_listen_open(settings->server_listen, &server->listen, err);
    if (result == 0)
        result = check_token(settings, &server->listen, err);
    if (result < 0) {
        http_free(server);
        return result;
    }
    server->metrics = metrics_add(options->metrics, rows, ROW_COUNT);
    server->connections = metrics_series(server->metrics, ROW_CONNECTIONS, NULL);
    server->waiting = metrics_series(server->metrics, ROW_WAITING, NULL);
    server->streams = metrics_series(server->metrics, ROW_STREAMS, NULL);
    *out = server;
    return 0;
}

int http_add(struct http_server *server, const struct http_route *routes, size_t count,
             void *context, struct err *err)
{
    return http_routes_add(&server->routes, routes, count, context, err);
}

/* As many connections as the settings say need as many descriptors, whatever the shell's limit. */
static unsigned connections_max(const struct settings *settings)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)settings->server_max_connections + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return (unsigned)settings->server_max_connections;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted)
        return (unsigned)settings->server_max_connections;
    log_write(LOG_LEVEL_WARN, "http", "no more than %llu connections: the limit of descriptors",
              (unsigned long long)(limit.rlim_cur / 2));
    return (unsigned)(limit.rlim_cur / 2);
}

int http_start(struct http_server *server, struct err *err)
{
    const struct settings *settings = server->settings;
    int result = http_watch_start(server, err);
    if (result < 0)
        return result;
    result = http_pool_start(&server->pool, (size_t)settings->server_handler_threads,
                             (size_t)settings->server_handler_queue, err);
    if (result < 0) {
        http_watch_stop(server);
        return result;
    }
    /* TURBO also keeps libmicrohttpd from ending its side of a socket before we hear that it
     * closes: http_connection_close still has something to say there. */
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
            MHD_USE_TURBO,
        0, NULL, NULL, on_access, server, MHD_OPTION_EXTERNAL_LOGGER, on_log, server,
        MHD_OPTION_LISTEN_SOCKET, server->listen.fd, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)settings->server_threads, MHD_OPTION_CONNECTION_LIMIT, connections_max(settings),
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)settings->server_max_per_address,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY_BYTES, MHD_OPTION_STRICT_FOR_CLIENT,
        0, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, server, MHD_OPTION_UNESCAPE_CALLBACK,
        leave_escaped, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_END);
    if (!server->daemon) {
        result = err_sys(err, errno, "cannot start the HTTP server at %s", http_address(server));
        http_pool_stop(&server->pool);
        http_watch_stop(server);
        return result;
    }
    server->started = true;
    return 0;
}

const char *http_address(const struct http_server *server)
{
    return server->listen.address;
}

int http_port(const struct http_server *server)
{
    return server->listen.port;
}

bool http_stopping(const struct http_server *server)
{
    return atomic_load(&server->stopping);
}

/* ------------------------------------------------------------------------------------- the end */

struct under_way {
    struct {
        struct http_request *request;
        bool stream;
    } * items;
    size_t count, capacity;
};

/* Requests that somebody has to end, and an end to connections that have none. */
static struct under_way collect(struct http_server *server)
{
    struct under_way found = {0};
    pthread_mutex_lock(&server->lock);
    for (struct http_connection *at = server->live; at; at = at->next) {
        pthread_mutex_lock(&at->lock);
        if (at->request && found.count == found.capacity) {
            found.capacity = found.capacity ? 2 * found.capacity : 64;
            found.items = mem_resize(found.items, found.capacity * sizeof *found.items);
        }
        if (at->request) {
            found.items[found.count].stream = at->phase == PHASE_STREAM;
            found.items[found.count++].request = http_request_ref(at->request);
        } else if (at->phase == PHASE_IDLE && !at->closed)
            http_connection_no_more(at);
        pthread_mutex_unlock(&at->lock);
    }
    pthread_mutex_unlock(&server->lock);
    return found;
}

static void end_waits(struct http_server *server)
{
    struct under_way found = collect(server);
    for (size_t i = 0; i < found.count; i++) {
        struct http_request *request = found.items[i].request;
        if (found.items[i].stream)
            http_stream_stop(request->stream);
        else
            http_waiter_stop(request);
        http_request_unref(request);
    }
    mem_free(found.items);
}

static bool wait_for_calm(struct http_server *server, int64_t deadline_ns)
{
    pthread_mutex_lock(&server->lock);
    while (server->active > 0 && clock_left_ms(deadline_ns) > 0) {
        struct timespec until = clock_in_ms(clock_left_ms(deadline_ns));
        pthread_cond_timedwait(&server->calm, &server->lock, &until);
    }
    bool calm = server->active == 0;
    pthread_mutex_unlock(&server->lock);
    return calm;
}

int http_stop(struct http_server *server, int64_t timeout_ms, struct err *err)
{
    int64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    if (!server->started || atomic_exchange(&server->stopping, true))
        return 0;
    MHD_quiesce_daemon(server->daemon);
    end_waits(server);
    if (wait_for_calm(server, deadline_ns))
        return 0;
    return err_set(err, ERR_TIMEOUT, "requests are still running after %lld ms",
                   (long long)timeout_ms);
}

void http_free(struct http_server *server)
{
    struct err ignored;
    if (!server)
        return;
    if (server->started) {
        if (!http_stopping(server))
            (void)!http_stop(server, 0, &ignored);
        http_pool_stop(&server->pool);
        MHD_stop_daemon(server->daemon);
        http_watch_stop(server);
    }
    http_listen_close(&server->listen);
    if (server->epoll_fd >= 0)
        close(server->epoll_fd);
    if (server->wake_fd >= 0)
        close(server->wake_fd);
    http_routes_deinit(&server->routes);
    http_timers_deinit(&server->timers);
    pthread_cond_destroy(&server->calm);
    pthread_mutex_destroy(&server->lock);
    mem_free(server);
}
