#include "server/mcp/version.h"

#include "base/json.h"

#include <string.h>

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
