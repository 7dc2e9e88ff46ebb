#include "policy/tinker_link.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "policy/endpoint.h"
#include "policy/openai_refusal.h"
#include "policy/policy_ops.h"
#include "policy/policy_settings.h"
#include "policy/retry.h"
#include "policy/tinker_proto.h"
#include "policy/tinker_wire.h"

#include <stdbool.h>
#include <string.h>

#define KEY_HEADER "X-API-Key"
#define SUBMIT_MS 60000
#define POLL_MS 45000 /* a server holds a poll for less */
#define ONCE_MS 3000
#define UNPAID_S 3600.0
#define UNPAID_STEP_MS 5000
#define BAD_POLLS 3   /* answers of 400 that a proxy may have made */
#define EMPTY_BAD 16  /* from a proxy */
#define QUICK_MS 20.0 /* a poll that was not held: pause before the next */
#define NO_LIMIT INT64_MAX

struct tinker_link {
    struct endpoint endpoint;
    struct tinker_token *token; /* NULL: none is exchanged */
    _Atomic bool plain;         /* a 400 with words is an answer */
    double unpaid_s;
    int64_t call_ms;     /* of one call, with all its attempts; NO_LIMIT: the settings' */
    int64_t future_ms;   /* of polls for one future */
    const char *setting; /* the name of the setting behind future_ms */
};

int tinker_link_open(struct tinker_link **out, const struct tinker_link_options *options,
                     struct err *err)
{
    struct tinker_link *link = mem_alloc(sizeof *link);
    const struct policy_settings *policy = policy_settings(options->settings);
    const bool shutdown = options->shutdown;
    const struct endpoint_options server = {.url = options->url,
                                            .settings = options->settings,
                                            .cancelled = shutdown ? NULL : options->cancelled,
                                            .variable = "TINKER_API_KEY",
                                            .token_header = KEY_HEADER,
                                            .accept = "application/json",
                                            .at_once = options->at_once};
    int result = endpoint_open(&link->endpoint, &server, err);
    if (result == 0)
        result = tinker_token_check_key(link->endpoint.token, err);
    link->token = options->token;
    link->endpoint.known = shutdown || options->known; /* it has answered on another link */
    link->unpaid_s = UNPAID_S;
    link->call_ms = shutdown ? policy->shutdown_timeout_ms : NO_LIMIT;
    link->future_ms = shutdown ? link->call_ms : policy->future_timeout_ms;
    link->setting = shutdown ? "policy.shutdown_timeout_ms" : "policy.future_timeout_ms";
    *out = NULL;
    if (result < 0)
        tinker_link_close(link);
    else
        *out = link;
    return result;
}

void tinker_link_close(struct tinker_link *link)
{
    if (!link)
        return;
    endpoint_close(&link->endpoint);
    mem_free(link);
}

void tinker_link_set_unpaid(struct tinker_link *link, double seconds)
{
    link->unpaid_s = seconds;
}

void tinker_link_set_plain(struct tinker_link *link)
{
    link->plain = true;
}

/* What to do after an attempt. */
enum action {
    ACTION_STOP,
    ACTION_BUSY,
    ACTION_UNREACHED,
    ACTION_SILENT,
    ACTION_UNPAID,
    ACTION_BAD,
    ACTION_RENEW,
    ACTION_POLL_AGAIN
};

struct exchange {
    struct tinker_link *link;
    const struct tinker_call *call;
    bool poll;
    bool renewed;               /* the token, after a refusal */
    int64_t begun_ns, limit_ms; /* no attempt begins later than limit_ms after begun_ns */
    struct retry retry;
    unsigned asked, bad;
    int64_t silent_ns, unpaid_ns; /* start of the spell; 0: none */
    struct tinker_sent sent;
    json_t *answer; /* of the last attempt, or NULL */
};

