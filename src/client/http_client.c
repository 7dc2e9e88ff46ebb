#include "client/http_client.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "client/http_flow.h"

#include <stdio.h>
#include <string.h>

#define BACKOFF_MS 200      /* the first pause */
#define BACKOFF_MAX_MS 5000 /* longest pause without Retry-After */
#define RETRY_AFTER_MAX_MS 3600000

struct http_client {
    struct http_flow *flow;
    int64_t timeout_ms, retry_budget_ms, backoff_ms;
    bool known; /* the server has answered before */
};

int http_client_open(struct http_client **out, const struct http_client_options *options,
                     struct err *err)
{
    const struct http_flow_options wanted = {
        .url = options->url,
        .token = options->token,
        .token_setting = "client.token",
        .ca_file = options->ca_file,
        .accept = "application/json",
        .connect_timeout_ms = options->connect_timeout_ms,
        .cancelled = options->cancelled,
    };
    struct http_flow *flow;
    int result = http_flow_open(&flow, &wanted, err);
    *out = NULL;
    if (result < 0)
        return result;
    *out = mem_alloc(sizeof **out);
    **out = (struct http_client){.flow = flow,
                                 .timeout_ms = options->timeout_ms,
                                 .retry_budget_ms = options->retry_budget_ms,
                                 .backoff_ms = options->backoff_ms};
    return 0;
}

void http_client_close(struct http_client *client)
{
    if (!client)
        return;
    http_flow_close(client->flow);
    mem_free(client);
}

void http_client_set_cancel(struct http_client *client, const _Atomic int *cancelled)
{
    http_flow_set_cancel(client->flow, cancelled);
}

const char *http_client_url(const struct http_client *client)
{
    return http_flow_url(client->flow);
}

void http_client_sleep(struct http_client *client, int64_t ms)
{
    http_flow_sleep(client->flow, ms);
}

/* A failure that a retry may cure. */
static bool is_passing(int result, const struct http_flow_answer *answer)
{
    int status = answer->status;
    if (result < 0)
        return answer->passing;
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Between half and all of it: jitter, so that clients of one lost server do not return together. */
static int64_t pause_ms(const struct http_client *client, unsigned tries, int64_t retry_after_ms)
{
    int64_t longest = client->backoff_ms > 0 ? client->backoff_ms : BACKOFF_MS;
    for (unsigned i = 1; i < tries && longest < BACKOFF_MAX_MS; i++)
        longest *= 2;
    if (longest > BACKOFF_MAX_MS)
        longest = BACKOFF_MAX_MS;
    if (retry_after_ms > RETRY_AFTER_MAX_MS)
        retry_after_ms = RETRY_AFTER_MAX_MS;
    int64_t own = longest / 2 + (int64_t)(clock_secret() % (uint64_t)(longest / 2 + 1));
    return own > retry_after_ms ? own : retry_after_ms;
}

/* The time that retries may take, for this failure. */
static int64_t budget_ms(const struct http_client *client, const struct http_flow_answer *answer)
{
    bool refused = answer->unreached && answer->late != LATE_CONNECT;
    if (!client->known && refused && client->retry_budget_ms > HTTP_CLIENT_FIRST_MS)
        return HTTP_CLIENT_FIRST_MS;
    return client->retry_budget_ms;
}

int http_client_send(struct http_client *client, const struct http_client_call *call,
                     struct http_client_answer *answer, struct err *err)
{
    const struct http_flow_call attempt = {.method = call->method,
                                           .target = call->target,
                                           .body = call->body,
                                           .body_bytes = call->body_bytes,
                                           .whole_ms = client->timeout_ms + call->wait_ms,
                                           .max_bytes = call->max_bytes};
    struct http_flow_answer got;
    struct err why = {0};
    int64_t failing_ns = 0;
    int result;
    *answer = (struct http_client_answer){0};
    for (;;) {
        result = http_flow_send(client->flow, &attempt, &got, &why);
        answer->asked++;
        client->known |= result == 0;
        if (!is_passing(result, &got))
            break;
        failing_ns = failing_ns ? failing_ns : clock_now_ns();
        int64_t pause = pause_ms(client, answer->asked, got.retry_after_ms);
        if (clock_ms_since(failing_ns) + (double)pause > (double)budget_ms(client, &got))
            break;
        log_event(LOG_LEVEL_INFO, "client", "retrying", "server", http_client_url(client), "why",
                  result == 0 ? "the server is busy" : why.text, NULL);
        http_flow_answer_deinit(&got);
        http_client_sleep(client, pause);
    }
    if (result < 0) {
        http_flow_answer_deinit(&got);
        if (err)
            *err = why;
        return result;
    }
    answer->status = got.status;
    answer->bytes = got.bytes;
    answer->body = got.body;
    got.body = NULL;
    http_flow_answer_deinit(&got);
    return 0;
}

void http_client_answer_deinit(struct http_client_answer *answer)
{
    mem_free(answer->body);
    *answer = (struct http_client_answer){0};
}

/* {"error": {"message": …}}, {"detail": …}; any other text is cut short. */
static void read_message(const struct http_client_answer *answer, char *text, size_t text_bytes)
{
    struct err ignored;
    json_t *object = NULL, *inner = NULL;
    const char *message = NULL;
    size_t bytes = answer->bytes < LIMIT_CLIENT_ERROR_BYTES ? answer->bytes : 0;
    if (json_parse("answer", answer->body, bytes, &object, &ignored) == 0) {
        inner = json_object_get(object, "error");
        message = json_string_value(json_object_get(inner, "message"));
        if (!message)
            message = json_string_value(json_object_get(object, "detail"));
    }
    snprintf(text, text_bytes, "%.400s", message ? message : "");
    printable_text(text, false);
    json_decref(object);
}

int http_client_refusal(const struct http_client *client, const struct http_client_answer *answer,
                        struct err *err)
{
    int status = answer->status, code = ERR_PROTOCOL;
    char text[512];
    read_message(answer, text, sizeof text);
    if (!text[0] && status >= 300 && status < 400)
        snprintf(text, sizeof text, "redirects to another address; give that one");
    if (!text[0] && (status == 401 || status == 403))
        snprintf(text, sizeof text, "rejects the token; set client.token");
    if (status == 401 || status == 403 || status == 404)
        code = ERR_MISSING;
    else if (status == 501)
        code = ERR_UNSUPPORTED;
    else if (status == 429 || status >= 500)
        code = ERR_IO;
    else if (status >= 400 && status != 405)
        code = ERR_INPUT;
    return err_set(err, code, "%.200s: %s%s(%d)", http_client_url(client), text,
                   text[0] ? " " : "status ", status);
}

char *http_client_escape(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t bytes = strlen(text);
    char *out = mem_alloc(3 * bytes + 1), *at = out;
    /* A segment "." or ".." would be resolved as a relative path. */
    bool dots = strcmp(text, ".") == 0 || strcmp(text, "..") == 0;
    for (size_t i = 0; i < bytes; i++) {
        if (strchr(plain, text[i]) && !dots)
            *at++ = text[i];
        else
            at += snprintf(at, 4, "%%%02X", (unsigned char)text[i]);
    }
    return out;
}
