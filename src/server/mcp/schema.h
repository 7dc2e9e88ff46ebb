/* mcp_schema: checks a tool's arguments against its inputSchema, so that the published schema is
 * the one enforced.
 *
 * Supports what our tools take: an object without further names, whose properties have a type, or
 * an enum of texts, with required, minimum, maximum, minLength, maxLength. Schemas are ours and
 * trusted; arguments are untrusted. */
#pragma once

#include "base/err.h"

#include <jansson.h>

/* ERR_INPUT: "arguments.problem: must be string". */
NODISCARD int mcp_schema_check(const json_t *schema, const json_t *arguments, struct err *err);
