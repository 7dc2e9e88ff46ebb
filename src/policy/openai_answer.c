#include "policy/openai_answer.h"

#include "base/json.h"
#include "base/json_mend.h"
#include "base/limits.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* One byte more than is read of an answer: its record reports that it was longer. */
#define KEPT_BYTES (LIMIT_ANSWER_BYTES + 1)

void openai_reading_init(struct openai_reading *reading)
{
    *reading = (struct openai_reading){
        .prompt_tokens = -1,
        .completion_tokens = -1,
        .cached_tokens = -1,
    };
    buf_init(&reading->text, KEPT_BYTES);
    buf_init(&reading->reasoning, KEPT_BYTES);
}

void openai_reading_deinit(struct openai_reading *reading)
{
    buf_deinit(&reading->text);
    buf_deinit(&reading->reasoning);
    mem_free(reading->model);
    mem_free(reading->refusal);
    json_decref(reading->logprobs);
    *reading = (struct openai_reading){0};
}

void openai_reading_reset(struct openai_reading *reading)
{
    openai_reading_deinit(reading);
    openai_reading_init(reading);
}

/* A text, or a list of parts: {"text": …} of the answer, {"thinking": [parts]} of the reasoning. */
static bool add_content(struct openai_reading *reading, struct buf *out, const json_t *content)
{
    bool some = false;
    size_t i;
    json_t *part;
    if (json_is_string(content)) {
        buf_append(out, json_string_value(content), json_string_length(content));
        return json_string_length(content) > 0;
    }
    json_array_foreach(content, i, part)
    {
        const json_t *thinking = json_object_get(part, "thinking");
        const json_t *text = json_object_get(part, "text");
        size_t k;
        json_t *inner;
        if (json_is_string(thinking))
            some |= add_content(reading, &reading->reasoning, thinking);
        json_array_foreach(thinking, k, inner)
        {
            const json_t *thought = json_object_get(inner, "text");
            if (json_is_string(thought))
                some |= add_content(reading, &reading->reasoning, thought);
        }
        if (json_is_string(text))
            some |= add_content(reading, out, text);
    }
    return some;
}

/* {"content": [{"token", "logprob"}, …]}. One malformed entry discards the list: a list that does
 * not match the answer token by token is worse than none. */
static void add_logprobs(struct openai_reading *reading, const json_t *logprobs)
{
    const json_t *list = json_object_get(logprobs, "content");
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        json_t *token = json_object_get(item, "token"), *value = json_object_get(item, "logprob");
        if (!json_is_string(token) || !json_is_number(value)) {
            reading->logprobs_broken = true;
            continue;
        }
        if (!reading->logprobs)
            reading->logprobs = json_array();
        json_t *kept = json_object();
        json_object_set(kept, "token", token);
        json_object_set(kept, "logprob", value);
        json_array_append_new(reading->logprobs, kept);
    }
}

/* One of `choices`: the message under `key` ("delta", "message") and the fields beside it. */
static bool add_choice(struct openai_reading *reading, const json_t *choice, const char *key)
{
    const json_t *message = json_object_get(choice, key);
    const json_t *reasoning = json_object_get(message, "reasoning_content");
    const char *finish = json_string_value(json_object_get(choice, "finish_reason"));
    if (!json_is_string(reasoning))
        reasoning = json_object_get(message, "reasoning");
    bool some = add_content(reading, &reading->text, json_object_get(message, "content"));
    some |= add_content(reading, &reading->text, json_object_get(message, "refusal"));
    if (json_is_string(reasoning))
        some |= add_content(reading, &reading->reasoning, reasoning);
    add_logprobs(reading, json_object_get(choice, "logprobs"));
    if (finish)
        snprintf(reading->finish, sizeof reading->finish, "%s", finish);
    return some || finish;
}

static void set_count(int64_t *out, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *out = json_integer_value(value);
}

