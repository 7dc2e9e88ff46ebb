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

const struct mcp_version mcp_versions[] = {
    {.name = "2024-11-05"},
    {.name = "2025-03-26", .batches = true, .annotations = true},
    {.name = "2025-06-18", .annotations = true, .structured = true},
    {.name = "2025-11-25", .annotations = true, .structured = true},
    {.name = "2026-07-28", .stateless = true, .annotations = true, .structured = true},
    {.name = NULL},
};

const struct mcp_version *mcp_version_named(const char *name)
{
    for (const struct mcp_version *version = mcp_versions; name && version->name; version++)
        if (strcmp(version->name, name) == 0)
            return version;
    return NULL;
}

const struct mcp_version *mcp_version_agree(const char *wanted)
{
    const struct mcp_version *version = mcp_version_named(wanted);
    if (version && !version->stateless)
        return version;
    for (const struct mcp_version *row = mcp_versions; row->name; row++)
        version = row->stateless ? version : row;
    return version;
}

json_t *mcp_version_names(void)
{
    json_t *names = json_array();
    for (const struct mcp_version *version = mcp_versions; version->name; version++)
        json_array_append_new(names, json_string(version->name));
    return names;
}

bool mcp_version_is_stateless(const struct mcp_message *message)
{
    return json_object_get(message->meta, MCP_META "protocolVersion") != NULL;
}

const struct mcp_version *mcp_version_of(const struct mcp_message *message, int *code,
                                         json_t **data, struct err *err)
{
    const json_t *name = json_object_get(message->meta, MCP_META "protocolVersion");
    const json_t *capabilities = json_object_get(message->meta, MCP_META "clientCapabilities");
    const struct mcp_version *version = mcp_version_named(json_string_value(name));
    *data = NULL;
    *code = MCP_INVALID_PARAMS;
    if (!json_is_string(name)) {
        err_set(err, ERR_INPUT, "params._meta needs \"%sprotocolVersion\", a string", MCP_META);
        return NULL;
    }
    if (!json_is_object(capabilities)) {
        err_set(err, ERR_INPUT, "params._meta needs \"%sclientCapabilities\", an object", MCP_META);
        return NULL;
    }
    if (version && version->stateless)
        return version;
    *code = MCP_UNSUPPORTED_VERSION;
    *data = json_object();
    json_put(*data, "supported", mcp_version_names());
    json_put(*data, "requested", json_incref((json_t *)name));
    err_set(err, ERR_UNSUPPORTED, "Unsupported protocol version");
    return NULL;
}
