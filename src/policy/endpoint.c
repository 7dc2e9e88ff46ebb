#include "policy/endpoint.h"

#include "base/mem.h"
#include "client/http_pool.h"
#include "policy/openai_refusal.h"
#include "policy/policy_ops.h"
#include "policy/policy_settings.h"
#include "policy/retry.h"

#include <stdlib.h>

static const char *find_token(const struct endpoint_options *options)
{
    const struct policy_settings *policy = policy_settings(options->settings);
    const char *token = getenv(options->variable);
    if (policy->token[0])
        return policy->token;
    return token && policy_url_is_private(options->url) ? token : "";
}

int endpoint_open(struct endpoint *endpoint, const struct endpoint_options *options,
                  struct err *err)
{
    const struct policy_settings *policy = policy_settings(options->settings);
    *endpoint = (struct endpoint){.settings = options->settings,
                                  .cancelled = options->cancelled,
                                  .url = mem_strdup(options->url),
                                  .token = mem_strdup(find_token(options))};
    const struct http_flow_options flow = {
        .url = endpoint->url,
        .token = endpoint->token,
        .token_header = options->token_header,
        .token_setting = "policy.token",
        .accept = options->accept,
        .ca_file = policy->ca_file,
        .connect_timeout_ms = policy->connect_timeout_ms,
        .cancelled = options->cancelled,
    };
    return http_pool_open(&endpoint->pool, &flow, options->at_once, err);
}

void endpoint_close(struct endpoint *endpoint)
{
    http_pool_close(endpoint->pool);
    mem_free(endpoint->url);
    mem_free(endpoint->token);
    *endpoint = (struct endpoint){0};
}

static void clean_error(const struct endpoint *endpoint, unsigned attempts, struct err *err)
{
    char *clean = openai_redact(err->text, endpoint->token);
    if (attempts > 1 && err->code != ERR_CANCELLED)
        err_set(err, err->code, "%s (%u attempts)", clean, attempts);
    else
        err_set(err, err->code, "%s", clean);
    mem_free(clean);
}

static int repeat(struct endpoint *endpoint, struct http_flow *flow, endpoint_attempt *attempt,
                  void *context, unsigned *asked, struct err *err)
{
    for (;;) {
        struct endpoint_next next = {.pause_ms = RETRY_STOP, .level = LOG_LEVEL_INFO};
        int result = attempt(context, flow, &next, err);
        ++*asked;
        if (result == 0)
            return 0;
        bool last = next.pause_ms == RETRY_STOP;
        err->code = result;
        clean_error(endpoint, last ? *asked : 1, err);
        if (last)
            return result;
        log_event(next.level, "policy", "retrying", "why", err->text, NULL);
        result = policy_rest(endpoint->cancelled, next.pause_ms, err);
        if (result < 0)
            return result;
    }
}

int endpoint_request(struct endpoint *endpoint, endpoint_attempt *attempt, void *context,
                     unsigned *asked, struct err *err)
{
    struct http_flow *flow;
    struct err own;
    err = err ? err : &own; /* its text is read */
    *asked = 0;
    int result = http_pool_take(endpoint->pool, &flow, err);
    if (result < 0)
        return result;
    result = repeat(endpoint, flow, attempt, context, asked, err);
    http_pool_return(endpoint->pool, flow);
    return result;
}
