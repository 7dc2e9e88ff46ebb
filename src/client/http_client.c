#include "client/http_client.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "client/http_handle.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BACKOFF_MS 200      /* the first pause */
#define BACKOFF_MAX_MS 5000 /* longest pause without Retry-After */
#define RETRY_AFTER_MAX_S 3600

struct http_client {
    struct http_handle handle;
    int64_t timeout_ms, retry_budget_ms, backoff_ms;
    bool known;      /* the server has answered before */
    struct buf body; /* of the answer being received */
    size_t max_bytes;
    bool too_large;
};

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct http_client *client = context;
    if (client->body.len + size * count > client->max_bytes) {
        client->too_large = true;
        return 0;
    }
    buf_append(&client->body, bytes, size * count);
    return size * count;
}

int http_client_check_url(const char *url, const char *token_setting, struct err *err)
{
    bool loopback;
    return http_handle_check_url(url, token_setting, &loopback, err);
}

int http_client_open(struct http_client **out, const struct http_client_options *options,
                     struct err *err)
{
    struct http_client *client = mem_alloc(sizeof *client);
    const struct http_handle_options wanted = {
        .url = options->url,
        .token = options->token,
        .token_setting = "client.token",
        .ca_file = options->ca_file,
        .accept = "application/json",
        .connect_timeout_ms = options->connect_timeout_ms,
        .cancelled = options->cancelled,
    };
    int result = http_handle_init(&client->handle, &wanted, err);
    *out = NULL;
    if (result < 0) {
        mem_free(client);
        return result;
    }
    client->timeout_ms = options->timeout_ms;
    client->retry_budget_ms = options->retry_budget_ms;
    client->backoff_ms = options->backoff_ms;
    buf_init(&client->body, LIMIT_CLIENT_ANSWER_BYTES);
    curl_easy_setopt(client->handle.easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(client->handle.easy, CURLOPT_WRITEDATA, client);
    *out = client;
    return 0;
}

void http_client_close(struct http_client *client)
{
    if (!client)
        return;
    http_handle_deinit(&client->handle);
    buf_deinit(&client->body);
    mem_free(client);
}

void http_client_set_cancel(struct http_client *client, const _Atomic int *cancelled)
{
    client->handle.cancelled = cancelled;
}

const char *http_client_url(const struct http_client *client)
{
    return client->handle.url;
}

static void client_set_request(struct http_client *client, const struct http_client_call *call)
{
    http_handle_set_request(&client->handle, call->method, call->target, call->body,
                            call->body_bytes);
    curl_easy_setopt(client->handle.easy, CURLOPT_TIMEOUT_MS,
                     (long)(client->timeout_ms + call->wait_ms));
    client->max_bytes = call->max_bytes < LIMIT_CLIENT_ANSWER_BYTES ? call->max_bytes
                                                                    : LIMIT_CLIENT_ANSWER_BYTES;
}

/* One try, until it ends or is cancelled. */
static CURLcode client_transfer(struct http_client *client)
{
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    int running = 1;
    buf_reset(&client->body);
    client->too_large = false;
    client->handle.why[0] = '\0';
    if (curl_multi_add_handle(client->handle.multi, client->handle.easy) != CURLM_OK)
        return CURLE_FAILED_INIT;
    while (running && !http_handle_cancelled(&client->handle)) {
        if (curl_multi_perform(client->handle.multi, &running) != CURLM_OK)
            break;
        if (running)
            curl_multi_poll(client->handle.multi, NULL, 0, HTTP_HANDLE_STEP_MS, NULL);
    }
    int left;
    const CURLMsg *message = curl_multi_info_read(client->handle.multi, &left);
    if (message && message->msg == CURLMSG_DONE)
        code = message->data.result;
    curl_multi_remove_handle(client->handle.multi, client->handle.easy);
    return code;
}

/* A failure that a retry may cure. */
static bool is_passing(const struct http_client *client, CURLcode code, int status)
{
    if (code == CURLE_OK)
        return status == 429 || status == 502 || status == 503 || status == 504;
    return http_handle_is_passing(code) && !client->too_large;
}

/* Between half and all of it: jitter, so that clients of one lost server do not return together. */
static int64_t pause_ms(const struct http_client *client, unsigned tries)
{
    int64_t longest = client->backoff_ms > 0 ? client->backoff_ms : BACKOFF_MS;
    curl_off_t asked_s = 0;
    for (unsigned i = 1; i < tries && longest < BACKOFF_MAX_MS; i++)
        longest *= 2;
    if (longest > BACKOFF_MAX_MS)
        longest = BACKOFF_MAX_MS;
    curl_easy_getinfo(client->handle.easy, CURLINFO_RETRY_AFTER, &asked_s);
    if (asked_s > RETRY_AFTER_MAX_S)
        asked_s = RETRY_AFTER_MAX_S;
    int64_t own = longest / 2 + (int64_t)(clock_secret() % (uint64_t)(longest / 2 + 1));
    return own > asked_s * 1000 ? own : asked_s * 1000;
}

static int transfer_error(const struct http_client *client, CURLcode code, struct err *err)
{
    if (code == CURLE_WRITE_ERROR)
        return err_set(err, ERR_LIMIT, "%.200s: the answer has more than %zu bytes",
                       client->handle.url, client->max_bytes);
    return http_handle_failure(&client->handle, code, err);
}

int http_client_send(struct http_client *client, const struct http_client_call *call,
                     struct http_client_answer *answer, struct err *err)
{
    int64_t failing_ns = 0, pause;
    CURLcode code;
    long status = 0;
    *answer = (struct http_client_answer){0};
    client_set_request(client, call);
    for (;;) {
        code = client_transfer(client);
        if (http_handle_cancelled(&client->handle))
            return err_set(err, ERR_CANCELLED, "cancelled");
        answer->asked++;
        status = 0;
        if (code == CURLE_OK)
            curl_easy_getinfo(client->handle.easy, CURLINFO_RESPONSE_CODE, &status);
        client->known |= code == CURLE_OK;
        if (!is_passing(client, code, (int)status))
            break;
        failing_ns = failing_ns ? failing_ns : clock_now_ns();
        int64_t retry_budget_ms = client->retry_budget_ms;
        if (!client->known && http_handle_is_unreached(code) &&
            retry_budget_ms > HTTP_CLIENT_FIRST_MS)
            retry_budget_ms = HTTP_CLIENT_FIRST_MS;
        pause = pause_ms(client, answer->asked);
        if (clock_ms_since(failing_ns) + (double)pause > (double)retry_budget_ms)
            break;
        log_event(LOG_LEVEL_INFO, "client", "retrying", "server", client->handle.url, "why",
                  code == CURLE_OK ? "the server is busy" : curl_easy_strerror(code), NULL);
        http_client_sleep(client, pause);
    }
    if (code != CURLE_OK)
        return transfer_error(client, code, err);
    answer->status = (int)status;
    answer->bytes = client->body.len;
    answer->body = buf_take(&client->body);
    buf_init(&client->body, LIMIT_CLIENT_ANSWER_BYTES);
    return 0;
}

void http_client_answer_deinit(struct http_client_answer *answer)
{
    mem_free(answer->body);
    *answer = (struct http_client_answer){0};
}

void http_client_sleep(struct http_client *client, int64_t ms)
{
    int64_t deadline_ns = clock_now_ns() + ms * 1000000;
    int left;
    while ((left = clock_left_ms(deadline_ns)) > 0 && !http_handle_cancelled(&client->handle))
        curl_multi_poll(client->handle.multi, NULL, 0,
                        left < HTTP_HANDLE_STEP_MS ? left : HTTP_HANDLE_STEP_MS, NULL);
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
    return err_set(err, code, "%.200s: %s%s(%d)", client->handle.url, text,
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
