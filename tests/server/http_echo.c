/* A server for the tests of the HTTP layer (tests/system/test_http.py), with a route for each way
 * in which a handler can behave.
 *
 *   http_echo [KEY=VALUE…]    settings; prints its address, and stops at SIGTERM
 */
#include "base/array.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/http/http.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HANDLES 4096

static struct {
    struct metrics *metrics;
    pthread_mutex_t lock; /* of the waiters and streams */
    struct http_waiter *waiters[HANDLES];
    struct http_stream *streams[HANDLES];
    size_t waiter_count, stream_count;
    _Atomic int waiting, late, gone, released; /* as the callbacks count */
    _Atomic int streams_gone, streams_released;
} echo = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void ping(void *context, struct http_request *request, struct http_response *response)
{
    http_set_json(response, json_pack("{s:b}", "ok", 1));
}

static json_t *described(const struct http_request *request)
{
    static const char *const names[] = {"a", "b", "after", ""};
    json_t *seen = json_object(), *pairs = json_object();
    size_t count;
    (void)http_body(request, &count);
    json_put(seen, "method", json_integer(http_method(request)));
    json_put(seen, "path", json_text(http_path(request)));
    json_put(seen, "pattern", json_text(http_pattern(request)));
    json_put(seen, "bytes", json_integer((json_int_t)count));
    json_put(seen, "remote", json_text(http_remote(request)));
    json_put(seen, "agent", json_text(http_header(request, "user-agent")));
    for (size_t i = 0; i < COUNT(names); i++)
        if (http_query(request, names[i]))
            json_put(pairs, names[i], json_text(http_query(request, names[i])));
    json_put(seen, "query", pairs);
    return seen;
}

static void describe(void *context, struct http_request *request, struct http_response *response)
{
    http_set_json(response, described(request));
}

static void item(void *context, struct http_request *request, struct http_response *response)
{
    json_t *value = described(request);
    json_put(value, "id", json_text(http_parameter(request, "id")));
    http_set_json(response, value);
}

static void numbers(void *context, struct http_request *request, struct http_response *response)
{
    int64_t limit = 10;
    bool full = false;
    if (!http_query_int(request, "limit", 1, 100, &limit, response) ||
        !http_query_bool(request, "full", &full, response))
        return;
    http_set_json(response, json_pack("{s:I, s:b}", "limit", (json_int_t)limit, "full", (int)full));
}

static void echo_bytes(void *context, struct http_request *request, struct http_response *response)
{
    size_t count;
    const char *bytes = http_body(request, &count);
    http_set_bytes(response, "application/octet-stream", bytes, count);
}

static void echo_json(void *context, struct http_request *request, struct http_response *response)
{
    json_t *value = http_json(request, response);
    if (value)
        http_set_json(response, json_incref(value));
}

static void nothing(void *context, struct http_request *request, struct http_response *response)
{
}

static void busy(void *context, struct http_request *request, struct http_response *response)
{
    struct err err;
    err_set(&err, ERR_LIMIT, "the queue holds 5 jobs");
    http_refuse_err(response, &err);
}

static void header(void *context, struct http_request *request, struct http_response *response)
{
    http_set_header(response, "X-Odd", "one\r\nX-Second: two");
    http_set_bytes(response, "text/plain; charset=utf-8", "odd\n", 4);
}

static void blocking(void *context, struct http_request *request, struct http_response *response)
{
    int64_t ms = 0;
    if (http_query_int(request, "ms", 0, 60000, &ms, response)) {
        usleep((useconds_t)ms * 1000);
        ping(context, request, response);
    }
}

static void large(void *context, struct http_request *request, struct http_response *response)
{
    size_t count = (size_t)64 << 20;
    http_set_taken(response, "application/octet-stream", mem_alloc(count), count);
}

static void show_metrics(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct buf text;
    buf_init(&text, (size_t)1 << 20);
    metrics_write(echo.metrics, &text);
    http_set_bytes(response, "text/plain; version=0.0.4", text.data, text.len);
    buf_deinit(&text);
}

static void on_late(void *context, struct http_request *request, struct http_response *response)
{
    echo.late++;
    json_t *value = described(request);
    json_put(value, "late", json_true());
    http_set_status(response, 202);
    http_set_json(response, value);
}

static void on_gone(void *context)
{
    echo.gone++;
}

static void on_release(void *context)
{
    echo.released++;
}

static void wait_for_it(void *context, struct http_request *request, struct http_response *response)
{
    int64_t ms = 60000;
    if (!http_query_int(request, "ms", 1, 600000, &ms, response))
        return;
    struct http_wait wait = {ms, on_late, on_gone, on_release, NULL};
    pthread_mutex_lock(&echo.lock);
    echo.waiters[echo.waiter_count++ % HANDLES] = http_postpone(request, &wait);
    echo.waiting++;
    pthread_mutex_unlock(&echo.lock);
}

