#include "policy/tinker_link.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/http_pool.h"
#include "policy/openai_refusal.h"
#include "policy/policy_ops.h"
#include "policy/retry.h"
#include "policy/tinker_wire.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUBMIT_MS 60000
#define POLL_MS 45000 /* a server holds a poll for less */
#define ONCE_MS 3000
#define UNPAID_S 3600.0
#define UNPAID_STEP_MS 5000
#define BAD_POLLS 3   /* answers of 400 that may be somebody's between */
#define EMPTY_BAD 16  /* a proxy's */
#define QUICK_MS 20.0 /* a poll that was not held: wait a little before the next */
#define NO_END INT64_MAX

struct tinker_link {
    const struct settings *settings;
    const _Atomic int *cancelled;
    char *url, *key;
    struct http_pool *pool;
    double unpaid_s;
    _Atomic bool known;  /* it has answered before, this link or another */
    int64_t call_ms;     /* of one call, with all its tries; NO_END: as the settings have it */
    int64_t promise_ms;  /* of polls for one promise */
    const char *setting; /* that says promise_ms */
};

/* -------------------------------------------------------------------------------------- opening */

static const char *find_key(const struct settings *settings, const char *url)
{
    const char *key = getenv("TINKER_API_KEY");
    if (settings->policy_token[0])
        return settings->policy_token;
    return key && policy_url_is_private(url) ? key : "";
}

int tinker_link_open(struct tinker_link **out, const struct tinker_link_options *options,
                     struct err *err)
{
    struct tinker_link *link = mem_alloc(sizeof *link);
    const struct settings *settings = options->settings;
    const bool parting = options->parting;
    link->settings = settings;
    link->cancelled = parting ? NULL : options->cancelled;
    link->unpaid_s = UNPAID_S;
    link->known = parting; /* there is something to part from */
    link->call_ms = parting ? settings->policy_parting_timeout_ms : NO_END;
    link->promise_ms = parting ? link->call_ms : settings->policy_promise_timeout_ms;
    link->setting = parting ? "policy.parting_timeout_ms" : "policy.promise_timeout_ms";
    link->url = mem_strdup(options->url);
    link->key = mem_strdup(find_key(settings, options->url));
    const struct http_flow_options flow = {
        .url = link->url,
        .token = link->key,
        .token_header = "X-API-Key",
        .token_setting = "policy.token",
        .accept = "application/json",
        .ca_file = settings->policy_ca_file,
        .connect_timeout_ms = settings->policy_connect_timeout_ms,
        .cancelled = link->cancelled,
    };
    int result = http_pool_open(&link->pool, &flow, options->at_once, err);
    *out = NULL;
    if (result < 0) {
        tinker_link_close(link);
        return result;
    }
    *out = link;
    return 0;
}

void tinker_link_close(struct tinker_link *link)
{
    if (!link)
        return;
    http_pool_close(link->pool);
    mem_free(link->url);
    mem_free(link->key);
    mem_free(link);
}

void tinker_link_set_unpaid(struct tinker_link *link, double seconds)
{
    link->unpaid_s = seconds;
}

/* --------------------------------------------------------------------------------------- asking */

/* What to do after a try. */
enum next { NEXT_STOP, NEXT_BUSY, NEXT_UNREACHED, NEXT_SILENT, NEXT_UNPAID, NEXT_BAD, NEXT_AGAIN };

struct trying {
    struct tinker_link *link;
    const struct tinker_call *call;
    bool poll;
    int64_t begun_ns, most_ms; /* when that has passed since then there is no other try */
    struct retry retry;
    unsigned asked, bad;
    int64_t silent_ns, unpaid_ns; /* since when; 0: it is not */
    struct tinker_sent sent;
};

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static int64_t left_ms(const struct trying *trying)
{
    return trying->most_ms == NO_END
               ? NO_END
               : trying->most_ms - (clock_now_ns() - trying->begun_ns) / 1000000;
}

