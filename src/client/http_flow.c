#include "client/http_flow.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#define RETRY_AFTER_MAX_S 86400
#define KEPT_CONNECTIONS 2L
#define STEP_MS 50    /* interval at which `cancelled` is checked */
#define LINGER_MS 250 /* for the end of a response whose answer is complete */

struct http_flow {
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *replaced; /* of the call in progress; NULL: `headers` */
    char *url;                   /* without a '/' at its end */
    char *ca_file;
    const _Atomic int *cancelled;
    char why[CURL_ERROR_SIZE];         /* of the last failed transfer */
    const struct http_flow_call *call; /* the call in progress */
    struct buf body;
    size_t bytes, most_bytes; /* received, and allowed */
    unsigned sendings;
    int64_t progress_ns; /* of the last progress, or of the call's begin */
    bool streamed;       /* its bytes go to on_bytes */
    bool begun, done;    /* as on_bytes returned */
    int failed;          /* the code with which a callback ended the call */
    struct err err;
};

static bool is_loopback(const char *host)
{
    bool numbers = host[strspn(host, "0123456789.")] == '\0';
    return strcasecmp(host, "localhost") == 0 || (numbers && strncmp(host, "127.", 4) == 0) ||
           strcmp(host, "[::1]") == 0;
}

/* *loopback: it is an address of this machine. */
static int check_url(const char *url, const char *token_setting, bool *loopback, struct err *err)
{
    CURLU *parts = curl_url();
    char *scheme = NULL, *host = NULL, *none = NULL;
    int result = 0;
    if (strlen(url) > LIMIT_CLIENT_URL_BYTES ||
        curl_url_set(parts, CURLUPART_URL, url, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        result = err_set(
            err, ERR_INPUT,
            "'%.200s' is not a server's address: give http://HOST:PORT or https://HOST:PORT", url);
    else if (curl_url_get(parts, CURLUPART_QUERY, &none, 0) == CURLUE_OK ||
             curl_url_get(parts, CURLUPART_FRAGMENT, &none, 0) == CURLUE_OK)
        result = err_set(err, ERR_INPUT, "'%.200s' has a query; give the server's address alone",
                         url);
    else if (curl_url_get(parts, CURLUPART_USER, &none, 0) == CURLUE_OK)
        result = err_set(err, ERR_INPUT, "the server's address has a user; give its token in %s",
                         token_setting);
    else
        *loopback = is_loopback(host);
    curl_free(none);
    curl_free(host);
    curl_free(scheme);
    curl_url_cleanup(parts);
    return result;
}

int http_flow_check_url(const char *url, const char *token_setting, struct err *err)
{
    bool loopback;
    return check_url(url, token_setting, &loopback, err);
}

static void add_line(struct curl_slist **to, const char *name, const char *value)
{
    char *line = mem_printf("%s: %s", name, value);
    *to = curl_slist_append(*to, line);
    mem_free(line);
}

static void add_header(struct http_flow *flow, const char *name, const char *value)
{
    add_line(&flow->headers, name, value);
}

static bool is_replaced(const struct http_flow_call *call, const char *line)
{
    for (size_t i = 0; i < HTTP_FLOW_HEADERS && call->headers[i].value; i++) {
        const size_t count = strlen(call->headers[i].name);
        if (strncasecmp(line, call->headers[i].name, count) == 0 && line[count] == ':')
            return true;
    }
    return false;
}

/* The flow's headers with the call's in their place. */
static void flow_set_headers(struct http_flow *flow, const struct http_flow_call *call)
{
    curl_slist_free_all(flow->replaced);
    flow->replaced = NULL;
    if (call->headers[0].value) {
        for (const struct curl_slist *line = flow->headers; line; line = line->next)
            if (!is_replaced(call, line->data))
                flow->replaced = curl_slist_append(flow->replaced, line->data);
        for (size_t i = 0; i < HTTP_FLOW_HEADERS && call->headers[i].value; i++)
            add_line(&flow->replaced, call->headers[i].name, call->headers[i].value);
    }
    curl_easy_setopt(flow->easy, CURLOPT_HTTPHEADER,
                     flow->replaced ? flow->replaced : flow->headers);
}

static int make_headers(struct http_flow *flow, const struct http_flow_options *options,
                        struct err *err)
{
    const char *token = options->token ? options->token : "";
    if (strpbrk(token, "\r\n"))
        return err_set(err, ERR_INPUT, "the token has more than one line");
    add_header(flow, "Content-Type", "application/json");
    add_header(flow, "Accept",
               options->accept ? options->accept : "text/event-stream, application/json");
    flow->headers = curl_slist_append(flow->headers, "Expect:"); /* no round trip before a body */
    if (token[0] && options->token_header) {
        add_header(flow, options->token_header, token);
    } else if (token[0]) {
        char *bearer = mem_printf("Bearer %s", token);
        add_header(flow, "Authorization", bearer);
        mem_free(bearer);
    }
    return 0;
}

/* Refusals and JSON documents are collected. */
static bool is_streamed(const struct http_flow *flow)
{
    const char *type = NULL;
    long status = 0;
    curl_easy_getinfo(flow->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(flow->easy, CURLINFO_CONTENT_TYPE, &type);
    return flow->call->on_bytes && status >= 200 && status < 300 &&
           !(type && strncasecmp(type, "application/json", 16) == 0);
}

static int flow_pass_on(struct http_flow *flow, const char *bytes, size_t count)
{
    const struct http_flow_call *call = flow->call;
    int result = call->on_bytes(call->context, bytes, count, &flow->err);
    if (result > 0) {
        flow->begun = true;
        flow->done |= result == HTTP_FLOW_DONE;
        flow->progress_ns = clock_now_ns();
    }
    return result < 0 ? err_prefix(&flow->err, "%.200s", flow->url) : 0;
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct http_flow *flow = context;
    count *= size;
    if (flow->bytes == 0) {
        flow->streamed = is_streamed(flow);
        flow->most_bytes = flow->call->max_bytes;
        if (!flow->streamed && flow->most_bytes > LIMIT_CLIENT_ANSWER_BYTES)
            flow->most_bytes = LIMIT_CLIENT_ANSWER_BYTES;
    }
    flow->bytes += count;
    if (flow->bytes > flow->most_bytes)
        flow->failed = err_set(&flow->err, ERR_LIMIT, "%.200s: the answer has more than %zu bytes",
                               flow->url, flow->most_bytes);
    else if (flow->streamed)
        flow->failed = flow_pass_on(flow, bytes, count);
    else
        buf_append(&flow->body, bytes, count);
    return flow->failed ? 0 : count;
}

static int count_sending(void *context, char *address, char *own, int port, int own_port)
{
    struct http_flow *flow = context;
    (void)address, (void)own, (void)port, (void)own_port;
    flow->sendings++;
    return CURL_PREREQFUNC_OK;
}

/* Sets the options that every call has in common. */
static void flow_set_options(struct http_flow *flow, int64_t connect_timeout_ms)
{
    CURL *easy = flow->easy;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* do not wait for the resolver on close */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "warpgym/" WARPGYM_VERSION);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, flow->why);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, flow);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, count_sending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, flow);
    curl_multi_setopt(flow->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    if (flow->ca_file[0])
        curl_easy_setopt(easy, CURLOPT_CAINFO, flow->ca_file);
}

