/* openai: any OpenAI-compatible chat endpoint as a policy. */
#include "policy/policy_ops.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "policy/openai_answer.h"
#include "policy/openai_link.h"
#include "policy/openai_request.h"
#include "policy/policy_settings.h"
#include "policy/sse.h"

#include <stdio.h>

struct openai {
    const struct settings *settings;
    struct endpoint endpoint;
    json_t *extra;
    char *model;
};

/* The response under way, from bytes to answer. */
struct conversation {
    struct openai_reading reading;
    struct sse sse;
    int64_t first_ns; /* when its first token was read; 0: not yet */
};

static int on_event(void *context, const char *data, size_t count, struct err *err)
{
    struct conversation *conversation = context;
    return openai_read_event(&conversation->reading, data, count, err);
}

static int on_bytes(void *context, const char *bytes, size_t count, struct err *err)
{
    struct conversation *conversation = context;
    struct openai_reading *reading = &conversation->reading;
    int64_t steps = reading->steps;
    int result = sse_feed(&conversation->sse, bytes, count, err);
    if (result < 0)
        return result;
    if (reading->done)
        return HTTP_FLOW_DONE;
    if (reading->steps == steps)
        return 0;
    if (!conversation->first_ns)
        conversation->first_ns = clock_now_ns();
    return HTTP_FLOW_PROGRESS;
}

static void begin_attempt(void *context)
{
    struct conversation *conversation = context;
    openai_reading_reset(&conversation->reading);
    sse_reset(&conversation->sse);
    conversation->first_ns = 0;
}

static int read_answer(void *context, const struct http_flow_answer *reply, struct err *err)
{
    struct openai_reading *reading = &((struct conversation *)context)->reading;
    if (reply->bytes > 0)
        return openai_read_whole(reading, reply->body, reply->bytes, err);
    if (!openai_reading_is_whole(reading))
        return err_set(err, ERR_PROTOCOL, "the answer was cut off after %zu bytes",
                       reading->text.len + reading->reasoning.len);
    return 0;
}

static int stream_error_of(void *context, const char **text)
{
    const struct openai_reading *reading = &((struct conversation *)context)->reading;
    if (reading->refused)
        *text = reading->refusal;
    return reading->refused;
}

static int request_answer(struct openai *openai, struct conversation *conversation,
                          const struct buf *body, struct policy_answer *answer, struct err *err)
{
    const struct policy_settings *policy = policy_settings(openai->settings);
    const struct openai_exchange exchange = {
        .call = {.method = "POST",
                 .target = "/chat/completions",
                 .body = body->data,
                 .body_bytes = body->len,
                 .first_ms = policy->stream ? policy->first_token_timeout_ms : 0,
                 .between_ms = policy->token_timeout_ms,
                 .whole_ms = policy->timeout_ms,
                 .max_bytes = LIMIT_STREAM_BYTES,
                 .on_bytes = on_bytes,
                 .context = conversation},
        .begin = begin_attempt,
        .read = read_answer,
        .refusal = stream_error_of,
        .context = conversation,
    };
    int64_t began_ns;
    int result = openai_request(&openai->endpoint, &exchange, &answer->asked, &began_ns, err);
    if (result < 0)
        return result;
    answer->answer_ms = clock_ms_since(began_ns);
    if (conversation->first_ns)
        answer->first_token_ms = (double)(conversation->first_ns - began_ns) * 1e-6;
    openai_reading_take(&conversation->reading, answer);
    return 0;
}

static int openai_complete(void *state, const struct policy_request *request,
                           struct policy_answer *answer, struct err *err)
{
    struct openai *openai = state;
    struct conversation conversation = {0};
    struct buf body;
    buf_init(&body, LIMIT_PROMPT_BYTES);
    openai_reading_init(&conversation.reading);
    sse_init(&conversation.sse, LIMIT_EVENT_BYTES, on_event, &conversation);
    int result = openai_body(openai->settings, openai->model, openai->extra, request, &body, err);
    if (result == 0)
        result = request_answer(openai, &conversation, &body, answer, err);
    sse_deinit(&conversation.sse);
    openai_reading_deinit(&conversation.reading);
    buf_deinit(&body);
    return result;
}

