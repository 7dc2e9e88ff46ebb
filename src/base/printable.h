/* printable: untrusted text, made safe for a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Replaces, in place, invalid UTF-8 and control characters (C0, DEL, C1) by '?'; keeps line feeds
 * where `lines`. Returns the width in code points. */
size_t printable_text(char *text, bool lines);
