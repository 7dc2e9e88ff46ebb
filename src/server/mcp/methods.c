/* The methods of the protocol, one row each, and their functions. */
#include "server/mcp/internal.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "server/mcp/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 100
#define NAMES_MAX 32
#define JSON_TEXT_BYTES ((size_t)16 << 20)
#define LONG_MS 3600000
#define SHORT_MS 60000

static json_t *capabilities_json(void)
{
    return json_pack("{s:{}, s:{}, s:{}, s:{}}", "tools", "resources", "prompts", "logging");
}

static json_t *server_info(const struct mcp_call *call, const struct mcp_version *version)
{
    json_t *info = json_pack("{s:s, s:s}", "name", "warpgym", "version", WARPGYM_VERSION);
    if (version->structured)
        json_put(info, "title",
                 json_deep_copy(json_object_get(call->mcp->service->catalogue, "title")));
    return info;
}

static json_t *instructions_json(const struct mcp_call *call)
{
    return json_deep_copy(json_object_get(call->mcp->service->catalogue, "instructions"));
}

void mcp_client_text(const json_t *info, char text[MCP_CLIENT_BYTES])
{
    const char *name = json_string_value(json_object_get(info, "name"));
    const char *version = json_string_value(json_object_get(info, "version"));
    snprintf(text, MCP_CLIENT_BYTES, "%s%s%s", name ? name : "", name && version ? " " : "",
             version ? version : "");
    printable_text(text, false);
}

static int answer_initialize(struct mcp_call *call, json_t **result, struct err *err)
{
    struct mcp_session *session = call->session;
    const char *wanted;
    if (json_get_string(call->params, "protocolVersion", &wanted, err) < 0)
        return err_prefix(err, "params");
    const struct mcp_version *version = mcp_version_agree(wanted);
    call->code = MCP_INVALID_REQUEST;
    if (!session)
        return err_set(err, ERR_INPUT, "no session to initialize");
    pthread_mutex_lock(&call->mcp->lock);
    bool again = session->version != NULL;
    if (!again) {
        session->version = version;
        mcp_client_text(json_object_get(call->params, "clientInfo"), session->client);
    }
    pthread_mutex_unlock(&call->mcp->lock);
    if (again)
        return err_set(err, ERR_INPUT, "this session is initialized already");
    *result = json_pack("{s:s, s:o, s:o, s:o}", "protocolVersion", version->name, "capabilities",
                        capabilities_json(), "serverInfo", server_info(call, version),
                        "instructions", instructions_json(call));
    return 0;
}

static int answer_discover(struct mcp_call *call, json_t **result, struct err *err)
{
    *result = json_pack("{s:o, s:o, s:o}", "supportedVersions", mcp_version_names(), "capabilities",
                        capabilities_json(), "instructions", instructions_json(call));
    return 0;
}

static int answer_ping(struct mcp_call *call, json_t **result, struct err *err)
{
    (void)call, (void)err;
    *result = json_object();
    return 0;
}

static int set_level(struct mcp_call *call, json_t **result, struct err *err)
{
    const char *name;
    if (json_get_string(call->params, "level", &name, err) < 0)
        return err_prefix(err, "params");
    enum mcp_level level = mcp_level_of(name);
    if (level == MCP_LEVEL_COUNT)
        return err_set(err, ERR_INPUT, "params.level: unknown level '%.40s'", name);
    pthread_mutex_lock(&call->mcp->lock);
    call->session->level = level;
    pthread_mutex_unlock(&call->mcp->lock);
    *result = json_object();
    return 0;
}

/* The page's first index: cursors are our own numbers. */
static int read_cursor(const struct mcp_call *call, size_t *from, struct err *err)
{
    const char *cursor = NULL;
    char *end;
    *from = 0;
    if (json_find_string(call->params, "cursor", &cursor, err) < 0)
        return err_prefix(err, "params");
    if (!cursor)
        return 0;
    errno = 0;
    unsigned long value = strtoul(cursor, &end, 10);
    if (*cursor < '1' || *cursor > '9' || *end || errno || value > LIMIT_MCP_LIST)
        return err_set(err, ERR_INPUT, "params.cursor: unknown cursor");
    *from = value;
    return 0;
}