static bool add_usage(struct openai_reading *reading, const json_t *usage)
{
    if (!json_is_object(usage))
        return false;
    set_count(&reading->prompt_tokens, json_object_get(usage, "prompt_tokens"));
    set_count(&reading->completion_tokens, json_object_get(usage, "completion_tokens"));
    set_count(&reading->cached_tokens, json_object_get(usage, "prompt_cache_hit_tokens"));
    set_count(&reading->cached_tokens,
              json_object_get(json_object_get(usage, "prompt_tokens_details"), "cached_tokens"));
    return true;
}

/* An error inside the stream, or instead of an answer under a status of 200. */
static int record_error(struct openai_reading *reading, const json_t *error, const char *data,
                        struct err *err)
{
    const json_t *code = json_object_get(error, "code");
    int64_t status = json_integer_value(code);
    if (!json_is_integer(code))
        status = json_integer_value(json_object_get(error, "status"));
    reading->refused = status >= 400 && status < 600 ? (int)status : 500;
    mem_free(reading->refusal);
    reading->refusal = mem_strdup(data);
    return err_set(err, ERR_IO, "the endpoint reports an error");
}

static int add_response(struct openai_reading *reading, const json_t *object, const char *key,
                        const char *data, struct err *err)
{
    const json_t *error = json_object_get(object, "error");
    const json_t *choice = json_array_get(json_object_get(object, "choices"), 0);
    const char *model = json_string_value(json_object_get(object, "model"));
    if (error && !json_is_null(error))
        return record_error(reading, error, data, err);
    if (model && model[0] && !reading->model)
        reading->model = mem_printf("%.*s", LIMIT_NAME_BYTES, model);
    bool some = add_choice(reading, choice, key);
    some |= add_usage(reading, json_object_get(object, "usage"));
    reading->steps += some;
    if (reading->text.cut || reading->reasoning.cut) {
        /* What is beyond is not read, so it is not waited for. */
        snprintf(reading->finish, sizeof reading->finish, "length");
        reading->logprobs_broken = reading->done = true;
    }
    if (strcmp(reading->finish, "error") == 0)
        return record_error(reading, choice, data, err);
    return 0;
}

int openai_read_event(struct openai_reading *reading, const char *data, size_t count,
                      struct err *err)
{
    json_t *object = NULL;
    struct err why;
    if (strcmp(data, "[DONE]") == 0) {
        reading->done = true;
        return 0;
    }
    if (reading->done)
        return 0;
    if (json_parse_mended("event", 1, data, count, &object, &why) < 0)
        return err_set(err, ERR_PROTOCOL, "the stream holds an event that is not JSON (%s)",
                       why.text);
    int result = add_response(reading, object, "delta", data, err);
    json_decref(object);
    return result;
}

int openai_read_whole(struct openai_reading *reading, const char *body, size_t bytes,
                      struct err *err)
{
    json_t *object = NULL;
    struct err why;
    if (json_parse_mended("answer", 1, body, bytes, &object, &why) < 0)
        return err_set(err, ERR_PROTOCOL, "the answer is not JSON (%s)", why.text);
    const json_t *choice = json_array_get(json_object_get(object, "choices"), 0);
    int result = add_response(reading, object, "message", body, err);
    if (result == 0 && !json_is_object(json_object_get(choice, "message")))
        result = err_set(err, ERR_PROTOCOL, "the answer holds no message");
    reading->done = result == 0;
    json_decref(object);
    return result;
}

bool openai_reading_is_whole(const struct openai_reading *reading)
{
    return reading->done || reading->finish[0];
}

void openai_reading_take(struct openai_reading *reading, struct policy_answer *answer)
{
    answer->text = buf_take(&reading->text);
    buf_init(&reading->text, KEPT_BYTES);
    if (reading->reasoning.len > 0) {
        answer->reasoning = buf_take(&reading->reasoning);
        buf_init(&reading->reasoning, KEPT_BYTES);
    }
    answer->model = reading->model;
    reading->model = NULL;
    snprintf(answer->finish, sizeof answer->finish, "%s", reading->finish);
    answer->prompt_tokens = reading->prompt_tokens;
    answer->completion_tokens = reading->completion_tokens;
    answer->cached_tokens = reading->cached_tokens;
    if (!reading->logprobs_broken) {
        answer->logprobs = reading->logprobs;
        reading->logprobs = NULL;
    }
}