int http_flow_open(struct http_flow **out, const struct http_flow_options *options, struct err *err)
{
    struct http_flow *flow = mem_alloc(sizeof *flow);
    *out = NULL;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) { /* thread-safe, and counts its calls */
        mem_free(flow);
        return err_set(err, ERR_INTERNAL, "cannot start libcurl");
    }
    flow->cancelled = options->cancelled;
    flow->url = mem_strdup(options->url);
    flow->ca_file = mem_strdup(options->ca_file ? options->ca_file : "");
    for (size_t length = strlen(flow->url); length > 0 && flow->url[length - 1] == '/';)
        flow->url[--length] = '\0';
    buf_init(&flow->body, LIMIT_CLIENT_ANSWER_BYTES);
    flow->multi = curl_multi_init();
    flow->easy = curl_easy_init();
    bool loopback = false;
    int result = flow->multi && flow->easy
                     ? 0
                     : err_set(err, ERR_INTERNAL, "cannot create a handle of libcurl");
    if (result == 0)
        result = check_url(flow->url, options->token_setting, &loopback, err);
    if (result == 0 && loopback) /* a proxy of the environment does not apply to this machine */
        curl_easy_setopt(flow->easy, CURLOPT_PROXY, "");
    if (result == 0)
        result = make_headers(flow, options, err);
    if (result < 0) {
        http_flow_close(flow);
        return result;
    }
    flow_set_options(flow, options->connect_timeout_ms);
    *out = flow;
    return 0;
}

