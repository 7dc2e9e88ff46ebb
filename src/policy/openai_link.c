#include "policy/openai_link.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/http_pool.h"
#include "policy/openai_refusal.h"
#include "policy/policy_ops.h"
#include "policy/policy_settings.h"
#include "policy/retry.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct openai_link {
    const struct settings *settings;
    const _Atomic int *cancelled;
    char *url, *token;
    _Atomic bool known; /* the endpoint has answered before */
    struct http_pool *pool;
};

/* The environment's token is only sent over private connections (policy_url_is_private). */
static const char *find_token(const struct settings *settings, const char *url)
{
    const struct policy_settings *policy = policy_settings(settings);
    const char *token = getenv("OPENAI_API_KEY");
    if (policy->token[0])
        return policy->token;
    return token && policy_url_is_private(url) ? token : "";
}

int openai_link_open(struct openai_link **out, const char *url, const struct settings *settings,
                     const _Atomic int *cancelled, struct err *err)
{
    const struct policy_settings *policy = policy_settings(settings);
    struct openai_link *link = mem_alloc(sizeof *link);
    link->settings = settings;
    link->cancelled = cancelled;
    link->url = mem_strdup(url);
    link->token = mem_strdup(find_token(settings, url));
    const struct http_flow_options options = {
        .url = link->url,
        .token = link->token,
        .token_setting = "policy.token",
        .ca_file = policy->ca_file,
        .connect_timeout_ms = policy->connect_timeout_ms,
        .cancelled = cancelled,
    };
    int result = http_pool_open(&link->pool, &options, (size_t)policy->concurrency, err);
    *out = NULL;
    if (result < 0) {
        openai_link_close(link);
        return result;
    }
    *out = link;
    return 0;
}

void openai_link_close(struct openai_link *link)
{
    if (!link)
        return;
    http_pool_close(link->pool);
    mem_free(link->url);
    mem_free(link->token);
    mem_free(link);
}

static int set_refusal_error(const struct openai_link *link, int status, const char *body,
                             size_t bytes, enum retry_kind *kind, struct err *err)
{
    const struct openai_refusal refusal = {
        .url = link->url,
        .token = link->token,
        .status = status,
        .body = body,
        .bytes = bytes,
    };
    return openai_refusal_error(&refusal, kind, err);
}

/* An endpoint may echo the token, and a body that is not JSON is quoted. */
static void hide_token(const struct openai_link *link, struct err *err)
{
    char *clean = openai_redact(err->text, link->token);
    snprintf(err->text, sizeof err->text, "%s", clean);
    mem_free(clean);
}

/* How a failure of the transport or of `read` is retried. */
static enum retry_kind retry_kind_of_failure(const struct openai_link *link, int code,
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
    return link->known ? RETRY_BUSY : RETRY_UNREACHED;
}

static int send_attempt(struct openai_link *link, struct http_flow *flow,
                        const struct openai_exchange *exchange, struct http_flow_answer *reply,
                        enum retry_kind *kind, struct err *err)
{
    const char *text = "";
    if (exchange->begin)
        exchange->begin(exchange->context);
    int result = http_flow_send(flow, &exchange->call, reply, err);
    link->known = link->known || reply->status != 0;
    if (result == 0 && (reply->status < 200 || reply->status > 299))
        return set_refusal_error(link, reply->status, reply->body, reply->bytes, kind, err);
    bool below = result < 0;
    if (result == 0)
        result = exchange->read(exchange->context, reply, err);
    int status = result == ERR_IO && exchange->refusal ? exchange->refusal(exchange->context, &text)
                                                       : 0;
    if (status)
        return set_refusal_error(link, status, text, strlen(text), kind, err);
    *kind = retry_kind_of_failure(link, result, reply);
    if (result < 0 && result != ERR_CANCELLED && !below)
        err_prefix(err, "%.200s", link->url);
    if (result < 0)
        hide_token(link, err);
    return result;
}

static int append_attempts(struct err *err, unsigned asked)
{
    struct err last = *err;
    return err_set(err, last.code, "%s (%u attempts)", last.text, asked);
}

static int send_with_retries(struct openai_link *link, struct http_flow *flow,
                             const struct openai_exchange *exchange, unsigned *asked,
                             int64_t *began_ns, struct err *err)
{
    const struct policy_settings *policy = policy_settings(link->settings);
    const struct retry_rules rules = {.budget_ms = policy->retry_budget_ms,
                                      .backoff_ms = policy->backoff_ms,
                                      .attempts = policy->attempts};
    struct retry retry = {0};
    for (;;) {
        struct http_flow_answer reply = {0};
        enum retry_kind kind = RETRY_NEVER;
        *began_ns = clock_now_ns();
        int result = send_attempt(link, flow, exchange, &reply, &kind, err);
        int64_t after_ms = reply.retry_after_ms;
        http_flow_answer_deinit(&reply);
        ++*asked;
        if (result == 0)
            return 0;
        int64_t pause_ms = retry_pause_ms(&retry, &rules, kind, after_ms, clock_now_ns(),
                                          clock_secret());
        if (pause_ms == RETRY_STOP)
            return *asked > 1 ? append_attempts(err, *asked) : result;
        log_event(LOG_LEVEL_INFO, "policy", "retrying", "why", err->text, NULL);
        if (policy_rest(link->cancelled, pause_ms, err) < 0)
            return ERR_CANCELLED;
    }
}

int openai_link_request(struct openai_link *link, const struct openai_exchange *exchange,
                        unsigned *asked, int64_t *began_ns, struct err *err)
{
    struct http_flow *flow;
    struct err own;
    err = err ? err : &own; /* its text is read below */
    *asked = 0;
    *began_ns = clock_now_ns();
    int result = http_pool_take(link->pool, &flow, err);
    if (result < 0)
        return result;
    result = send_with_retries(link, flow, exchange, asked, began_ns, err);
    http_pool_return(link->pool, flow);
    return result;
}