/* A whole list of the catalogue, without keys that the version lacks. */
static int list_of(struct mcp_call *call, const char *key, json_t **result, struct err *err)
{
    const json_t *list = json_object_get(call->mcp->service->catalogue, key);
    size_t from;
    int code = read_cursor(call, &from, err);
    if (code == 0 && from > 0)
        code = err_set(err, ERR_INPUT, "params.cursor: unknown cursor");
    if (code < 0)
        return code;
    json_t *items = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_deep_copy(json_array_get(list, i));
        if (!call->version->structured) {
            json_object_del(item, "title");
            json_object_del(item, "outputSchema");
        }
        if (!call->version->annotations)
            json_object_del(item, "annotations");
        json_array_append_new(items, item);
    }
    *result = json_object();
    json_put(*result, key, items);
    return 0;
}

static int list_tools(struct mcp_call *call, json_t **result, struct err *err)
{
    return list_of(call, "tools", result, err);
}

static int list_templates(struct mcp_call *call, json_t **result, struct err *err)
{
    return list_of(call, "resourceTemplates", result, err);
}

static int list_prompts(struct mcp_call *call, json_t **result, struct err *err)
{
    return list_of(call, "prompts", result, err);
}

static const json_t *catalogue_find(const struct mcp_call *call, const char *list, const char *name)
{
    const json_t *items = json_object_get(call->mcp->service->catalogue, list);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
            return item;
    }
    return NULL;
}

static int unknown_name(const struct mcp_call *call, const char *list, const char *what,
                        const char *name, struct err *err)
{
    const json_t *items = json_object_get(call->mcp->service->catalogue, list);
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(items) && count < NAMES_MAX; i++)
        names[count++] = json_string_value(json_object_get(json_array_get(items, i), "name"));
    err_unknown(err, what, name, names, count);
    return err->code = ERR_MISSING;
}

static void put_block(json_t *content, json_t *text)
{
    json_array_append_new(content, json_pack("{s:s, s:o}", "type", "text", "text", text));
}

/* Versions without structured content get it as a second text. */
static json_t *tool_result(const struct mcp_call *call, struct mcp_answer *answer)
{
    json_t *result = json_object(), *content = json_array();
    put_block(content, json_text(answer->text ? answer->text : ""));
    if (call->version->structured) {
        json_put(result, "structuredContent", answer->structured);
    } else {
        char *text = json_line_text(answer->structured, JSON_TEXT_BYTES, NULL);
        if (text)
            put_block(content, json_text(text));
        mem_free(text);
        json_decref(answer->structured);
    }
    json_put(result, "content", content);
    json_put(result, "isError", json_false());
    mem_free(answer->text);
    return result;
}

static json_t *tool_failure(const struct err *err)
{
    json_t *content = json_array();
    put_block(content, json_text(err->text));
    return json_pack("{s:o, s:b}", "content", content, "isError", 1);
}

/* NULL: no such tool. */
static const struct mcp_tool *tool_find(const struct mcp_call *call, const char *name)
{
    const struct mcp_tool *tool = call->mcp->service->tools;
    while (tool->name && strcmp(tool->name, name) != 0)
        tool++;
    return tool->name ? tool : NULL;
}

static int call_tool(struct mcp_call *call, json_t **result, struct err *err)
{
    struct mcp_answer answer = {0};
    const char *name;
    json_t *arguments = NULL, *none = NULL;
    if (json_get_string(call->params, "name", &name, err) < 0 ||
        json_find_object(call->params, "arguments", &arguments, err) < 0)
        return err_prefix(err, "params");
    const json_t *described = catalogue_find(call, "tools", name);
    const struct mcp_tool *tool = tool_find(call, name);
    if (!described || !tool)
        return unknown_name(call, "tools", "tool", name, err);
    if (!arguments)
        arguments = none = json_object();
    int code = mcp_schema_check(json_object_get(described, "inputSchema"), arguments, err);
    if (code == 0)
        code = tool->run(call->mcp->service->context, call, arguments, &answer, err);
    json_decref(none);
    if (code == ERR_CANCELLED)
        return code;
    *result = code < 0 ? tool_failure(err) : tool_result(call, &answer);
    return 0;
}