void http_flow_close(struct http_flow *flow)
{
    if (!flow)
        return;
    curl_easy_cleanup(flow->easy);
    if (flow->multi)
        curl_multi_cleanup(flow->multi);
    curl_slist_free_all(flow->headers);
    curl_slist_free_all(flow->replaced);
    buf_deinit(&flow->body);
    mem_free(flow->url);
    mem_free(flow->ca_file);
    mem_free(flow);
    curl_global_cleanup();
}

static bool is_cancelled(const struct http_flow *flow)
{
    return flow->cancelled && *flow->cancelled;
}

void http_flow_set_cancel(struct http_flow *flow, const _Atomic int *cancelled)
{
    flow->cancelled = cancelled;
}

const char *http_flow_url(const struct http_flow *flow)
{
    return flow->url;
}

void http_flow_sleep(struct http_flow *flow, int64_t ms)
{
    int64_t deadline_ns = clock_now_ns() + ms * 1000000;
    int left;
    while ((left = clock_left_ms(deadline_ns)) > 0 && !is_cancelled(flow))
        curl_multi_poll(flow->multi, NULL, 0, left < STEP_MS ? left : STEP_MS, NULL);
}

/* The bound that has passed, or LATE_NOT with the time left to the nearest one. */
static enum http_flow_late flow_next_bound(const struct http_flow *flow, int64_t begun_ns,
                                           int *left_ms)
{
    const struct http_flow_call *call = flow->call;
    const struct {
        enum http_flow_late late;
        int64_t from_ns, ms;
    } bounds[] = {
        {LATE_WHOLE, begun_ns, call->whole_ms},
        {flow->begun ? LATE_BETWEEN : LATE_FIRST, flow->progress_ns,
         flow->done    ? LINGER_MS
         : flow->begun ? call->between_ms
                       : call->first_ms},
    };
    *left_ms = STEP_MS;
    for (size_t i = 0; i < COUNT(bounds); i++) {
        if (bounds[i].ms == 0)
            continue;
        int left = clock_left_ms(bounds[i].from_ns + bounds[i].ms * 1000000);
        if (left == 0)
            return bounds[i].late;
        *left_ms = left < *left_ms ? left : *left_ms;
    }
    return LATE_NOT;
}

static int flow_late_error(const struct http_flow *flow, enum http_flow_late late, struct err *err)
{
    const struct http_flow_call *call = flow->call;
    const char *url = flow->url;
    if (late == LATE_WHOLE)
        return err_set(err, ERR_TIMEOUT, "%.200s: no whole answer in %.3g s", url,
                       (double)call->whole_ms * 1e-3);
    if (late == LATE_FIRST)
        return err_set(err, ERR_TIMEOUT, "%.200s: no part of an answer in %.3g s", url,
                       (double)call->first_ms * 1e-3);
    return err_set(err, ERR_TIMEOUT, "%.200s: the answer stalled for %.3g s", url,
                   (double)call->between_ms * 1e-3);
}

/* Runs until the transfer ends, is cancelled, or passes a bound. */
static CURLcode flow_transfer(struct http_flow *flow, enum http_flow_late *late)
{
    CURLM *multi = flow->multi;
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    int running = 1, left_ms, left;
    int64_t begun_ns = flow->progress_ns;
    *late = LATE_NOT;
    if (curl_multi_add_handle(multi, flow->easy) != CURLM_OK)
        return CURLE_FAILED_INIT;
    while (!is_cancelled(flow)) {
        if (curl_multi_perform(multi, &running) != CURLM_OK || !running)
            break;
        *late = flow_next_bound(flow, begun_ns, &left_ms);
        if (*late != LATE_NOT)
            break;
        curl_multi_poll(multi, NULL, 0, left_ms, NULL);
    }
    const CURLMsg *message = curl_multi_info_read(multi, &left);
    if (message && message->msg == CURLMSG_DONE)
        code = message->data.result;
    curl_multi_remove_handle(multi, flow->easy);
    return code;
}