static enum next next_of_status(const struct trying *trying, int status, size_t bytes)
{
    if (trying->poll && status == 408)
        return NEXT_AGAIN;
    if (status == 402)
        return NEXT_UNPAID;
    if (status == 400 && (trying->poll || bytes == 0))
        return NEXT_BAD;
    if (status == 408 || status == 409 || status == 425 || status == 429)
        return NEXT_BUSY;
    return status >= 500 && status != 501 ? NEXT_BUSY : NEXT_STOP;
}

/* What whoever stands before the server may say, or the server before it looks at the request: it
 * tells nothing of earlier tries. */
static bool is_said_at_the_door(const struct http_flow_answer *reply)
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

/* Whether the server may have taken the request. Any other refusal tells that of earlier tries,
 * too: what was taken is answered the same way again. */
static bool is_unknown(const struct trying *trying, const struct http_flow_answer *reply, bool done)
{
    const int status = reply->status;
    if (done)
        return false;
    if (status == 0)
        return trying->sent.unknown || !reply->unreached || reply->sendings > 0;
    if (is_said_at_the_door(reply))
        return trying->sent.unknown || reply->sendings > 1;
    return status == 408 || (status >= 500 && status != 501) || (status >= 200 && status < 300);
}

static int refuse(const struct tinker_link *link, const struct tinker_call *call,
                  const struct http_flow_answer *reply, struct err *err)
{
    enum retry_kind ignored;
    struct err why;
    const struct openai_refusal refusal = {
        .url = link->url,
        .token = link->key,
        .status = reply->status,
        .body = reply->body,
        .bytes = reply->bytes,
        .token_hint = "it wants another key; set TINKER_API_KEY or policy.token",
        .missing_hint = call->ours ? "" : "is that a Tinker server's address?",
    };
    if (!call->ours || reply->status != 404)
        return openai_refuse(&refusal, &ignored, err);
    (void)openai_refuse(&refusal, &ignored, &why);
    return err_set(err, ERR_PROTOCOL,
                   "%.480s: it has lost what it held for this run, as after a restart, or has no "
                   "%s; go on from the last checkpoint",
                   why.text, call->target);
}

/* Of a poll. */
static bool is_lost(int status)
{
    return status == 404 || status == 410;
}

static bool is_fine(const struct trying *trying, int status)
{
    return (status >= 200 && status < 300) || (status != 0 && status == trying->call->fine) ||
           (trying->poll && is_lost(status));
}

static int read_body(const struct tinker_link *link, const struct http_flow_answer *reply,
                     json_t **answer, struct err *err)
{
    *answer = NULL;
    if (reply->bytes == 0 || reply->status >= 300)
        return 0;
    int result = json_parse("its answer", reply->body, reply->bytes, answer, err);
    if (result < 0) {
        *answer = NULL;
        struct err why = *err;
        return err_set(err, ERR_PROTOCOL,
                       "%.200s: %.400s; only JSON is spoken here, as by SDKs up to 0.24", link->url,
                       why.text);
    }
    return 0;
}

static enum next try_once(struct trying *trying, struct http_flow *flow,
                          struct http_flow_answer *reply, json_t **answer, int *result,
                          struct err *err)
{
    struct tinker_link *link = trying->link;
    const struct tinker_call *call = trying->call;
    const int64_t most = call->once ? ONCE_MS : trying->poll ? POLL_MS : SUBMIT_MS;
    const int64_t bound = link->settings->policy_timeout_ms, left = left_ms(trying);
    const struct http_flow_call wanted = {
        .method = call->method,
        .target = call->target,
        .body = call->body ? call->body->data : NULL,
        .body_bytes = call->body ? call->body->len : 0,
        .whole_ms = least(least(bound, most), left > 1 ? left : 1),
        .max_bytes = LIMIT_CLIENT_ANSWER_BYTES,
    };
    trying->asked++;
    *result = http_flow_send(flow, &wanted, reply, err);
    if (reply->status != 0)
        link->known = true;
    if (*result == ERR_TIMEOUT)
        return NEXT_SILENT;
    if (*result < 0)
        return *result != ERR_IO                  ? NEXT_STOP
               : reply->unreached && !link->known ? NEXT_UNREACHED
                                                  : NEXT_BUSY;
    if (!is_fine(trying, reply->status)) {
        *result = refuse(link, call, reply, err);
        return next_of_status(trying, reply->status, reply->bytes);
    }
    *result = read_body(link, reply, answer, err);
    return *result < 0 ? NEXT_BAD : NEXT_STOP; /* it may have lost its end */
}