/* {"data": [{"id"}, …]}, {"models": […]} or the list itself. */
static int read_models(void *context, const struct http_flow_answer *reply, struct err *err)
{
    json_t **openai_models = context, *object = NULL, *item;
    struct err why;
    size_t i;
    json_decref(*openai_models);
    *openai_models = json_array();
    if (json_parse("answer", reply->body, reply->bytes, &object, &why) < 0)
        return err_set(err, ERR_PROTOCOL, "its list of models is not JSON (%s)", why.text);
    const json_t *list = json_is_array(object) ? object : json_object_get(object, "data");
    list = list ? list : json_object_get(object, "models");
    json_array_foreach(list, i, item)
    {
        const json_t *id = json_object_get(item, "id");
        if (json_is_string(id) && i < LIMIT_MODELS)
            json_array_append(*openai_models, (json_t *)id);
    }
    json_decref(object);
    return 0;
}

static int openai_models(void *state, json_t **list, struct err *err)
{
    struct openai *openai = state;
    const struct policy_settings *policy = policy_settings(openai->settings);
    const struct openai_exchange exchange = {
        .call = {.method = "GET",
                 .target = "/models",
                 .whole_ms = policy->connect_timeout_ms + policy->token_timeout_ms,
                 .max_bytes = LIMIT_CLIENT_ANSWER_BYTES},
        .read = read_models,
        .context = list,
    };
    unsigned asked;
    int64_t began_ns;
    *list = NULL;
    int result = openai_request(&openai->endpoint, &exchange, &asked, &began_ns, err);
    if (result < 0) {
        json_decref(*list);
        *list = NULL;
    }
    return result;
}

static int refuse_several_models(const char *url, const json_t *list, struct err *err)
{
    char names[400] = "";
    size_t i, used = 0;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        size_t capacity = sizeof names - used;
        int length = snprintf(names + used, capacity, "%s%.100s", i ? ", " : "",
                              json_string_value(item));
        if ((size_t)length + 8 >= capacity) {
            snprintf(names + used, capacity, ", …");
            break;
        }
        used += (size_t)length;
    }
    if (json_array_size(list) == 0)
        return err_set(err, ERR_INPUT,
                       "%.200s lists no models: name one with --model or policy.model", url);
    return err_set(err, ERR_INPUT,
                   "%.200s has %zu models: name one with --model or policy.model (%s)", url,
                   json_array_size(list), names);
}

static int find_model(struct openai *openai, const struct policy_options *options, struct err *err)
{
    json_t *list;
    if (options->model) {
        openai->model = mem_strdup(options->model);
        return 0;
    }
    int result = openai_models(openai, &list, err);
    if (result < 0)
        return result;
    if (json_array_size(list) == 1)
        openai->model = mem_strdup(json_string_value(json_array_get(list, 0)));
    else
        result = refuse_several_models(options->url, list, err);
    json_decref(list);
    return result;
}

static void openai_close(void *state)
{
    struct openai *openai = state;
    endpoint_close(&openai->endpoint);
    json_decref(openai->extra);
    mem_free(openai->model);
    mem_free(openai);
}

static int openai_open(void **state, const struct policy_options *options, struct err *err)
{
    struct openai *openai = mem_alloc(sizeof *openai);
    const struct policy_settings *policy = policy_settings(options->settings);
    const struct endpoint_options server = {.url = options->url,
                                            .settings = options->settings,
                                            .cancelled = options->cancelled,
                                            .variable = "OPENAI_API_KEY",
                                            .at_once = (size_t)policy->concurrency};
    openai->settings = options->settings;
    int result = openai_extra(policy->extra, &openai->extra, err);
    if (result < 0)
        err_prefix(err, "policy.extra");
    if (result == 0)
        result = endpoint_open(&openai->endpoint, &server, err);
    if (result == 0)
        result = find_model(openai, options, err);
    if (result < 0) {
        openai_close(openai);
        return result;
    }
    *state = openai;
    return 0;
}

static const char *openai_model(const void *state)
{
    return ((const struct openai *)state)->model;
}

const struct policy_ops policy_openai = {
    .kind = "openai",
    .prefixes = {"http://", "https://", NULL},
    .open = openai_open,
    .close = openai_close,
    .model = openai_model,
    .models = openai_models,
    .complete = openai_complete,
};
