#include "server/mcp/message.h"

#include "base/json.h"
#include "base/limits.h"

#include <string.h>

static bool is_id(const json_t *id)
{
    return json_is_integer(id) ||
           (json_is_string(id) && json_string_length(id) <= LIMIT_MCP_ID_BYTES);
}

static int read_call(const json_t *object, struct mcp_message *message, struct err *err)
{
    const json_t *params = json_object_get(object, "params");
    message->method = json_string_value(json_object_get(object, "method"));
    if (!message->method)
        return err_set(err, ERR_INPUT, "method: must be a string");
    if (params && !json_is_object(params))
        return err_set(err, ERR_INPUT, "params: must be an object");
    const json_t *meta = json_object_get(params, "_meta");
    if (meta && !json_is_object(meta))
        return err_set(err, ERR_INPUT, "params._meta: must be an object");
    message->params = params;
    message->meta = meta;
    return 0;
}

int mcp_message_read(const json_t *object, struct mcp_message *message, struct err *err)
{
    const json_t *id = json_object_get(object, "id");
    const char *version = json_string_value(json_object_get(object, "jsonrpc"));
    *message = (struct mcp_message){.id = is_id(id) ? id : NULL};
    if (!json_is_object(object))
        return err_set(err, ERR_INPUT, "a message must be an object");
    if (!version || strcmp(version, "2.0") != 0)
        return err_set(err, ERR_INPUT, "jsonrpc: must be \"2.0\"");
    if (!json_object_get(object, "method") &&
        (json_object_get(object, "result") || json_object_get(object, "error"))) {
        message->kind = MCP_RESPONSE;
        return 0;
    }
    if (id && !message->id)
        return err_set(err, ERR_INPUT, "id: must be a string of at most %d bytes, or an integer",
                       LIMIT_MCP_ID_BYTES);
    message->kind = id ? MCP_REQUEST : MCP_NOTIFICATION;
    return read_call(object, message, err);
}

static json_t *message_new(const json_t *id)
{
    json_t *message = json_object();
    json_put(message, "jsonrpc", json_string("2.0"));
    json_put(message, "id", id ? json_deep_copy(id) : json_null());
    return message;
}

json_t *mcp_message_result(const json_t *id, json_t *result)
{
    json_t *message = message_new(id);
    json_put(message, "result", result);
    return message;
}

json_t *mcp_message_error(const json_t *id, int code, const char *text, json_t *data)
{
    json_t *message = message_new(id), *error = json_object();
    json_put(error, "code", json_integer(code));
    json_put(error, "message", json_text(text));
    if (data)
        json_put(error, "data", data);
    json_put(message, "error", error);
    return message;
}

json_t *mcp_message_notification(const char *method, json_t *params)
{
    json_t *message = json_object();
    json_put(message, "jsonrpc", json_string("2.0"));
    json_put(message, "method", json_string(method));
    json_put(message, "params", params);
    return message;
}
