/* extension: C++ and CUDA that a torch candidate requests to be compiled while it loads.
 *
 * In the candidate's process a request to the judge replaces torch.utils.cpp_extension's
 * load_inline and load (extension_request.h). The sources are compiled in a sandbox, by a script
 * (extension_script.h), and cached by content, errors too. Of the GPU only its compute capability
 * is needed.
 *
 *   slim headers ─► it compiles: done, in a tenth of the time
 *        └─ it does not ─► the source's own fault for certain (extension_certain.h): its errors
 *                   └─ else ─► PyTorch's headers ─► done, or the errors that PyTorch's users see
 *
 * Threads: one for each context.
 */
#pragma once

#include "judge/build/build.h"

/* build.h: kind "extension". */
build_function extension_build;
