#include "server/tinker/body.h"

#include "server/tinker/names.h"

json_t *tinker_body(struct http_request *request, struct http_response *response)
{
    json_t *body = http_json(request, response);
    if (body && !json_is_object(body)) {
        http_refuse(response, 400, "invalid", "the body must be a JSON object");
        return NULL;
    }
    return body;
}

const char *tinker_word(const json_t *body, const char *key, struct http_response *response)
{
    const char *word = json_text_at(body, key);
    if (tinker_is_plain(word))
        return word;
    http_refuse(response, 400, "invalid", "'%s' is missing or no id", key);
    return NULL;
}

int64_t tinker_number(const json_t *body, const char *key)
{
    const json_t *value = json_object_get(body, key);
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
                                                                    : -1;
}
