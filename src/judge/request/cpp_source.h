/* cpp_source: distinguishes C++ from C by the text alone, for a source without a file name.
 *
 * `extern "C"`, a header without an ending (<vector>) and `std::` are C++ wherever they are code:
 * not in comments and strings, and not between `#if… __cplusplus` and its `#endif`, where headers
 * for both languages have them. Threads: pure.
 */
#pragma once

#include <stdbool.h>

bool cpp_source(const char *text);