bool mcp_method_is_long(const struct mcp_call *call)
{
    const struct mcp_tool *tool = tool_find(call, json_text_at(call->params, "name"));
    return call->method->run == call_tool && tool && tool->is_long;
}

static int list_resources(struct mcp_call *call, json_t **result, struct err *err)
{
    const struct mcp_service *service = call->mcp->service;
    json_t *items = json_array();
    bool more = false;
    size_t from;
    int code = read_cursor(call, &from, err);
    if (code == 0)
        code = service->list_resources(service->context, from, PAGE, items, &more, err);
    if (code < 0) {
        json_decref(items);
        return code;
    }
    *result = json_object();
    json_put(*result, "resources", items);
    if (more) {
        char cursor[32];
        snprintf(cursor, sizeof cursor, "%zu", from + PAGE);
        json_put(*result, "nextCursor", json_string(cursor));
    }
    return 0;
}

static int read_resource(struct mcp_call *call, json_t **result, struct err *err)
{
    const struct mcp_service *service = call->mcp->service;
    const char *uri;
    json_t *contents = NULL;
    if (json_get_string(call->params, "uri", &uri, err) < 0)
        return err_prefix(err, "params");
    int code = service->read_resource(service->context, uri, &contents, err);
    if (code < 0) {
        if (code == ERR_MISSING && !call->version->stateless)
            call->code = MCP_NO_RESOURCE;
        call->data = json_pack("{s:o}", "uri", json_text(uri));
        return code;
    }
    *result = json_pack("{s:o}", "contents", contents);
    return 0;
}

static int get_prompt(struct mcp_call *call, json_t **result, struct err *err)
{
    const struct mcp_service *service = call->mcp->service;
    const char *name;
    json_t *arguments = NULL, *messages = NULL;
    if (json_get_string(call->params, "name", &name, err) < 0 ||
        json_find_object(call->params, "arguments", &arguments, err) < 0)
        return err_prefix(err, "params");
    const json_t *prompt = catalogue_find(call, "prompts", name);
    if (!prompt)
        return unknown_name(call, "prompts", "prompt", name, err);
    int code = service->get_prompt(service->context, name, arguments, &messages, err);
    if (code < 0)
        return code;
    *result = json_pack("{s:o, s:o}", "description",
                        json_deep_copy(json_object_get(prompt, "description")), "messages",
                        messages);
    return 0;
}

static const struct mcp_method methods[] = {
    {"initialize", MCP_ANY_TIME | MCP_HANDSHAKE, 0, answer_initialize},
    {"ping", MCP_ANY_TIME | MCP_HANDSHAKE, 0, answer_ping},
    {"logging/setLevel", MCP_HANDSHAKE, 0, set_level},
    {"server/discover", MCP_STATELESS | MCP_PUBLIC, LONG_MS, answer_discover},
    {"tools/list", MCP_PUBLIC, LONG_MS, list_tools},
    {"tools/call", MCP_BLOCKS, 0, call_tool},
    {"resources/list", MCP_BLOCKS | MCP_PRIVATE, SHORT_MS, list_resources},
    {"resources/templates/list", MCP_PUBLIC, LONG_MS, list_templates},
    {"resources/read", MCP_BLOCKS | MCP_PRIVATE, SHORT_MS, read_resource},
    {"prompts/list", MCP_PUBLIC, LONG_MS, list_prompts},
    {"prompts/get", MCP_BLOCKS, 0, get_prompt},
};

const struct mcp_method *mcp_method_find(const char *name, bool stateless)
{
    unsigned without = stateless ? MCP_HANDSHAKE : MCP_STATELESS;
    for (size_t i = 0; i < COUNT(methods); i++)
        if (strcmp(methods[i].name, name) == 0 && !(methods[i].flags & without))
            return &methods[i];
    return NULL;
}
