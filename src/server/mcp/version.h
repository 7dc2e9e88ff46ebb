/* mcp_version: the supported revisions of the Model Context Protocol.
 *
 * Up to 2025-11-25 a connection begins with `initialize`, which agrees on a version for all of
 * it. From 2026-07-28 on each request names its version in params._meta, and there is no
 * connection state: whatever has state is addressed by a handle. Both are served side by side; a
 * request's _meta decides which applies. */
#pragma once

#include "base/err.h"
#include "server/mcp/message.h"

#include <stdbool.h>

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
