/* mcp_message: JSON-RPC 2.0 messages of the Model Context Protocol, and its supported revisions.
 *
 * One JSON text (a line of stdio, a body of HTTP) is one message, or a batch of them in versions
 * with batches. Reading checks the form alone; each method checks its parameters. Ids are
 * strings or integers; any other id makes a request invalid.
 *
 * Up to 2025-11-25 a connection begins with `initialize`, which agrees on a version for all of
 * it. From 2026-07-28 on each request names its version in params._meta, and there is no
 * connection state: whatever has state is addressed by a handle. Both are served side by side; a
 * request's _meta decides which applies.
 *
 * Ownership: a struct mcp_message borrows from the object that it was read from; the functions
 * that make a message return a new reference and take ownership of their parts, except ids,
 * which they copy: a value shared by two threads would be counted by both, and jansson's counts
 * are not barriers. Threads: pure functions. */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

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

#define MCP_META "io.modelcontextprotocol/"

struct mcp_version {
    const char *name;
    bool stateless;   /* 2026-07-28: _meta in each request, resultType and ttlMs in each result */
    bool batches;     /* several messages in one array */
    bool annotations; /* of tools, and a message with progress */
    bool structured;  /* structuredContent, outputSchema, title */
};

/* Oldest first; the last one has no name. */
extern const struct mcp_version mcp_versions[];
/* NULL: not supported. */
const struct mcp_version *mcp_version_named(const char *name);
/* The version that `initialize` agrees on: the requested one, or the newest with a handshake. */
const struct mcp_version *mcp_version_agree(const char *wanted);
/* All names, a new reference: for server/discover and refusals. */
json_t *mcp_version_names(void);

/* Whether a request is stateless: its _meta names a version. */
bool mcp_version_is_stateless(const struct mcp_message *message);
/* Its version, after checking what a stateless request must contain. NULL: *code, the text in
 * err, and *data (a new reference, or NULL) give the reason. */
const struct mcp_version *mcp_version_of(const struct mcp_message *message, int *code,
                                         json_t **data, struct err *err);
