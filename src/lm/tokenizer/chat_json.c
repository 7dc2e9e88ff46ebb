#include "lm/tokenizer/chat_json.h"

#include "base/array.h"
#include "base/limits.h"

#include <string.h>

static const struct {
    const char *sent, *role;
} roles[] = {{"system", "system"},
             {"developer", "system"},
             {"user", "user"},
             {"assistant", "assistant"},
             {"tool", "tool"}};

static int read_role(const json_t *object, const char **role, struct err *err)
{
    const char *sent;
    int result = json_get_string(object, "role", &sent, err);
    for (size_t i = 0; result == 0 && i < COUNT(roles); i++)
        if (strcmp(sent, roles[i].sent) == 0) {
            *role = roles[i].role;
            return 0;
        }
    return result < 0 ? result
                      : err_set(err, ERR_INPUT,
                                "\"role\": '%.40s' is none of system, user, assistant "
                                "and tool",
                                sent);
}

/* Its text parts, one behind the other. */
static int read_parts(const json_t *list, struct arena *arena, const char **content,
                      struct err *err)
{
    struct buf text;
    size_t i;
    json_t *part;
    int result = 0;
    buf_init(&text, LIMIT_PROMPT_BYTES);
    json_array_foreach(list, i, part)
    {
        const json_t *value = json_object_get(part, "text");
        if (strcmp(json_text_at(part, "type"), "text") != 0 || !json_is_string(value)) {
            result = err_set(err, ERR_INPUT,
                             "\"content\": part %zu is no {\"type\": \"text\", \"text\": …}: the "
                             "model reads text alone",
                             i);
            break;
        }
        buf_append(&text, json_string_value(value), json_string_length(value));
    }
    if (result == 0 && text.cut)
        result = err_set(err, ERR_LIMIT, "\"content\" has more than %zu bytes", LIMIT_PROMPT_BYTES);
    if (result == 0)
        *content = arena_strndup(arena, text.data, text.len);
    buf_deinit(&text);
    return result;
}

static int read_content(const json_t *object, struct arena *arena, const char **content,
                        struct err *err)
{
    const json_t *value = json_object_get(object, "content");
    if (json_is_array(value))
        return read_parts(value, arena, content, err);
    if (!json_is_string(value))
        return err_set(err, ERR_INPUT,
                       value ? "\"content\" is neither a text nor a list of parts"
                             : "\"content\" is missing");
    *content = json_string_value(value);
    return 0;
}

static int read_reasoning(const json_t *object, struct chat_message *message, struct err *err)
{
    int result = json_find_string(object, "reasoning_content", &message->reasoning, err);
    if (result == 0 && !message->reasoning)
        result = json_find_string(object, "reasoning", &message->reasoning, err);
    return result;
}

static int read_message(const json_t *object, struct arena *arena, struct chat_message *message,
                        struct err *err)
{
    *message = (struct chat_message){.role = ""};
    if (!json_is_object(object))
        return err_set(err, ERR_INPUT, "is no object");
    int result = read_role(object, &message->role, err);
    if (result == 0 && json_array_size(json_object_get(object, "tool_calls")) > 0)
        result = err_set(err, ERR_INPUT,
                         "\"tool_calls\" are not known here: write them into "
                         "\"content\"");
    if (result == 0)
        result = read_content(object, arena, &message->content, err);
    if (result == 0 && strcmp(message->role, "assistant") == 0)
        result = read_reasoning(object, message, err);
    return result;
}

int chat_json_read(const json_t *list, struct arena *arena, struct chat_message **messages,
                   size_t *count, struct err *err)
{
    *count = json_array_size(list);
    if (!json_is_array(list) || *count == 0)
        return err_set(err, ERR_INPUT, "\"messages\" is no list of at least one message");
    *messages = arena_alloc(arena, *count * sizeof **messages);
    for (size_t i = 0; i < *count; i++)
        if (read_message(json_array_get(list, i), arena, &(*messages)[i], err) < 0)
            return err_prefix(err, "messages[%zu]", i);
    return 0;
}