static int64_t since_ms(int64_t *from_ns, int64_t now_ns)
{
    if (*from_ns == 0)
        *from_ns = now_ns;
    return (now_ns - *from_ns) / 1000000;
}

/* How long to rest before another try, or RETRY_STOP. */
static int64_t pause_by_rules(struct trying *trying, enum next next, int64_t began_ns,
                              int64_t after_ms)
{
    const struct settings *settings = trying->link->settings;
    const struct retry_rules rules = {.patience_ms = settings->policy_patience_ms,
                                      .backoff_ms = settings->policy_backoff_ms};
    const int64_t now_ns = clock_now_ns();
    if (next != NEXT_SILENT)
        trying->silent_ns = 0;
    switch (next) {
    case NEXT_SILENT:
        trying->silent_ns = trying->silent_ns ? trying->silent_ns : began_ns;
        return since_ms(&trying->silent_ns, now_ns) < settings->policy_timeout_ms ? 0 : RETRY_STOP;
    case NEXT_UNPAID:
        return (double)since_ms(&trying->unpaid_ns, now_ns) < 1000 * trying->link->unpaid_s
                   ? UNPAID_STEP_MS
                   : RETRY_STOP;
    case NEXT_BAD:
        trying->bad++;
        if (trying->bad > (trying->poll ? BAD_POLLS : EMPTY_BAD))
            return RETRY_STOP;
        return settings->policy_backoff_ms;
    case NEXT_BUSY:
    case NEXT_UNREACHED:
        return retry_pause_ms(&trying->retry, &rules,
                              next == NEXT_BUSY ? RETRY_BUSY : RETRY_UNREACHED, after_ms, now_ns,
                              clock_secret());
    default:
        return RETRY_STOP;
    }
}

static int64_t pause_of(struct trying *trying, enum next next, int64_t began_ns, int64_t after_ms)
{
    if (trying->call->once)
        return RETRY_STOP;
    int64_t pause_ms = pause_by_rules(trying, next, began_ns, after_ms);
    return pause_ms < left_ms(trying) ? pause_ms : RETRY_STOP;
}

/* Until there is an answer, an error that stays, or (of a poll) a "not yet". */
static int ask(struct trying *trying, struct http_flow *flow, json_t **answer, struct err *err)
{
    struct tinker_link *link = trying->link;
    *answer = NULL;
    for (;;) {
        struct http_flow_answer reply = {0};
        int result = 0;
        const int64_t began_ns = clock_now_ns();
        enum next next = try_once(trying, flow, &reply, answer, &result, err);
        const int64_t after_ms = reply.retry_after_ms;
        trying->sent.status = reply.status;
        trying->sent.unknown = is_unknown(trying, &reply, result == 0);
        http_flow_answer_deinit(&reply);
        if (result == 0 || next == NEXT_AGAIN)
            return 0;
        char *clean = openai_redact(err->text, link->key);
        err_set(err, result, "%s", clean);
        mem_free(clean);
        int64_t pause_ms = pause_of(trying, next, began_ns, after_ms);
        if (pause_ms == RETRY_STOP) {
            if (trying->asked > 1 && result != ERR_CANCELLED) {
                struct err last = *err;
                err_set(err, result, "%s; asked %u times", last.text, trying->asked);
            }
            return result;
        }
        log_event(next == NEXT_UNPAID ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "policy", "asks again",
                  "why", err->text, NULL);
        if (policy_rest(link->cancelled, pause_ms, err) < 0)
            return ERR_CANCELLED;
    }
}

static int ask_on_a_connection(struct trying *trying, json_t **answer, struct err *err)
{
    struct http_flow *flow;
    struct err own;
    err = err ? err : &own; /* its text is read here, too */
    *answer = NULL;
    int result = http_pool_take(trying->link->pool, &flow, err);
    if (result < 0)
        return result;
    result = ask(trying, flow, answer, err);
    http_pool_leave(trying->link->pool, flow);
    return result;
}

