/* python_source: whether a text without a name is Python.
 *
 * Threads: pure.
 */
#pragma once

#include <stdbool.h>

/* By its first line that is no comment, or by a class ModelNew. */
bool python_source(const char *text);
