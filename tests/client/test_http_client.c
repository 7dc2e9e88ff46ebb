/* http_client against our own HTTP layer, and against sockets that say anything. */
#include "../support/http_fixture.h"
#include "client/http_client.h"

#include "../support/test.h"
#include "base/clock.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG_BYTES ((size_t)1 << 20)
#define BOUND_S 60 /* no slow machine reaches it; a hang does */

static struct {
    struct http_fixture server;
    _Atomic int busy;                     /* so many times, then it is not */
    _Atomic(struct http_waiter *) waiter; /* of the last request to be silent at */
} world;

static void echo(void *context, struct http_request *request, struct http_response *response)
{
    size_t count;
    const char *body = http_body(request, &count);
    const char *token = http_header(request, "authorization");
    json_t *value = json_pack("{s:i, s:s, s:s%, s:s}", "method", (int)http_method(request), "path",
                              http_path(request), "body", body, count, "token", token ? token : "");
    http_set_json(response, value);
}

static void busy(void *context, struct http_request *request, struct http_response *response)
{
    if (world.busy-- > 0)
        http_refuse_for(response, 503, 1, "busy", "the queue is full");
    else
        http_set_json(response, json_pack("{s:b}", "ok", 1));
}

static void big(void *context, struct http_request *request, struct http_response *response)
{
    char *bytes = mem_alloc(BIG_BYTES);
    memset(bytes, ' ', BIG_BYTES);
    http_set_taken(response, "application/json", bytes, BIG_BYTES);
}

static void away(void *context, struct http_request *request, struct http_response *response)
{
    http_set_status(response, 302);
    http_set_header(response, "Location", "http://127.0.0.2:1/");
}

static void late(void *context, struct http_request *request, struct http_response *response)
{
    http_set_status(response, 200);
}

static void release(void *context)
{
}

static void silent(void *context, struct http_request *request, struct http_response *response)
{
    struct http_wait wait = {.timeout_ms = BOUND_S * 1000,
                             .late = late,
                             .release = release,
                             .context = NULL};
    world.waiter = http_postpone(request, &wait);
}

static const struct http_route routes[] = {
    {HTTP_GET | HTTP_POST | HTTP_DELETE, "/p/echo/*rest", echo, HTTP_BODY_OPTIONAL, 4096, NULL},
    {HTTP_GET, "/p/busy", busy, 0, 0, NULL},
    {HTTP_GET, "/p/big", big, 0, 0, NULL},
    {HTTP_GET, "/p/away", away, 0, 0, NULL},
    {HTTP_GET, "/p/silent", silent, 0, 0, NULL},
};

FIXTURE(begin)
{
    return http_fixture_begin(&world.server, routes, COUNT(routes), NULL);
}

FIXTURE(end)
{
    int result = http_fixture_stop(&world.server);
    if (world.waiter)
        http_drop(world.waiter);
    http_fixture_free(&world.server);
    return result;
}

TEST_GROUP(begin, end);

static struct http_client *open_client(const char *url, int64_t timeout_ms, int64_t retry_budget_ms,
                                       const _Atomic int *cancelled)
{
    struct http_client_options options = {.url = url,
                                          .token = "secret",
                                          .connect_timeout_ms = 5000,
                                          .timeout_ms = timeout_ms,
                                          .retry_budget_ms = retry_budget_ms,
                                          .backoff_ms = 2,
                                          .cancelled = cancelled};
    struct http_client *client;
    struct err err = {0};
    assert_ok(http_client_open(&client, &options, &err), &err);
    return client;
}

static struct http_client *client_of(int64_t timeout_ms, int64_t retry_budget_ms)
{
    char *url = mem_printf("%s/p//", http_address(world.server.http));
    struct http_client *client = open_client(url, timeout_ms, retry_budget_ms, NULL);
    mem_free(url);
    return client;
}

static int get(struct http_client *client, const char *target, size_t max_bytes,
               struct http_client_answer *answer, struct err *err)
{
    struct http_client_call call = {.method = "GET", .target = target, .max_bytes = max_bytes};
    return http_client_send(client, &call, answer, err);
}