static void *answer_at_once(void *argument)
{
    struct http_waiter *waiter = argument;
    struct http_response *response = http_response_new(waiter);
    http_set_bytes(response, "text/plain; charset=utf-8", "at once\n", 8);
    (void)http_answer(waiter, response);
    return NULL;
}

/* Answered by another thread, maybe before the handler has returned. */
static void race(void *context, struct http_request *request, struct http_response *response)
{
    struct http_wait wait = {60000, on_late, NULL, NULL, NULL};
    pthread_t thread;
    struct http_waiter *waiter = http_postpone(request, &wait);
    if (pthread_create(&thread, NULL, answer_at_once, waiter) == 0)
        pthread_detach(thread);
    else
        answer_at_once(waiter);
}

/* Takes what a list of handles holds: no other handler takes it, too. */
static size_t take(size_t *list_count)
{
    pthread_mutex_lock(&echo.lock);
    size_t count = *list_count;
    *list_count = 0;
    pthread_mutex_unlock(&echo.lock);
    return count;
}

static void answer_all(void *context, struct http_request *request, struct http_response *response)
{
    size_t count, delivered = 0;
    const char *bytes = http_body(request, &count);
    size_t waiting = take(&echo.waiter_count);
    for (size_t i = 0; i < waiting; i++) {
        struct http_response *answer = http_response_new(echo.waiters[i]);
        http_set_bytes(answer, "text/plain; charset=utf-8", bytes, count);
        delivered += http_answer(echo.waiters[i], answer);
    }
    http_set_json(response, json_pack("{s:I}", "delivered", (json_int_t)delivered));
}

static void drop_all(void *context, struct http_request *request, struct http_response *response)
{
    size_t waiting = take(&echo.waiter_count);
    for (size_t i = 0; i < waiting; i++)
        http_drop(echo.waiters[i]);
    ping(context, request, response);
}

static void counters(void *context, struct http_request *request, struct http_response *response)
{
    pthread_mutex_lock(&echo.lock);
    int streams = (int)echo.stream_count;
    pthread_mutex_unlock(&echo.lock);
    http_set_json(response,
                  json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "waiting", echo.waiting, "late",
                            echo.late, "gone", echo.gone, "released", echo.released, "streams",
                            streams, "streams_gone", echo.streams_gone, "streams_released",
                            echo.streams_released));
}

static void stream_gone(void *context)
{
    echo.streams_gone++;
}

static void stream_released(void *context)
{
    echo.streams_released++;
}

/* With `backlog` bytes for what the client is behind. */
static void follow(void *context, struct http_request *request, struct http_response *response)
{
    int64_t backlog_bytes = 0;
    if (!http_query_int(request, "backlog", 1, 1 << 30, &backlog_bytes, response))
        return;
    struct http_stream_options options = {(size_t)backlog_bytes, stream_gone, stream_released,
                                          NULL};
    const char *last = http_last_event_id(request);
    struct http_stream *stream = http_stream_open(request, &options);
    if (last)
        (void)http_stream_send(stream, &(struct http_event){NULL, "resumed", last});
    pthread_mutex_lock(&echo.lock);
    echo.streams[echo.stream_count++ % HANDLES] = stream;
    pthread_mutex_unlock(&echo.lock);
}

/* The body, `times` times, to all. */
static void send_all(void *context, struct http_request *request, struct http_response *response)
{
    int64_t times = 1, sent = 0;
    size_t count;
    if (!http_query_int(request, "times", 1, 1000000, &times, response))
        return;
    struct http_event event = {http_query(request, "id"), http_query(request, "name"),
                               http_body(request, &count)};
    pthread_mutex_lock(&echo.lock);
    for (size_t i = 0; i < echo.stream_count; i++)
        for (int64_t j = 0; j < times; j++)
            sent += http_stream_send(echo.streams[i], &event);
    pthread_mutex_unlock(&echo.lock);
    http_set_json(response, json_pack("{s:I}", "sent", (json_int_t)sent));
}

static void close_all(void *context, struct http_request *request, struct http_response *response)
{
    size_t following = take(&echo.stream_count);
    for (size_t i = 0; i < following; i++)
        http_stream_close(echo.streams[i]);
    ping(context, request, response);
}

static void envelope(void *context, const struct http_error *error,
                     const struct http_request *request, struct http_response *response)
{
    if (!request || strncmp(http_path(request), "/detail", 7) != 0) {
        http_envelope_own(context, error, request, response);
        return;
    }
    http_set_json(response, json_pack("{s:o}", "detail", json_text(error->text)));
}

