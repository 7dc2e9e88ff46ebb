/* printable: untrusted text, made safe for a terminal. */
#ifndef WARPGYM_BASE_PRINTABLE_H
#define WARPGYM_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces, in place, invalid UTF-8 and control characters (C0, DEL, C1) by '?'; keeps line feeds
 * where `lines`. Returns the width in code points. */
size_t printable_text(char *text, bool lines);

#endif