TEST(methods)
{
    static const struct {
        const char *method, *target, *body;
        int said;
        const char *path;
    } rows[] = {
        {"GET", "/echo/a?x=1", NULL, HTTP_GET, "/p/echo/a"},
        {"POST", "/echo/b%20c", "{\"x\": 1}", HTTP_POST, "/p/echo/b c"},
        {"POST", "/echo/", NULL, HTTP_POST, "/p/echo/"},
        {"DELETE", "/echo/%21..", NULL, HTTP_DELETE, "/p/echo/!.."},
        {"GET", "/echo/a", NULL, HTTP_GET, "/p/echo/a"},
    };
    struct http_client *client = client_of(10000, 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct http_client_call call = {.method = rows[i].method,
                                        .target = rows[i].target,
                                        .body = rows[i].body,
                                        .body_bytes = rows[i].body ? strlen(rows[i].body) : 0,
                                        .max_bytes = 4096};
        struct http_client_answer answer;
        struct err err = {0};
        if (http_client_send(client, &call, &answer, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(answer.status, 200);
        json_t *echoed = json_loads(answer.body, 0, NULL);
        assert_non_null(echoed);
        assert_int_equal(json_integer_value(json_object_get(echoed, "method")), rows[i].said);
        assert_string_equal(json_string_value(json_object_get(echoed, "path")), rows[i].path);
        assert_string_equal(json_string_value(json_object_get(echoed, "token")), "Bearer secret");
        assert_string_equal(json_string_value(json_object_get(echoed, "body")),
                            rows[i].body ? rows[i].body : "");
        json_decref(echoed);
        http_client_answer_deinit(&answer);
    }
    http_client_close(client);
}

TEST(asks_again)
{
    struct http_client *client = client_of(10000, BOUND_S * 1000);
    struct http_client_answer answer;
    struct err err;
    int64_t begun_ns = clock_now_ns();
    world.busy = 2;
    assert_int_equal(get(client, "/busy", 4096, &answer, &err), 0);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.asked, 3);
    assert_true(clock_ms_since(begun_ns) >= 2000); /* Retry-After: 1, twice */
    http_client_answer_deinit(&answer);
    http_client_close(client);
    /* With the retry budget spent, the refusal is the answer. */
    client = client_of(10000, 0);
    world.busy = 2;
    assert_int_equal(get(client, "/busy", 4096, &answer, &err), 0);
    assert_int_equal(answer.asked, 1);
    assert_int_equal(http_client_refusal(client, &answer, &err), ERR_IO);
    assert_non_null(strstr(err.text, "the queue is full (503)"));
    http_client_answer_deinit(&answer);
    http_client_close(client);
    world.busy = 0;
}

TEST(bounds)
{
    struct http_client *client = client_of(300, 0);
    struct http_client_answer answer;
    assert_int_equal(get(client, "/big", BIG_BYTES, &answer, NULL), 0);
    assert_int_equal(answer.bytes, BIG_BYTES);
    http_client_answer_deinit(&answer);
    assert_int_equal(get(client, "/big", BIG_BYTES - 1, &answer, NULL), ERR_LIMIT);
    http_client_answer_deinit(&answer);
    assert_int_equal(get(client, "/silent", 4096, &answer, NULL), ERR_TIMEOUT);
    http_client_answer_deinit(&answer);
    /* Its connection is spent, its client is not. */
    assert_int_equal(get(client, "/echo/x", 4096, &answer, NULL), 0);
    http_client_answer_deinit(&answer);
    http_client_close(client);
}

TEST(refusals)
{
    static const struct {
        const char *target;
        int status, code;
        const char *says;
    } rows[] = {
        {"/away", 302, ERR_PROTOCOL, "another address"},
        {"/nowhere", 404, ERR_MISSING, "(404)"},
        {"/echo/%FF", 400, ERR_INPUT, "(400)"},
    };
    struct http_client *client = client_of(10000, 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct http_client_answer answer;
        struct err err;
        assert_int_equal(get(client, rows[i].target, 4096, &answer, &err), 0);
        assert_int_equal(answer.status, rows[i].status);
        assert_int_equal(http_client_refusal(client, &answer, &err), rows[i].code);
        if (!strstr(err.text, rows[i].says) || !strstr(err.text, http_client_url(client)))
            fail_msg("row %zu: %s", i, err.text);
        http_client_answer_deinit(&answer);
    }
    http_client_close(client);
}

/* Says its answer to so many connections, one after the other, and closes each. */
struct raw {
    int listener, times;
    const char *answer;
    char url[64];
    pthread_t thread;
};

static void *serve_raw(void *argument)
{
    struct raw *raw = argument;
    for (int i = 0; i < raw->times; i++) {
        char request[4096];
        int peer = accept(raw->listener, NULL, NULL);
        if (peer < 0)
            break;
        if (recv(peer, request, sizeof request, 0) > 0)
            (void)!send(peer, raw->answer, strlen(raw->answer), MSG_NOSIGNAL);
        close(peer);
    }
    return NULL;
}

static void start_raw(struct raw *raw, const char *answer, int times)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *raw = (struct raw){.answer = answer, .times = times};
    raw->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(raw->listener >= 0);
    assert_int_equal(bind(raw->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(raw->listener, 8), 0);
    assert_int_equal(getsockname(raw->listener, (struct sockaddr *)&address, &size), 0);
    snprintf(raw->url, sizeof raw->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&raw->thread, NULL, serve_raw, raw), 0);
}