static void read_head(const struct http_flow *flow, struct http_flow_answer *answer)
{
    long status = 0;
    curl_off_t after_s = 0;
    char *type = NULL, *location = NULL;
    curl_easy_getinfo(flow->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(flow->easy, CURLINFO_RETRY_AFTER, &after_s);
    curl_easy_getinfo(flow->easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(flow->easy, CURLINFO_REDIRECT_URL, &location);
    answer->type = mem_strdup(type ? type : "");
    answer->location = location ? mem_strdup(location) : NULL;
    if (after_s < 0 || after_s > RETRY_AFTER_MAX_S)
        after_s = after_s < 0 ? 0 : RETRY_AFTER_MAX_S;
    answer->status = (int)status;
    answer->retry_after_ms = (int64_t)after_s * 1000;
}

/* URL, method and body of the next transfer; borrows the body until it ends. */
static void flow_set_request(struct http_flow *flow, const char *method, const char *target,
                             const char *body, size_t body_bytes)
{
    CURL *easy = flow->easy;
    char *url = mem_printf("%s%s", flow->url, target);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    mem_free(url);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    if (body || strcmp(method, "POST") == 0) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_bytes);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body ? body : "");
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

/* Why a transfer failed for good. libcurl bounds the time to connect only. */
static int flow_failure(const struct http_flow *flow, CURLcode code, struct err *err)
{
    const char *why = flow->why[0] ? flow->why : curl_easy_strerror(code);
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_URL_MALFORMAT:
        return err_set(err, ERR_INPUT, "%.200s: %s", flow->url, why);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, ERR_IO, "%.200s: no connection in time", flow->url);
    default:
        return err_set(err, ERR_IO, "%.200s: %s", flow->url, why);
    }
}

static bool is_passing(CURLcode code)
{
    switch (code) {
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

int http_flow_send(struct http_flow *flow, const struct http_flow_call *call,
                   struct http_flow_answer *answer, struct err *err)
{
    *answer = (struct http_flow_answer){0};
    flow->call = call;
    flow->bytes = 0;
    flow->sendings = 0;
    flow->failed = 0;
    flow->begun = flow->done = flow->streamed = false;
    flow->progress_ns = clock_now_ns();
    flow->why[0] = '\0';
    buf_reset(&flow->body);
    flow_set_request(flow, call->method, call->target, call->body, call->body_bytes);
    flow_set_headers(flow, call);
    CURLcode code = flow_transfer(flow, &answer->late);
    read_head(flow, answer);
    answer->sendings = flow->sendings;
    answer->bytes = flow->body.len;
    answer->body = buf_take(&flow->body);
    buf_init(&flow->body, LIMIT_CLIENT_ANSWER_BYTES);
    if (is_cancelled(flow))
        return err_set(err, ERR_CANCELLED, "cancelled");
    if (flow->failed) {
        if (err)
            *err = flow->err;
        return flow->failed;
    }
    if (flow->done)
        return 0;
    answer->passing = answer->late != LATE_NOT || is_passing(code);
    if (answer->late != LATE_NOT)
        return flow_late_error(flow, answer->late, err);
    if (code == CURLE_OK)
        return 0;
    /* The only time bound that libcurl enforces is the one for connecting. */
    if (code == CURLE_OPERATION_TIMEDOUT)
        answer->late = LATE_CONNECT;
    answer->unreached = is_unreached(code) || answer->late == LATE_CONNECT;
    return flow_failure(flow, code, err);
}

void http_flow_answer_deinit(struct http_flow_answer *answer)
{
    mem_free(answer->body);
    mem_free(answer->type);
    mem_free(answer->location);
    *answer = (struct http_flow_answer){0};
}
