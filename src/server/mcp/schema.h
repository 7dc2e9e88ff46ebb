/* mcp_schema: whether a value is what a tool's JSON Schema asks for, so that what clients are told
 * is what is checked.
 *
 * Of JSON Schema this knows what our own catalogue uses: type (one name or a list), properties,
 * required, additionalProperties: false, items, enum, minimum, maximum, minLength, maxLength.
 * Schemas are ours and trusted; values are strangers'.
 */
#ifndef WARPGYM_SERVER_MCP_SCHEMA_H
#define WARPGYM_SERVER_MCP_SCHEMA_H

#include "base/err.h"

#include <jansson.h>

/* `name` is how errors call the value. ERR_INPUT: "arguments.problem: must be a string". */
NODISCARD int mcp_schema_check(const json_t *schema, const json_t *value, const char *name,
                               struct err *err);

#endif
