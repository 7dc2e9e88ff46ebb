#include "policy/openai_link.h"

#include "base/clock.h"
#include "policy/openai_refusal.h"
#include "policy/policy_settings.h"
#include "policy/retry.h"

#include <string.h>

/* A request under way. */
struct request {
    struct endpoint *endpoint;
    const struct openai_exchange *exchange;
    struct retry retry;
    int64_t began_ns;
};

static int set_refusal_error(const struct endpoint *endpoint, int status, const char *body,
                             size_t bytes, enum retry_kind *kind, struct err *err)
{
    const struct openai_refusal refusal = {
        .url = endpoint->url,
        .token = endpoint->token,
        .status = status,
        .body = body,
        .bytes = bytes,
    };
    return openai_refusal_error(&refusal, kind, err);
}

/* How a failure of the transport or of `read` is retried. */
static enum retry_kind retry_kind_of_failure(const struct endpoint *endpoint, int code,
                                             const struct http_flow_answer *reply)
{
    if (code == ERR_PROTOCOL)
        return RETRY_BROKEN;
    if (code == ERR_TIMEOUT)
        return reply->late == LATE_WHOLE ? RETRY_NEVER : RETRY_BROKEN;
    if (code != ERR_IO)
        return RETRY_NEVER;
    if (!reply->unreached)
        return RETRY_BROKEN;
    return endpoint->known ? RETRY_BUSY : RETRY_UNREACHED;
}

static int send_once(struct request *request, struct http_flow *flow,
                     struct http_flow_answer *reply, enum retry_kind *kind, struct err *err)
{
    struct endpoint *endpoint = request->endpoint;
    const struct openai_exchange *exchange = request->exchange;
    const char *text = "";
    if (exchange->begin)
        exchange->begin(exchange->context);
    int result = http_flow_send(flow, &exchange->call, reply, err);
    endpoint->known = endpoint->known || reply->status != 0;
    if (result == 0 && (reply->status < 200 || reply->status > 299))
        return set_refusal_error(endpoint, reply->status, reply->body, reply->bytes, kind, err);
    bool below = result < 0;
    if (result == 0)
        result = exchange->read(exchange->context, reply, err);
    int status = result == ERR_IO && exchange->refusal ? exchange->refusal(exchange->context, &text)
                                                       : 0;
    if (status)
        return set_refusal_error(endpoint, status, text, strlen(text), kind, err);
    *kind = retry_kind_of_failure(endpoint, result, reply);
    if (result < 0 && result != ERR_CANCELLED && !below)
        err_prefix(err, "%.200s", endpoint->url);
    return result;
}

static int attempt_request(void *context, struct http_flow *flow, struct endpoint_next *next,
                           struct err *err)
{
    struct request *request = context;
    const struct policy_settings *policy = policy_settings(request->endpoint->settings);
    const struct retry_rules rules = {.budget_ms = policy->retry_budget_ms,
                                      .backoff_ms = policy->backoff_ms,
                                      .attempts = policy->attempts};
    struct http_flow_answer reply = {0};
    enum retry_kind kind = RETRY_NEVER;
    request->began_ns = clock_now_ns();
    int result = send_once(request, flow, &reply, &kind, err);
    if (result < 0)
        next->pause_ms = retry_pause_ms(&request->retry, &rules, kind, reply.retry_after_ms,
                                        clock_now_ns(), clock_secret());
    http_flow_answer_deinit(&reply);
    return result;
}

int openai_request(struct endpoint *endpoint, const struct openai_exchange *exchange,
                   unsigned *asked, int64_t *began_ns, struct err *err)
{
    struct request request = {.endpoint = endpoint,
                              .exchange = exchange,
                              .began_ns = clock_now_ns()};
    int result = endpoint_request(endpoint, attempt_request, &request, asked, err);
    *began_ns = request.began_ns;
    return result;
}
