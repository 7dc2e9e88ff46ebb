/* mcp_schema: checks a value against a tool's JSON Schema, so that the published schema is the
 * one enforced.
 *
 * Supports what our catalogue uses: type (one name or a list), properties, required,
 * additionalProperties: false, items, enum, minimum, maximum, minLength, maxLength. Schemas are
 * ours and trusted; values are untrusted. */
#pragma once

#include "base/err.h"

#include <jansson.h>

/* `name`: the value's name in errors. ERR_INPUT: "arguments.problem: must be a string". */
NODISCARD int mcp_schema_check(const json_t *schema, const json_t *value, const char *name,
                               struct err *err);
