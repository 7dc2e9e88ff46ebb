/* extension: C++ and CUDA that a torch candidate asks to be compiled while it loads.
 *
 * In the candidate's process torch.utils.cpp_extension's load_inline and load are replaced by a
 * request to the judge (extension_request.h); the sources are compiled in a sandbox, by a script
 * (extension_script.h), and kept in the content-addressed cache, errors too. Of the GPU nothing is
 * needed but its number.
 *
 *   slim headers ─► it compiles: done, in a tenth of the time
 *        └─ it doesn't ─► the source's own fault, certainly (extension_certain.h): its errors
 *                   └─ else ─► PyTorch's headers ─► done, or the errors that PyTorch's users see
 */
#ifndef WARPGYM_JUDGE_BUILD_EXTENSION_H
#define WARPGYM_JUDGE_BUILD_EXTENSION_H

#include "judge/build/build.h"

/* build.h: kind "extension". */
build_function extension_build;

#endif
