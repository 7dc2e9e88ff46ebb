/* yaml_check: what must not reach the YAML library.
 *
 * libfyaml 0.7 crashes on some explicit keys (`? key`) with tabs in them, and loops for ever on
 * some directives (`%NAME`) that are not UTF-8. No file of ours uses these notations, so they are
 * refused before the library sees them. Pure.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* ERR_INPUT, with `name` and the position, where the text has an explicit key or a directive. */
NODISCARD int yaml_check(const char *name, const char *text, size_t count, struct err *err);
