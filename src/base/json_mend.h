/* json_mend: JSON with a model's answer in it. What a model wrote is data, whatever its bytes are.
 *
 * Inside the strings of such a document each byte that is no UTF-8, each escape of NUL and each
 * escape of half a surrogate pair becomes U+FFFD, as utf8_mended does with text that comes in no
 * JSON. All else that is no JSON is an error as in json.h: bytes outside strings, a byte order
 * mark, control characters (and NULs) that are not escaped. Threads: pure.
 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

/* As json_parse_line; `line`: 1 for a document of its own. */
NODISCARD int json_parse_mended(const char *name, size_t line, const char *text, size_t count,
                                json_t **out, struct err *err);
