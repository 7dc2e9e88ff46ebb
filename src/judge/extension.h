/* extension: C++ that a torch candidate asks to be compiled while it loads.
 *
 * In the candidate's process torch.utils.cpp_extension.load_inline is replaced by a request to the
 * judge: the sources come as JSON, are compiled in a box with fixed flags and PyTorch's headers,
 * kept in the content-addressed cache, and go back as sealed memory. The candidate never starts a
 * process.
 *
 *   {"name": "…", "cpp": ["…"], "functions": ["…"] or null}
 */
#ifndef WARPGYM_JUDGE_EXTENSION_H
#define WARPGYM_JUDGE_EXTENSION_H

#include "judge/build.h"

/* build.h: kind "extension". */
build_function extension_build;

#endif