static void stop_raw(struct raw *raw)
{
    shutdown(raw->listener, SHUT_RDWR);
    pthread_join(raw->thread, NULL);
    close(raw->listener);
}

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

TEST(sockets)
{
    static const struct {
        const char *answer;
        int result;
    } rows[] = {
        {OK, 0},
        {"HTTP/1.0 200 OK\r\n\r\n{}", 0},
        {"", ERR_IO},
        {"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", ERR_IO},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", ERR_IO},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}", ERR_IO},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n{}", ERR_IO},
        {"SSH-2.0-OpenSSH_9.2\r\n", ERR_IO},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct raw raw;
        struct http_client_answer answer;
        struct err err = {0};
        start_raw(&raw, rows[i].answer, 1);
        struct http_client *client = open_client(raw.url, 10000, 0, NULL);
        int result = get(client, "/", 4096, &answer, &err);
        if (result != rows[i].result)
            fail_msg("row %zu: %d %s", i, result, err.text);
        http_client_answer_deinit(&answer);
        http_client_close(client);
        stop_raw(&raw);
    }
}

TEST(no_server)
{
    struct http_client *client = open_client("http://127.0.0.1:1", 1000, 10, NULL);
    struct http_client_answer answer;
    assert_int_equal(get(client, "/", 4096, &answer, NULL), ERR_IO);
    assert_true(answer.asked > 1);
    http_client_answer_deinit(&answer);
    http_client_close(client);
}

/* While it waits for an answer, and while it waits to ask again. */
TEST(cancel)
{
    static const char *const targets[] = {"/p/silent", "/p/busy"};
    world.busy = 1000;
    for (size_t i = 0; i < 2; i++) {
        _Atomic int cancelled = 0;
        struct http_client_answer answer;
        int64_t begun_ns = clock_now_ns();
        if (world.waiter)
            http_drop(world.waiter);
        world.waiter = NULL;
        struct http_client *client = open_client(http_address(world.server.http), BOUND_S * 2000,
                                                 BOUND_S * 2000, &cancelled);
        pthread_t thread = support_set_after(&cancelled, 50);
        assert_int_equal(get(client, targets[i], 4096, &answer, NULL), ERR_CANCELLED);
        pthread_join(thread, NULL);
        assert_true(clock_ms_since(begun_ns) < BOUND_S * 1000);
        http_client_answer_deinit(&answer);
        http_client_close(client);
    }
    world.busy = 0;
}

TEST(addresses)
{
    static const struct {
        const char *url, *token;
        int result;
    } rows[] = {
        {"http://host", "", 0},
        {"https://[::1]:10907/prefix/", "", 0},
        {"ftp://host", "", ERR_INPUT},
        {"host:10907", "", ERR_INPUT},
        {"", "", ERR_INPUT},
        {"http://", "", ERR_INPUT},
        {"http://user:secret@host", "", ERR_INPUT},
        {"http://host/?a=b", "", ERR_INPUT},
        {"http://host/#a", "", ERR_INPUT},
        {"http://host:99999", "", ERR_INPUT},
        {"http://host", "two\r\nlines: x", ERR_INPUT},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct http_client_options options = {.url = rows[i].url, .token = rows[i].token};
        struct http_client *client;
        struct err err = {0};
        int result = http_client_open(&client, &options, &err);
        if (result != rows[i].result)
            fail_msg("row %zu: %d %s", i, result, err.text);
        assert_null(strstr(err.text, "secret"));
        http_client_close(client);
    }
}

TEST(escape)
{
    static const struct {
        const char *text, *escaped;
    } rows[] = {
        {"abc-1_2.3~", "abc-1_2.3~"},
        {"a/b c", "a%2Fb%20c"},
        {"..", "%2E%2E"},
        {"\xc3\xbc%", "%C3%BC%25"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *escaped = http_client_escape(rows[i].text);
        assert_string_equal(escaped, rows[i].escaped);
        mem_free(escaped);
    }
}
