/* toml: TOML 1.0 (toml.io) as one JSON object, for the files of other projects that we read.
 *
 * Tables, dotted and quoted keys, the four kinds of strings, integers, floats, booleans and arrays.
 * Refused, because no such file needs them: arrays of tables, inline tables, dates. Text is UTF-8
 * without NUL; depth is bounded. Errors: ERR_INPUT, "NAME:LINE: …".
 *
 * Ownership: *out is the caller's (json_decref). Threads: pure.
 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

#define TOML_DEPTH 8 /* of arrays within arrays, and of names in a key */

NODISCARD int toml_parse(const char *name, const char *text, size_t bytes, json_t **out,
                         struct err *err);
