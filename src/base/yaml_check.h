/* yaml_check: what must not reach the YAML library.
 *
 * libfyaml 0.7 crashes on some explicit keys (`? key`) with tabs in them. Neither settings nor
 * problems need that notation, so it is refused before the library sees it. Pure.
 */
#ifndef WARPGYM_BASE_YAML_CHECK_H
#define WARPGYM_BASE_YAML_CHECK_H

#include "base/err.h"

#include <stddef.h>

/* ERR_INPUT, with `name` and the place, where the text has an explicit key. */
NODISCARD int yaml_check(const char *name, const char *text, size_t count, struct err *err);

#endif