int tinker_ask(struct tinker_link *link, const struct tinker_call *call, json_t **answer,
               struct tinker_sent *sent, struct err *err)
{
    struct trying trying = {.link = link,
                            .call = call,
                            .begun_ns = clock_now_ns(),
                            .most_ms = link->call_ms,
                            .sent = {.unknown = call->again}};
    int result = ask_on_a_connection(&trying, answer, err);
    if (sent)
        *sent = trying.sent;
    return result;
}

/* ------------------------------------------------------------------------------------- promises */

int tinker_submit(struct tinker_link *link, const struct tinker_call *call, char **id,
                  struct tinker_sent *sent, struct err *err)
{
    struct tinker_sent own;
    json_t *answer = NULL;
    sent = sent ? sent : &own;
    *id = NULL;
    int result = tinker_ask(link, call, &answer, sent, err);
    if (result == 0 && answer) {
        const char *text = json_text_at(answer, "request_id");
        if (text[0])
            *id = mem_strdup(text);
        else
            result = err_set(err, ERR_PROTOCOL, "%.200s: its answer to %s has no 'request_id'",
                             link->url, call->target);
    } else if (result == 0 && sent->status != call->fine) {
        result = err_set(err, ERR_PROTOCOL, "%.200s: its answer to %s is empty", link->url,
                         call->target);
    }
    json_decref(answer);
    return result;
}

/* One answer of a poll: 1 where there is to be another. */
static int read_poll(const struct tinker_link *link, const char *target, json_t *answer, int status,
                     json_t **result, struct err *err)
{
    const char *why;
    bool mine;
    if (is_lost(status))
        return err_set(err, ERR_MISSING, "%.200s: it has lost what came of %s", link->url, target);
    if (!answer)
        return 1;
    enum tinker_state state = tinker_read_future(answer, &why, &mine);
    if (state == TINKER_DONE) {
        *result = json_incref(answer);
        return 0;
    }
    if (state == TINKER_AGAIN) {
        if (why)
            log_event(LOG_LEVEL_INFO, "policy", "waits for its turn", "why", why, NULL);
        return 1;
    }
    char *clean = openai_redact(why, link->key);
    int code = err_set(err, mine ? ERR_INPUT : ERR_IO, "%.200s: %s: %.400s", link->url, target,
                       clean);
    mem_free(clean);
    return code;
}

static int be_late(const struct tinker_link *link, const char *target, struct err *err)
{
    return err_set(err, ERR_TIMEOUT, "%.200s: nothing came of %s in %.3g s (%s)", link->url, target,
                   (double)link->promise_ms * 1e-3, link->setting);
}

/* One poll: 1 where there is to be another. */
static int poll_once(struct trying *trying, const char *target, json_t **result, struct err *err)
{
    struct tinker_link *link = trying->link;
    json_t *answer = NULL;
    const int64_t began_ns = clock_now_ns();
    trying->retry = (struct retry){0};
    trying->bad = trying->asked = 0;
    trying->silent_ns = trying->unpaid_ns = 0;
    int code = ask_on_a_connection(trying, &answer, err);
    if (code == 0)
        code = read_poll(link, target, answer, trying->sent.status, result, err);
    json_decref(answer);
    if (code == 1 && trying->call->once)
        return err_set(err, ERR_TIMEOUT, "%.200s: it takes its time", link->url);
    if ((code == 1 || code == ERR_TIMEOUT) && left_ms(trying) <= 0)
        return be_late(link, target, err);
    if (code == 1 && clock_ms_since(began_ns) < QUICK_MS &&
        policy_rest(link->cancelled, (int64_t)QUICK_MS, err) < 0)
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
                                     .once = call->once};
    struct trying trying = {.link = link,
                            .call = &poll,
                            .poll = true,
                            .begun_ns = clock_now_ns(),
                            .most_ms = link->promise_ms};
    *result = NULL;
    while (code == 1)
        code = poll_once(&trying, call->target, result, err);
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