static int64_t min_ms(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static int64_t time_left_ms(const struct exchange *exchange)
{
    return exchange->limit_ms == NO_LIMIT
               ? NO_LIMIT
               : exchange->limit_ms - (clock_now_ns() - exchange->begun_ns) / 1000000;
}

static enum action action_of_status(const struct exchange *exchange, int status, size_t bytes)
{
    if (exchange->poll && status == 408)
        return ACTION_POLL_AGAIN;
    if (status == 402)
        return ACTION_UNPAID;
    const bool answer = exchange->link->plain && bytes > 0;
    if (status == 400 && !answer && (exchange->poll || bytes == 0))
        return ACTION_BAD;
    if (status == 408 || status == 409 || status == 425 || status == 429)
        return ACTION_BUSY;
    return status >= 500 && status != 501 ? ACTION_BUSY : ACTION_STOP;
}

/* A status that a gateway may send, or the server before it reads the request: it says nothing
 * about earlier attempts. */
static bool is_gateway_status(const struct http_flow_answer *reply)
{
    switch (reply->status) {
    case 400:
        return reply->bytes == 0;
    case 401:
    case 402:
    case 403:
    case 409:
    case 425:
    case 429:
        return true;
    default:
        return false;
    }
}

/* Whether the server may have taken the request. Any other refusal answers for earlier attempts
 * too: a request that was taken gets the same answer again. */
static bool may_have_been_taken(const struct exchange *exchange,
                                const struct http_flow_answer *reply, bool done)
{
    const int status = reply->status;
    if (done)
        return false;
    if (status == 0)
        return exchange->sent.unknown || !reply->unreached || reply->sendings > 0;
    if (is_gateway_status(reply))
        return exchange->sent.unknown || reply->sendings > 1;
    return status == 408 || (status >= 500 && status != 501) || (status >= 200 && status < 300);
}

/* `token`: what was sent, which an answer may echo; the endpoint redacts the key. */
static int set_refusal_error(const struct tinker_link *link, const struct tinker_call *call,
                             const char *token, const struct http_flow_answer *reply,
                             struct err *err)
{
    enum retry_kind ignored;
    struct err why;
    const struct openai_refusal refusal = {
        .url = link->endpoint.url,
        .token = token ? token : link->endpoint.token,
        .status = reply->status,
        .body = reply->body,
        .bytes = reply->bytes,
        .token_hint = "the key was refused or has expired; set TINKER_API_KEY or policy.token",
        .missing_hint = call->owned ? "" : "check that this is the address of a Tinker server",
    };
    if (!call->owned || reply->status != 404)
        return openai_refusal_error(&refusal, &ignored, err);
    (void)openai_refusal_error(&refusal, &ignored, &why);
    return err_set(err, ERR_PROTOCOL,
                   "%.480s: the server lost the state of this run, as after a restart, or has no "
                   "%s; resume from the last checkpoint",
                   why.text, call->target);
}

/* Of a poll. */
static bool is_lost_status(int status)
{
    return status == 404 || status == 410;
}

static bool is_accepted_status(const struct exchange *exchange, int status)
{
    return (status >= 200 && status < 300) || (status != 0 && status == exchange->call->accepted) ||
           (exchange->poll && is_lost_status(status));
}

static int read_body(const struct exchange *exchange, const struct http_flow_answer *reply,
                     json_t **answer, struct err *err)
{
    tinker_decode *decode = exchange->call->decode;
    const bool json = !decode ||
                      strncmp(reply->type, TINKER_PROTOBUF, strlen(TINKER_PROTOBUF)) != 0;
    *answer = NULL;
    if (reply->status >= 300 || (json && reply->bytes == 0))
        return 0;
    int result = json ? json_parse("its answer", reply->body, reply->bytes, answer, err)
                      : decode(reply->body, reply->bytes, answer, err);
    if (result < 0) {
        *answer = NULL;
        struct err why = *err;
        return err_set(err, ERR_PROTOCOL, "%.200s: %.400s; is it a server of the Tinker protocol?",
                       exchange->link->endpoint.url, why.text);
    }
    return 0;
}

static void set_headers(const struct tinker_call *call, const char *token,
                        struct http_flow_header *headers)
{
    size_t count = 0;
    if (token)
        headers[count++] = (struct http_flow_header){KEY_HEADER, token};
    if (call->content)
        headers[count++] = (struct http_flow_header){"Content-Type", call->content};
    if (call->decode)
        headers[count++] = (struct http_flow_header){"Accept",
                                                     TINKER_PROTOBUF ", application/json"};
}

static enum action send_wanted(struct exchange *exchange, struct http_flow *flow, const char *token,
                               struct http_flow_answer *reply, int *result, struct err *err)
{
    struct tinker_link *link = exchange->link;
    const struct tinker_call *call = exchange->call;
    const int64_t most = call->once ? ONCE_MS : exchange->poll ? POLL_MS : SUBMIT_MS;
    const int64_t bound = policy_settings(link->endpoint.settings)->timeout_ms,
                  left = time_left_ms(exchange);
    struct http_flow_call wanted = {
        .method = call->method,
        .target = call->target,
        .body = call->body ? call->body->data : NULL,
        .body_bytes = call->body ? call->body->len : 0,
        .whole_ms = min_ms(min_ms(bound, most), left > 1 ? left : 1),
        .max_bytes = LIMIT_CLIENT_ANSWER_BYTES,
    };
    set_headers(call, token, wanted.headers);
    *result = http_flow_send(flow, &wanted, reply, err);
    if (reply->status != 0)
        link->endpoint.known = true;
    if (*result == ERR_TIMEOUT)
        return ACTION_SILENT;
    if (*result < 0)
        return *result != ERR_IO                           ? ACTION_STOP
               : reply->unreached && !link->endpoint.known ? ACTION_UNREACHED
                                                           : ACTION_BUSY;
    if (!is_accepted_status(exchange, reply->status)) {
        *result = set_refusal_error(link, call, token, reply, err);
        if (token && reply->status == 401 && !exchange->renewed)
            return ACTION_RENEW;
        return action_of_status(exchange, reply->status, reply->bytes);
    }
    *result = read_body(exchange, reply, &exchange->answer, err);
    return *result < 0 ? ACTION_BAD : ACTION_STOP; /* it may be truncated */
}

/* With the token's lock held: exchanges the key for a new one over `flow`. */
static enum action exchange_key(struct exchange *exchange, struct http_flow *flow, int *result,
                                struct http_flow_answer *reply, struct err *err)
{
    struct buf body;
    buf_init(&body, 16);
    buf_puts(&body, "{}");
    const struct tinker_call call = {.method = "POST",
                                     .target = "/api/v1/auth/token",
                                     .body = &body};
    struct exchange own = {.link = exchange->link,
                           .call = &call,
                           .begun_ns = exchange->begun_ns,
                           .limit_ms = exchange->limit_ms};
    enum action action = send_wanted(&own, flow, NULL, reply, result, err);
    if (*result == 0)
        *result = tinker_token_set(exchange->link->token, json_text_at(own.answer, "jwt"), err);
    json_decref(own.answer);
    buf_deinit(&body);
    return action;
}

/* The token to send, a copy, or NULL: the key. */
static enum action find_token(struct exchange *exchange, struct http_flow *flow, char **text,
                              int *result, struct http_flow_answer *reply, struct err *err)
{
    struct tinker_token *token = exchange->link->token;
    enum action action = ACTION_STOP;
    *text = NULL;
    *result = 0;
    if (!token || !token->wanted)
        return action;
    pthread_mutex_lock(&token->lock);
    if (tinker_token_is_stale(token))
        action = exchange_key(exchange, flow, result, reply, err);
    if (*result == 0)
        *text = mem_strdup(token->text);
    pthread_mutex_unlock(&token->lock);
    return action;
}

/* A refused token is used no more, unless another thread has replaced it. */
static void drop_token(struct tinker_token *token, const char *refused)
{
    pthread_mutex_lock(&token->lock);
    if (token->text && strcmp(token->text, refused) == 0) {
        mem_free(token->text);
        token->text = NULL;
    }
    pthread_mutex_unlock(&token->lock);
}

static enum action send_once(struct exchange *exchange, struct http_flow *flow,
                             struct http_flow_answer *reply, int *result, struct err *err)
{
    char *token;
    enum action action = find_token(exchange, flow, &token, result, reply, err);
    if (*result < 0)
        return action;
    http_flow_answer_deinit(reply);
    action = send_wanted(exchange, flow, token, reply, result, err);
    if (action == ACTION_RENEW) {
        exchange->renewed = true;
        drop_token(exchange->link->token, token);
    }
    mem_free(token);
    return action;
}

static int64_t elapsed_ms(int64_t *from_ns, int64_t now_ns)
{
    if (*from_ns == 0)
        *from_ns = now_ns;
    return (now_ns - *from_ns) / 1000000;
}

/* The pause before another attempt, or RETRY_STOP. */
static int64_t pause_of_action(struct exchange *exchange, enum action action, int64_t began_ns,
                               int64_t after_ms)
{
    const struct policy_settings *policy = policy_settings(exchange->link->endpoint.settings);
    const struct retry_rules rules = {.budget_ms = policy->retry_budget_ms,
                                      .backoff_ms = policy->backoff_ms};
    const int64_t now_ns = clock_now_ns();
    if (action != ACTION_SILENT)
        exchange->silent_ns = 0;
    switch (action) {
    case ACTION_SILENT:
        exchange->silent_ns = exchange->silent_ns ? exchange->silent_ns : began_ns;
        return elapsed_ms(&exchange->silent_ns, now_ns) < policy->timeout_ms ? 0 : RETRY_STOP;
    case ACTION_UNPAID:
        return (double)elapsed_ms(&exchange->unpaid_ns, now_ns) < 1000 * exchange->link->unpaid_s
                   ? UNPAID_STEP_MS
                   : RETRY_STOP;
    case ACTION_RENEW:
        return 0;
    case ACTION_BAD:
        exchange->bad++;
        if (exchange->bad > (exchange->poll ? BAD_POLLS : EMPTY_BAD))
            return RETRY_STOP;
        return policy->backoff_ms;
    case ACTION_BUSY:
    case ACTION_UNREACHED:
        return retry_pause_ms(&exchange->retry, &rules,
                              action == ACTION_BUSY ? RETRY_BUSY : RETRY_UNREACHED, after_ms,
                              now_ns, clock_secret());
    default:
        return RETRY_STOP;
    }
}

static int64_t pause_before_retry(struct exchange *exchange, enum action action, int64_t began_ns,
                                  int64_t after_ms)
{
    if (exchange->call->once)
        return RETRY_STOP;
    int64_t pause_ms = pause_of_action(exchange, action, began_ns, after_ms);
    return pause_ms < time_left_ms(exchange) ? pause_ms : RETRY_STOP;
}

/* Succeeds with an answer, or (of a poll) a "not yet". */
static int attempt_exchange(void *context, struct http_flow *flow, struct endpoint_next *next,
                            struct err *err)
{
    struct exchange *exchange = context;
    struct http_flow_answer reply = {0};
    int result = 0;
    const int64_t began_ns = clock_now_ns();
    enum action action = send_once(exchange, flow, &reply, &result, err);
    exchange->sent.status = reply.status;
    if (exchange->call->location) {
        mem_free(*exchange->call->location);
        *exchange->call->location = reply.location;
        reply.location = NULL;
    }
    exchange->sent.unknown = may_have_been_taken(exchange, &reply, result == 0);
    if (action == ACTION_POLL_AGAIN)
        result = 0;
    if (result < 0)
        next->pause_ms = pause_before_retry(exchange, action, began_ns, reply.retry_after_ms);
    if (action == ACTION_UNPAID)
        next->level = LOG_LEVEL_WARN;
    http_flow_answer_deinit(&reply);
    return result;
}

/* *answer: the caller's reference, NULL without a body or after an error. */
static int send_exchange(struct exchange *exchange, json_t **answer, struct err *err)
{
    exchange->answer = NULL;
    int result = endpoint_request(&exchange->link->endpoint, attempt_exchange, exchange,
                                  &exchange->asked, err);
    *answer = exchange->answer;
    return result;
}

int tinker_send(struct tinker_link *link, const struct tinker_call *call, json_t **answer,
                struct tinker_sent *sent, struct err *err)
{
    struct exchange exchange = {.link = link,
                                .call = call,
                                .begun_ns = clock_now_ns(),
                                .limit_ms = link->call_ms,
                                .sent = {.unknown = call->resend}};
    int result = send_exchange(&exchange, answer, err);
    if (sent)
        *sent = exchange.sent;
    return result;
}

int tinker_submit(struct tinker_link *link, const struct tinker_call *call, char **id,
                  struct tinker_sent *sent, struct err *err)
{
    struct tinker_sent own;
    json_t *answer = NULL;
    sent = sent ? sent : &own;
    *id = NULL;
    int result = tinker_send(link, call, &answer, sent, err);
    if (result == 0 && answer) {
        const char *text = json_text_at(answer, "request_id");
        if (text[0])
            *id = mem_strdup(text);
        else
            result = err_set(err, ERR_PROTOCOL, "%.200s: its answer to %s has no 'request_id'",
                             link->endpoint.url, call->target);
    } else if (result == 0 && sent->status != call->accepted) {
        result = err_set(err, ERR_PROTOCOL, "%.200s: its answer to %s is empty", link->endpoint.url,
                         call->target);
    }
    json_decref(answer);
    return result;
}

/* Reads one answer of a poll: 1 means poll again. */
static int read_poll(const struct tinker_link *link, const char *target, json_t *answer, int status,
                     json_t **result, struct err *err)
{
    const char *why;
    bool our_fault;
    if (is_lost_status(status))
        return err_set(err, ERR_MISSING, "%.200s: it has lost the result of %s", link->endpoint.url,
                       target);
    if (!answer)
        return 1;
    enum tinker_state state = tinker_read_future(answer, &why, &our_fault);
    if (state == TINKER_DONE) {
        *result = json_incref(answer);
        return 0;
    }
    if (state == TINKER_AGAIN) {
        if (why)
            log_event(LOG_LEVEL_INFO, "policy", "queued by the server", "why", why, NULL);
        return 1;
    }
    char *clean = openai_redact(why, link->endpoint.token);
    int code = err_set(err, our_fault ? ERR_INPUT : ERR_IO, "%.200s: %s: %.400s",
                       link->endpoint.url, target, clean);
    mem_free(clean);
    return code;
}

static int set_future_timeout_error(const struct tinker_link *link, const char *target,
                                    struct err *err)
{
    return err_set(err, ERR_TIMEOUT, "%.200s: no result of %s within %.3g s (%s)",
                   link->endpoint.url, target, (double)link->future_ms * 1e-3, link->setting);
}

/* One poll: 1 means poll again. */
static int poll_once(struct exchange *exchange, const char *target, json_t **result,
                     struct err *err)
{
    struct tinker_link *link = exchange->link;
    json_t *answer = NULL;
    const int64_t began_ns = clock_now_ns();
    exchange->retry = (struct retry){0};
    exchange->bad = 0;
    exchange->silent_ns = exchange->unpaid_ns = 0;
    int code = send_exchange(exchange, &answer, err);
    if (code == 0)
        code = read_poll(link, target, answer, exchange->sent.status, result, err);
    json_decref(answer);
    if (code == 1 && exchange->call->once)
        return err_set(err, ERR_TIMEOUT, "%.200s: the result is not ready", link->endpoint.url);
    if ((code == 1 || code == ERR_TIMEOUT) && time_left_ms(exchange) <= 0)
        return set_future_timeout_error(link, target, err);
    if (code == 1 && clock_ms_since(began_ns) < QUICK_MS &&
        policy_rest(link->endpoint.cancelled, (int64_t)QUICK_MS, err) < 0)
        return ERR_CANCELLED;
    return code;
}

int tinker_await(struct tinker_link *link, const char *id, const struct tinker_call *call,
                 json_t **result, struct err *err)
{
    struct buf body;
    int code = 1;
    buf_init(&body, LIMIT_CLIENT_URL_BYTES);
    buf_puts(&body, "{\"request_id\":");
    tinker_put_text(&body, id);
    buf_puts(&body, ",\"allow_metadata_only\":false}");
    const struct tinker_call poll = {.method = "POST",
                                     .target = "/api/v1/retrieve_future",
                                     .body = &body,
                                     .decode = call->decode,
                                     .once = call->once};
    struct exchange exchange = {.link = link,
                                .call = &poll,
                                .poll = true,
                                .begun_ns = clock_now_ns(),
                                .limit_ms = link->future_ms};
    *result = NULL;
    while (code == 1)
        code = poll_once(&exchange, call->target, result, err);
    buf_deinit(&body);
    return code;
}

int tinker_do(struct tinker_link *link, const struct tinker_call *call, json_t **result,
              struct tinker_sent *sent, struct err *err)
{
    char *id = NULL;
    *result = NULL;
    int code = tinker_submit(link, call, &id, sent, err);
    if (code == 0 && id)
        code = tinker_await(link, id, call, result, err);
    mem_free(id);
    return code;
}
