/* plain: text from strangers, made safe for a terminal. */
#ifndef WARPGYM_BASE_PRINTABLE_H
#define WARPGYM_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces by '?', in place, what is no well-formed UTF-8 or a control character (C0, DEL, C1),
 * but for line feeds where `lines`. Returns the width in code points. */
size_t printable_text(char *text, bool lines);

#endif
