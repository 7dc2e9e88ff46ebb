/* signature_hint: how the `solution` of a C or C++ source differs from the problem's signature.
 *
 * C's linker compares no types: a candidate with another signature is called all the same, and
 * reads what was never passed. That shows as a wrong result or a crash, which says nothing of the
 * cause. What is compared: the number of arguments, which of them are pointers, and the types that
 * are known here; integers passed by value may differ in size. It reads text, does not compile it,
 * and so is for a message only.
 *
 * Ownership: the arena's. Threads: pure.
 */
#pragma once

#include "base/mem.h"

/* One sentence. NULL: there is no difference, or no definition that can be read. */
const char *signature_hint(struct arena *arena, const char *signature, const char *source);
