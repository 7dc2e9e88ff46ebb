#include "client/http_client.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plain.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STEP_MS 100         /* between two looks at `cancelled` */
#define BACKOFF_MS 200      /* the first pause */
#define BACKOFF_MAX_MS 5000 /* the longest of our own */
#define RETRY_AFTER_MAX_S 3600
#define KEPT_CONNECTIONS 2L

struct http_client {
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    struct http_client_options options; /* its strings are below */
    char *url, *token, *ca_file;
    bool known; /* the server has answered before */
    char why[CURL_ERROR_SIZE];
    struct buf body; /* of the answer that is coming in */
    size_t max_bytes;
    bool too_large;
};

/* -------------------------------------------------------------------------------------- opening */

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

static bool is_loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "[::1]") == 0;
}

/* Whether the URL is one of ours; a proxy of the environment is not for this machine. */
static int check_url(struct http_client *client, struct err *err)
{
    CURLU *parts = curl_url();
    char *scheme = NULL, *host = NULL, *none = NULL;
    int result = 0;
    if (strlen(client->url) > LIMIT_CLIENT_URL_BYTES ||
        curl_url_set(parts, CURLUPART_URL, client->url, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        result = err_set(err, ERR_INPUT,
                         "'%.200s' is no address of a server: give http://HOST:PORT or "
                         "https://HOST:PORT",
                         client->url);
    else if (curl_url_get(parts, CURLUPART_QUERY, &none, 0) == CURLUE_OK ||
             curl_url_get(parts, CURLUPART_FRAGMENT, &none, 0) == CURLUE_OK)
        result = err_set(err, ERR_INPUT, "'%.200s' has a query; give the server's address alone",
                         client->url);
    else if (curl_url_get(parts, CURLUPART_USER, &none, 0) == CURLUE_OK)
        result = err_set(err, ERR_INPUT,
                         "the server's address holds a user; give its token in client.token");
    else if (is_loopback(host))
        curl_easy_setopt(client->easy, CURLOPT_PROXY, "");
    curl_free(none);
    curl_free(host);
    curl_free(scheme);
    curl_url_cleanup(parts);
    return result;
}

static int make_headers(struct http_client *client, struct err *err)
{
    if (strpbrk(client->token, "\r\n"))
        return err_set(err, ERR_INPUT, "the token has more than one line");
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Accept: application/json");
    headers = curl_slist_append(headers, "Expect:"); /* no round trip before a body */
    if (client->token[0]) {
        char *line = mem_printf("Authorization: Bearer %s", client->token);
        headers = curl_slist_append(headers, line);
        mem_free(line);
    }
    client->headers = headers;
    return 0;
}

/* What is the same for each call. */
static void prepare(struct http_client *client)
{
    CURL *easy = client->easy;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "warpgym/" WARPGYM_VERSION);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, client->headers);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)client->options.connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->why);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, client);
    if (client->ca_file[0])
        curl_easy_setopt(easy, CURLOPT_CAINFO, client->ca_file);
}

int http_client_open(struct http_client **out, const struct http_client_options *options,
                     struct err *err)
{
    *out = NULL;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) !=
        CURLE_OK) /* counts, and may be called by any thread */
        return err_set(err, ERR_INTERNAL, "cannot start libcurl");
    struct http_client *client = mem_alloc(sizeof *client);
    client->options = *options;
    client->url = mem_strdup(options->url);
    client->token = mem_strdup(options->token ? options->token : "");
    client->ca_file = mem_strdup(options->ca_file ? options->ca_file : "");
    for (size_t length = strlen(client->url); length > 0 && client->url[length - 1] == '/';)
        client->url[--length] = '\0';
    client->multi = curl_multi_init();
    client->easy = curl_easy_init();
    buf_init(&client->body, LIMIT_CLIENT_ANSWER_BYTES);
    int result = client->multi && client->easy
                     ? 0
                     : err_set(err, ERR_INTERNAL, "cannot make a handle of libcurl");
    if (result == 0)
        result = check_url(client, err);
    if (result == 0)
        result = make_headers(client, err);
    if (result < 0) {
        http_client_close(client);
        return result;
    }
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    prepare(client);
    *out = client;
    return 0;
}

