/* mcp_message: JSON-RPC 2.0 messages of the Model Context Protocol.
 *
 * One JSON text (a line of stdio, a body of HTTP) is one message, or a batch of them in versions
 * with batches. Reading checks the form alone; each method checks its parameters. Ids are
 * strings or integers; any other id makes a request invalid.
 *
 * Ownership: a struct mcp_message borrows from the object that it was read from; the functions
 * that make a message return a new reference and take ownership of their parts, except ids,
 * which they copy: a value shared by two threads would be counted by both, and jansson's counts
 * are not barriers. Threads: pure functions. */
#pragma once

#include "base/err.h"

#include <jansson.h>

enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_NO_RESOURCE = -32002, /* before 2026-07-28 */
    MCP_HEADER_MISMATCH = -32020,
    MCP_UNSUPPORTED_VERSION = -32022,
};

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
    enum mcp_kind kind;
    const json_t *id;     /* of a request; NULL */
    const char *method;   /* NULL: a response */
    const json_t *params; /* an object; NULL: none */
    const json_t *meta;   /* params._meta, an object; NULL: none */
};

/* ERR_INPUT: invalid. A valid id is filled in even then. */
NODISCARD int mcp_message_read(const json_t *object, struct mcp_message *message, struct err *err);

/* `id` is borrowed; NULL: it could not be read. */
json_t *mcp_message_result(const json_t *id, json_t *result);
/* `data` may be NULL. */
json_t *mcp_message_error(const json_t *id, int code, const char *text, json_t *data);
json_t *mcp_message_notification(const char *method, json_t *params);