static const struct http_route routes[] = {
    {HTTP_GET, "/ping", ping, HTTP_PUBLIC, 0, NULL},
    {HTTP_GET, "/private", ping, 0, 0, NULL},
    {HTTP_GET | HTTP_DELETE, "/describe", describe, 0, 0, NULL},
    {HTTP_GET, "/items/:id", item, 0, 0, NULL},
    {HTTP_GET, "/items/list", describe, 0, 0, NULL},
    {HTTP_GET, "/items/:id/parts/:part", item, 0, 0, NULL},
    {HTTP_GET, "/files/*rest", describe, 0, 0, NULL},
    {HTTP_GET, "/numbers", numbers, 0, 0, HTTP_QUERY("limit", "full")},
    {HTTP_POST | HTTP_PUT | HTTP_PATCH, "/bytes", echo_bytes, 0, HTTP_BODY_STANDARD, NULL},
    {HTTP_POST, "/small", echo_bytes, 0, 100, NULL},
    {HTTP_POST, "/optional", echo_bytes, HTTP_BODY_OPTIONAL, 100, NULL},
    {HTTP_POST, "/json", echo_json, 0, HTTP_BODY_STANDARD, NULL},
    {HTTP_GET, "/nothing", nothing, 0, 0, NULL},
    {HTTP_GET, "/busy", busy, 0, 0, NULL},
    {HTTP_GET, "/header", header, 0, 0, NULL},
    {HTTP_GET, "/detail/busy", busy, 0, 0, NULL},
    {HTTP_GET, "/blocking", blocking, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, "/large", large, 0, 0, NULL},
    {HTTP_GET, "/metrics", show_metrics, HTTP_PUBLIC, 0, NULL},
    {HTTP_GET, "/wait", wait_for_it, 0, 0, NULL},
    {HTTP_GET, "/wait-blocking", wait_for_it, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, "/race", race, 0, 0, NULL},
    {HTTP_GET, "/race-blocking", race, HTTP_BLOCKS, 0, NULL},
    {HTTP_POST, "/answer", answer_all, 0, HTTP_BODY_STANDARD, NULL},
    {HTTP_POST, "/drop", drop_all, HTTP_BODY_OPTIONAL, 0, NULL},
    {HTTP_GET, "/counters", counters, 0, 0, NULL},
    {HTTP_GET, "/events", follow, 0, 0, NULL},
    {HTTP_GET, "/events-blocking", follow, HTTP_BLOCKS, 0, NULL},
    {HTTP_POST, "/event", send_all, 0, HTTP_BODY_STANDARD, NULL},
    {HTTP_POST, "/close", close_all, HTTP_BODY_OPTIONAL, 0, NULL},
};

static int fail(const struct err *err)
{
    fprintf(stderr, "http_echo: %s\n", err->text);
    return 1;
}

static int read_settings(struct settings *settings, char **arguments, struct err *err)
{
    settings_init(settings);
    int result = settings_set(settings, "server.listen", "127.0.0.1:0", ORIGIN_DEFAULT, err);
    for (; result == 0 && *arguments; arguments++)
        result = settings_assign(settings, *arguments, err);
    return result;
}

static int serve(struct http_server *server, struct err *err)
{
    sigset_t ends;
    int number;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    int result = http_start(server, err);
    if (result < 0)
        return result;
    printf("%s\n", http_address(server));
    fflush(stdout);
    sigwait(&ends, &number);
    return http_stop(server, 2000, err);
}

/* What is still held: http_stop has ended it and called back. */
static void give_back(void)
{
    for (size_t i = 0; i < echo.waiter_count; i++)
        http_drop(echo.waiters[i]);
    for (size_t i = 0; i < echo.stream_count; i++)
        http_stream_close(echo.streams[i]);
}

int main(int argc, char **argv)
{
    struct settings settings;
    struct http_server *server = NULL;
    struct err err;
    if (getenv("HTTP_ECHO_DEBUG"))
        log_set_level(LOG_LEVEL_DEBUG);
    echo.metrics = metrics_new();
    int result = read_settings(&settings, argv + 1, &err);
    if (result == 0)
        result = http_open(&settings, &(struct http_options){envelope, NULL, echo.metrics}, &server,
                           &err);
    if (result == 0)
        result = http_add(server, routes, COUNT(routes), NULL, &err);
    if (result == 0)
        result = serve(server, &err);
    give_back();
    http_free(server);
    if (server)
        printf("released %d of %d, streams %d\n", echo.released, echo.waiting,
               echo.streams_released);
    metrics_free(echo.metrics);
    settings_deinit(&settings);
    return result < 0 ? fail(&err) : 0;
}