void http_client_close(struct http_client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->easy);
    if (client->multi)
        curl_multi_cleanup(client->multi);
    curl_slist_free_all(client->headers);
    buf_deinit(&client->body);
    mem_free(client->url);
    mem_free(client->token);
    mem_free(client->ca_file);
    mem_free(client);
    curl_global_cleanup();
}

void http_client_watch(struct http_client *client, const _Atomic int *cancelled)
{
    client->options.cancelled = cancelled;
}

const char *http_client_url(const struct http_client *client)
{
    return client->url;
}

/* ------------------------------------------------------------------------------------- one call */

static bool cancelled(const struct http_client *client)
{
    return client->options.cancelled && *client->options.cancelled;
}

static void describe(struct http_client *client, const struct http_client_call *call)
{
    CURL *easy = client->easy;
    char *url = mem_printf("%s%s", client->url, call->target);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    mem_free(url);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    if (call->body || strcmp(call->method, "POST") == 0) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_bytes);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body ? call->body : "");
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(client->options.timeout_ms + call->wait_ms));
    client->max_bytes = call->max_bytes < LIMIT_CLIENT_ANSWER_BYTES ? call->max_bytes
                                                                    : LIMIT_CLIENT_ANSWER_BYTES;
}

/* One try, to its end or to the moment at which somebody cancels. */
static CURLcode transfer(struct http_client *client)
{
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    int running = 1;
    buf_reset(&client->body);
    client->too_large = false;
    client->why[0] = '\0';
    if (curl_multi_add_handle(client->multi, client->easy) != CURLM_OK)
        return CURLE_FAILED_INIT;
    while (running && !cancelled(client)) {
        if (curl_multi_perform(client->multi, &running) != CURLM_OK)
            break;
        if (running)
            curl_multi_poll(client->multi, NULL, 0, STEP_MS, NULL);
    }
    int left;
    const CURLMsg *message = curl_multi_info_read(client->multi, &left);
    if (message && message->msg == CURLMSG_DONE)
        code = message->data.result;
    curl_multi_remove_handle(client->multi, client->easy);
    return code;
}

/* What a second try may mend. */
static bool is_passing(const struct http_client *client, CURLcode code, int status)
{
    switch (code) {
    case CURLE_OK:
        return status == 429 || status == 502 || status == 503 || status == 504;
    case CURLE_WRITE_ERROR:
        return !client->too_large;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
        return true;
    default:
        return false;
    }
}

static bool is_unreached(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT;
}

/* Half of it at least, all of it at most: clients that lost the same server come back apart. */
static int64_t pause_ms(const struct http_client *client, unsigned tries)
{
    int64_t longest = client->options.backoff_ms > 0 ? client->options.backoff_ms : BACKOFF_MS;
    curl_off_t asked_s = 0;
    for (unsigned i = 1; i < tries && longest < BACKOFF_MAX_MS; i++)
        longest *= 2;
    if (longest > BACKOFF_MAX_MS)
        longest = BACKOFF_MAX_MS;
    curl_easy_getinfo(client->easy, CURLINFO_RETRY_AFTER, &asked_s);
    if (asked_s > RETRY_AFTER_MAX_S)
        asked_s = RETRY_AFTER_MAX_S;
    int64_t own = longest / 2 + (int64_t)(clock_secret() % (uint64_t)(longest / 2 + 1));
    return own > asked_s * 1000 ? own : asked_s * 1000;
}

