#include "policy/openai_request.h"

#include "base/array.h"
#include "base/json.h"
#include "policy/policy_settings.h"

#include <string.h>

#define SEED_MASK 0x7fffffff /* some endpoints take signed 32 bits */

int openai_extra(const char *text, json_t **extra, struct err *err)
{
    static const struct {
        const char *key, *instead;
    } ours[] = {
        {"messages", "the prompt sets them"},
        {"model", "set policy.model"},
        {"stream", "set policy.stream"},
        {"n", "each request asks for one answer"},
    };
    *extra = NULL;
    if (!*text)
        return 0;
    int result = json_parse("policy.extra", text, strlen(text), extra, err);
    if (result < 0)
        return err_set(err, ERR_INPUT, "it is not a JSON object; write it like {\"top_k\": 20}");
    if (!json_is_object(*extra))
        result = err_set(err, ERR_INPUT, "it is a list; write an object like {\"top_k\": 20}");
    for (size_t i = 0; result == 0 && i < COUNT(ours); i++)
        if (json_object_get(*extra, ours[i].key))
            result = err_set(err, ERR_INPUT, "it may not set \"%s\": %s", ours[i].key,
                             ours[i].instead);
    if (result < 0) {
        json_decref(*extra);
        *extra = NULL;
    }
    return result;
}

/* The extra keys come last: they override, and null removes a key. */
static void merge(json_t *body, const json_t *extra)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)extra, key, value)
    {
        if (json_is_null(value))
            json_object_del(body, key);
        else
            json_object_set(body, key, value);
    }
}

int openai_body(const struct settings *settings, const char *model, const json_t *extra,
                const struct policy_request *request, struct buf *out, struct err *err)
{
    const struct policy_settings *policy = policy_settings(settings);
    json_t *body = json_object();
    json_put(body, "model", json_text(model));
    json_object_set(body, "messages", (json_t *)request->messages);
    if (policy->temperature.given)
        json_put(body, "temperature", json_number(policy->temperature.value));
    if (policy->top_p.given)
        json_put(body, "top_p", json_number(policy->top_p.value));
    if (policy->max_tokens.given)
        json_put(body, word_at(WORDS_IN(POLICY_MAX_TOKENS_KEYS), policy->max_tokens_key),
                 json_integer(policy->max_tokens.value));
    if (policy->stop[0])
        json_put(body, "stop", json_text(policy->stop));
    if (policy->seed)
        json_put(body, "seed", json_integer((json_int_t)(request->seed & SEED_MASK)));
    if (policy->logprobs)
        json_put(body, "logprobs", json_true());
    if (policy->stream) {
        json_put(body, "stream", json_true());
        json_put(body, "stream_options", json_pack("{s:b}", "include_usage", 1));
    }
    merge(body, extra);
    int result = json_line_write(body, out, err);
    json_decref(body);
    if (result == ERR_LIMIT)
        return err_set(err, ERR_LIMIT, "the conversation has more than %zu bytes", out->max_bytes);
    return result;
}
