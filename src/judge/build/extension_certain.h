/* extension_certain: whether what failed with the slim headers fails with PyTorch's own, too.
 *
 * A build with those takes ten times as long, and most of what doesn't compile is at fault itself.
 * The first error of a file is taken as certain where no header could mend it:
 *
 *   a name that neither PyTorch's headers nor those of C++, Python and CUDA hold anywhere
 *   syntax, in a source that uses no macro of PyTorch that the slim headers lack
 *   ptxas: it has no headers
 *   types that are not PyTorch's, in a line that calls none of its methods
 *
 * Everything else is compiled again: honest code is never refused for our headers' sake.
 */
#pragma once

#include "judge/build/extension_request.h"

#define CERTAIN_NAME_BYTES 80

enum certainty { CERTAIN_NOT, CERTAIN, CERTAIN_UNLESS_KNOWN };

/* `diagnostics`: as compile/diagnostics.h makes them, of one file. `slim`: the text of all slim
 * headers. CERTAIN_UNLESS_KNOWN: `name` is what the other headers are to be searched for. */
enum certainty extension_certain(const struct extension_request *request, const char *slim,
                                 const char *diagnostics, char name[CERTAIN_NAME_BYTES]);