static int failure(const struct http_client *client, CURLcode code, struct err *err)
{
    const char *why = client->why[0] ? client->why : curl_easy_strerror(code);
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_URL_MALFORMAT:
        return err_set(err, ERR_INPUT, "%.200s: %s", client->url, why);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, ERR_TIMEOUT, "%.200s: %s", client->url, why);
    case CURLE_WRITE_ERROR:
        return err_set(err, ERR_LIMIT, "%.200s: its answer has more than %zu bytes", client->url,
                       client->max_bytes);
    default:
        return err_set(err, ERR_IO, "%.200s: %s", client->url, why);
    }
}

int http_client_send(struct http_client *client, const struct http_client_call *call,
                     struct http_client_answer *answer, struct err *err)
{
    int64_t failing_ns = 0, pause;
    CURLcode code;
    long status = 0;
    *answer = (struct http_client_answer){0};
    describe(client, call);
    for (;;) {
        code = transfer(client);
        if (cancelled(client))
            return err_set(err, ERR_CANCELLED, "cancelled");
        answer->asked++;
        status = 0;
        if (code == CURLE_OK)
            curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
        client->known |= code == CURLE_OK;
        if (!is_passing(client, code, (int)status))
            break;
        failing_ns = failing_ns ? failing_ns : clock_now_ns();
        int64_t patience_ms = client->options.patience_ms;
        if (!client->known && is_unreached(code) && patience_ms > HTTP_CLIENT_FIRST_MS)
            patience_ms = HTTP_CLIENT_FIRST_MS;
        pause = pause_ms(client, answer->asked);
        if (clock_ms_since(failing_ns) + (double)pause > (double)patience_ms)
            break;
        log_event(LOG_LEVEL_INFO, "client", "asks again", "server", client->url, "why",
                  code == CURLE_OK ? "it is busy" : curl_easy_strerror(code), NULL);
        http_client_rest(client, pause);
    }
    if (code != CURLE_OK)
        return failure(client, code, err);
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

void http_client_rest(struct http_client *client, int64_t ms)
{
    int64_t deadline_ns = clock_now_ns() + ms * 1000000;
    int left;
    while ((left = clock_left_ms(deadline_ns)) > 0 && !cancelled(client))
        curl_multi_poll(client->multi, NULL, 0, left < STEP_MS ? left : STEP_MS, NULL);
}

/* ------------------------------------------------------------------------------------- refusals */

/* {"error": {"message": …}}, {"detail": …}; a text of another server is cut short. */
static void say(const struct http_client_answer *answer, char *text, size_t text_bytes)
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
    plain_text(text, false);
    json_decref(object);
}

int http_client_refusal(const struct http_client *client, const struct http_client_answer *answer,
                        struct err *err)
{
    int status = answer->status, code = ERR_PROTOCOL;
    char text[512];
    say(answer, text, sizeof text);
    if (!text[0] && status >= 300 && status < 400)
        snprintf(text, sizeof text, "it sends on to another address; give that one");
    if (!text[0] && (status == 401 || status == 403))
        snprintf(text, sizeof text, "it wants another token; set client.token");
    if (status == 401 || status == 403 || status == 404)
        code = ERR_MISSING;
    else if (status == 501)
        code = ERR_UNSUPPORTED;
    else if (status == 429 || status >= 500)
        code = ERR_IO;
    else if (status >= 400 && status != 405)
        code = ERR_INPUT;
    return err_set(err, code, "%.200s: %s%s(%d)", client->url, text, text[0] ? " " : "answers ",
                   status);
}

char *http_client_escape(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t bytes = strlen(text);
    char *out = mem_alloc(3 * bytes + 1), *at = out;
    /* A segment "." or ".." would be taken for a way up. */
    bool dots = strcmp(text, ".") == 0 || strcmp(text, "..") == 0;
    for (size_t i = 0; i < bytes; i++) {
        if (strchr(plain, text[i]) && !dots)
            *at++ = text[i];
        else
            at += snprintf(at, 4, "%%%02X", (unsigned char)text[i]);
    }
    return out;
}
