#include "gym/prompt/fit.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/json.h"

#include <string.h>

static int64_t message_tokens(const json_t *message)
{
    int64_t bytes = (int64_t)json_string_length(json_object_get(message, "content"));
    return PROMPT_MESSAGE_TOKENS + (bytes + PROMPT_BYTES_PER_TOKEN - 1) / PROMPT_BYTES_PER_TOKEN;
}

int64_t prompt_tokens(const json_t *messages)
{
    int64_t tokens = 0;
    for (size_t i = 0; i < json_array_size(messages); i++)
        tokens += message_tokens(json_array_get(messages, i));
    return tokens;
}

/* The index of the first message that is no system message. */
static size_t task_index(const json_t *messages)
{
    return strcmp(json_text_at(json_array_get(messages, 0), "role"), "system") == 0;
}

bool prompt_leave_out(struct prompt_plan *plan, const json_t *messages, int64_t over)
{
    size_t index = task_index(messages) + 1;
    bool left = false;
    while (!plan->last_only && over > 0 && plan->first_turn + 1 < plan->turn_count) {
        over -= message_tokens(json_array_get(messages, index)) +
                message_tokens(json_array_get(messages, index + 1));
        index += 2;
        plan->first_turn++;
        left = true;
    }
    if (left)
        return true;
    if (plan->retrieved > 0)
        plan->retrieved--;
    else if (plan->worked > 0)
        plan->worked--;
    else if (!plan->short_answer && !plan->last_only && plan->turn_count > 0)
        plan->short_answer = true;
    else
        return false;
    return true;
}

int prompt_too_large(const struct prompt_plan *plan, const char *problem_id, const json_t *messages,
                     int64_t budget, struct err *err)
{
    static const char *const names[] = {"the system message", "the task", "the last answer",
                                        "the last feedback"};
    size_t count = json_array_size(messages), task = task_index(messages);
    bool shown = plan->turn_count > 0 && !plan->last_only;
    int64_t tokens[] = {
        task ? message_tokens(json_array_get(messages, 0)) : 0,
        message_tokens(json_array_get(messages, task)),
        shown ? message_tokens(json_array_get(messages, count - 2)) : 0,
        shown ? message_tokens(json_array_get(messages, count - 1)) : 0,
    };
    struct buf parts;
    size_t largest = 0;
    buf_init(&parts, ERR_TEXT_MAX / 2);
    for (size_t i = 0; i < COUNT(tokens); i++) {
        largest = tokens[i] > tokens[largest] ? i : largest;
        if (tokens[i] > 0)
            buf_printf(&parts, "%s%s%s %lld", parts.len ? ", " : "", names[i],
                       i == 1 && plan->turn_count > 0 && !shown ? " with the last feedback" : "",
                       (long long)tokens[i]);
    }
    int result = err_set(err, ERR_LIMIT,
                         "the prompt of problem '%.100s' needs about %lld tokens at the least, the "
                         "token budget is %lld: %s; shorten %s or raise the budget",
                         problem_id, (long long)prompt_tokens(messages), (long long)budget,
                         parts.data, names[largest]);
    buf_deinit(&parts);
    return result;
}
