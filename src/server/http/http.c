#include "server/http/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/server_settings.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define SPARE_DESCRIPTORS 128

static const struct metric rows[ROW_COUNT] = {
    [ROW_REQUESTS] = {"warpgym_http_requests_total",
                      "Requests answered, by route and status.",
                      METRIC_COUNTER,
                      {"route", "status"},
                      NULL,
                      0},
    [ROW_SECONDS] = {"warpgym_http_request_seconds",
                     "From a request's first line to the end of its response, including waits.",
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
    [ROW_STREAMS] =
        {"warpgym_http_streams", "Clients of server-sent events.", METRIC_GAUGE, {NULL}, NULL, 0},
};

static int check_token(const struct settings *settings, const struct http_listen *listen,
                       struct err *err)
{
    const struct server_settings *server = server_settings(settings);
    if (listen->loopback || *server->token || server->insecure)
        return 0;
    return err_set(
        err, ERR_INPUT,
        "%.100s is reachable from other machines: set a token (server.token, WARPGYM_TOKEN), or "
        "server.insecure=true if everyone there may run code on this machine",
        server->listen);
}

int http_open(const struct settings *settings, const struct http_options *options,
              struct http_server **out, struct err *err)
{
    const struct server_settings *values = server_settings(settings);
    struct http_server *server = mem_alloc(sizeof *server);
    *out = NULL;
    server->settings = settings;
    server->options = *options;
    server->epoll_fd = server->wake_fd = -1;
    server->id_prefix = (uint32_t)clock_secret();
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->calm, NULL);
    http_timers_init(&server->timers);
    if (*values->token)
        hash_bytes(values->token, strlen(values->token), server->token_hash);
    int result = http_listen_open(values->listen, &server->listen, err);
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

int http_add_table(struct http_server *server, const struct http_route *table, void *context,
                   struct err *err)
{
    size_t count = 0;
    while (table[count].methods)
        count++;
    return http_add(server, table, count, context, err);
}

static void command_loops(struct http_server *server, enum http_command command)
{
    for (size_t i = 0; i < server->loop_count; i++)
        http_loop_command(&server->loops[i], command);
}

static void stop_loops(struct http_server *server)
{
    command_loops(server, HTTP_QUIT);
    for (size_t i = 0; i < server->loop_count; i++)
        http_loop_join(&server->loops[i]);
    mem_free(server->loops);
    server->loops = NULL;
    server->loop_count = 0;
}

/* Raises the limit of descriptors as far as the configured connections need. */
static unsigned connections_max(const struct settings *settings)
{
    const struct server_settings *server = server_settings(settings);
    struct rlimit limit;
    rlim_t wanted = (rlim_t)server->max_connections + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return (unsigned)server->max_connections;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted)
        return (unsigned)server->max_connections;
    log_write(LOG_LEVEL_WARN, "http", "the limit of descriptors allows only %llu connections",
              (unsigned long long)(limit.rlim_cur / 2));
    return (unsigned)(limit.rlim_cur / 2);
}

/* Starts all loops, or none. */
static int start_loops(struct http_server *server, struct err *err)
{
    size_t count = (size_t)server_settings(server->settings)->threads;
    unsigned each = connections_max(server->settings) / (unsigned)count;
    server->loops = mem_alloc(count * sizeof *server->loops);
    for (; server->loop_count < count; server->loop_count++) {
        int result = http_loop_start(&server->loops[server->loop_count], server, each ? each : 1,
                                     err);
        if (result < 0) {
            stop_loops(server);
            return result;
        }
    }
    return 0;
}

int http_start(struct http_server *server, struct err *err)
{
    const struct server_settings *values = server_settings(server->settings);
    int result = http_watch_start(server, err);
    if (result < 0)
        return result;
    server->pool = task_pool_new((size_t)values->handler_threads, (size_t)values->handler_queue);
    result = start_loops(server, err);
    if (result < 0) {
        task_pool_free(server->pool);
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

struct unfinished {
    struct {
        struct http_request *request;
        bool stream;
    } * items;
    size_t count, capacity;
};

/* References to the requests that need an end; shuts down connections without one. */
static struct unfinished collect_unfinished(struct http_server *server)
{
    struct unfinished found = {0};
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
            http_connection_shut_reading(at);
        pthread_mutex_unlock(&at->lock);
    }
    pthread_mutex_unlock(&server->lock);
    return found;
}

static void end_waits(struct http_server *server)
{
    struct unfinished found = collect_unfinished(server);
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

static bool wait_until_idle(struct http_server *server, int64_t deadline_ns)
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

/* Clients that do not read block what is being sent to them: cuts them off. */
static void disconnect_all(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    for (struct http_connection *at = server->live; at; at = at->next) {
        pthread_mutex_lock(&at->lock);
        if (!at->closed && (at->phase == PHASE_STREAM || at->phase == PHASE_SEND))
            shutdown(at->fd, SHUT_RDWR);
        pthread_mutex_unlock(&at->lock);
    }
    pthread_mutex_unlock(&server->lock);
}

int http_stop(struct http_server *server, int64_t timeout_ms, struct err *err)
{
    const int64_t now_ns = clock_now_ns(), half_ns = timeout_ms * 500000;
    const int64_t deadline_ns = now_ns + 2 * half_ns;
    if (!server->started || atomic_exchange(&server->stopping, true))
        return 0;
    command_loops(server, HTTP_QUIET);
    http_listen_close(&server->listen);
    end_waits(server);
    if (wait_until_idle(server, now_ns + half_ns))
        return 0;
    disconnect_all(server);
    if (wait_until_idle(server, deadline_ns))
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
        task_pool_free(server->pool);
        stop_loops(server);
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
