#include "client/http_flow.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/http_handle.h"

#include <string.h>
#include <strings.h>

#define RETRY_AFTER_MAX_S 86400
#define LINGER_MS 250 /* for the end of a response whose answer is complete */

struct http_flow {
    struct http_handle handle;
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

/* Refusals and JSON documents are collected. */
static bool is_streamed(const struct http_flow *flow)
{
    const char *type = NULL;
    long status = 0;
    curl_easy_getinfo(flow->handle.easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(flow->handle.easy, CURLINFO_CONTENT_TYPE, &type);
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
    return result < 0 ? err_prefix(&flow->err, "%.200s", flow->handle.url) : 0;
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
                               flow->handle.url, flow->most_bytes);
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

int http_flow_open(struct http_flow **out, const struct http_flow_options *options, struct err *err)
{
    struct http_flow *flow = mem_alloc(sizeof *flow);
    const struct http_handle_options wanted = {
        .url = options->url,
        .token = options->token,
        .token_header = options->token_header,
        .token_setting = options->token_setting,
        .ca_file = options->ca_file,
        .accept = options->accept ? options->accept : "text/event-stream, application/json",
        .connect_timeout_ms = options->connect_timeout_ms,
        .cancelled = options->cancelled,
    };
    int result = http_handle_init(&flow->handle, &wanted, err);
    *out = NULL;
    if (result < 0) {
        mem_free(flow);
        return result;
    }
    buf_init(&flow->body, LIMIT_CLIENT_ANSWER_BYTES);
    curl_easy_setopt(flow->handle.easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(flow->handle.easy, CURLOPT_WRITEDATA, flow);
    curl_easy_setopt(flow->handle.easy, CURLOPT_PREREQFUNCTION, count_sending);
    curl_easy_setopt(flow->handle.easy, CURLOPT_PREREQDATA, flow);
    *out = flow;
    return 0;
}

void http_flow_close(struct http_flow *flow)
{
    if (!flow)
        return;
    http_handle_deinit(&flow->handle);
    buf_deinit(&flow->body);
    mem_free(flow);
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
    *left_ms = HTTP_HANDLE_STEP_MS;
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
    const char *url = flow->handle.url;
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
    CURLM *multi = flow->handle.multi;
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    int running = 1, left_ms, left;
    int64_t begun_ns = flow->progress_ns;
    *late = LATE_NOT;
    if (curl_multi_add_handle(multi, flow->handle.easy) != CURLM_OK)
        return CURLE_FAILED_INIT;
    while (!http_handle_cancelled(&flow->handle)) {
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
    curl_multi_remove_handle(multi, flow->handle.easy);
    return code;
}

static void read_head(const struct http_flow *flow, struct http_flow_answer *answer)
{
    long status = 0;
    curl_off_t after_s = 0;
    curl_easy_getinfo(flow->handle.easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(flow->handle.easy, CURLINFO_RETRY_AFTER, &after_s);
    if (after_s < 0 || after_s > RETRY_AFTER_MAX_S)
        after_s = after_s < 0 ? 0 : RETRY_AFTER_MAX_S;
    answer->status = (int)status;
    answer->retry_after_ms = (int64_t)after_s * 1000;
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
    flow->handle.why[0] = '\0';
    buf_reset(&flow->body);
    http_handle_set_request(&flow->handle, call->method, call->target, call->body,
                            call->body_bytes);
    CURLcode code = flow_transfer(flow, &answer->late);
    read_head(flow, answer);
    answer->sendings = flow->sendings;
    answer->bytes = flow->body.len;
    answer->body = buf_take(&flow->body);
    buf_init(&flow->body, LIMIT_CLIENT_ANSWER_BYTES);
    if (http_handle_cancelled(&flow->handle))
        return err_set(err, ERR_CANCELLED, "cancelled");
    if (flow->failed) {
        if (err)
            *err = flow->err;
        return flow->failed;
    }
    if (flow->done)
        return 0;
    if (answer->late != LATE_NOT)
        return flow_late_error(flow, answer->late, err);
    if (code == CURLE_OK)
        return 0;
    /* The only time bound that libcurl enforces is the one for connecting. */
    answer->unreached = http_handle_is_unreached(code) || code == CURLE_OPERATION_TIMEDOUT;
    int result = http_handle_failure(&flow->handle, code, err);
    if (result == ERR_TIMEOUT)
        return err_set(err, ERR_IO, "%.200s: no connection in time", flow->handle.url);
    return result;
}

void http_flow_answer_deinit(struct http_flow_answer *answer)
{
    mem_free(answer->body);
    *answer = (struct http_flow_answer){0};
}
