/* Whatever a client sends, each message is passed over, answered once with its own id, or refused;
 * and what is answered is a message itself. */
#include "base/json.h"
#include "base/json_mend.h"
#include "server/mcp/mcp.h"
#include "server/mcp/message.h"
#include "server/mcp/schema.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char schema[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"problem\"], "
    "\"properties\": {\"problem\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 8}, "
    "\"count\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 9}, "
    "\"how\": {\"enum\": [\"a\", \"b\"]}}}";

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_answer(json_t *answer, enum mcp_kind kind)
{
    struct mcp_message message;
    struct err err;
    check(mcp_message_read(answer, &message, &err) == 0 && message.kind == kind);
    json_decref(answer);
}

static void check_message(const json_t *object)
{
    struct mcp_message message;
    struct err err = {0};
    json_t *data = NULL, *rules = json_loads(schema, 0, NULL);
    int code = 0;
    if (mcp_message_read(object, &message, &err) < 0)
        check(err.text[0] != '\0');
    else
        check(message.kind == MCP_RESPONSE || message.method);
    check_answer(mcp_message_error(message.id, MCP_INVALID_REQUEST, err.text, NULL), MCP_RESPONSE);
    check_answer(mcp_message_result(message.id, json_object()), MCP_RESPONSE);
    err.text[0] = '\0';
    const struct mcp_version *version = mcp_version_of(&message, &code, &data, &err);
    check(version ? version->stateless : err.text[0] != '\0' && code < 0);
    json_decref(data);
    err.text[0] = '\0';
    check(mcp_schema_check(rules, object, &err) == 0 || err.text[0] != '\0');
    json_decref(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *document;
    struct err err = {0};
    if (json_parse_mended("message", 1, (const char *)data, size, &document, &err) < 0)
        return 0;
    check_message(document);
    for (size_t i = 0; i < json_array_size(document); i++)
        check_message(json_array_get(document, i));
    json_decref(document);
    return 0;
}
