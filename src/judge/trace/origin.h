/* origin: whose machine code is, found when it is loaded.
 *
 *   where the code lies                      whose it is
 *   in a mapped file                         that file's: library or own (objects.h)
 *   in memory, or a file that is read:
 *     the loader is not of the installation  own
 *     the loader is a library                the library's: it generates code, as cuDNN does
 *     the loader passes on (Python, ctypes,  own; but `generated` where torch.compile is at work
 *     Triton, the main program)              on Python's stack
 *
 * The loader is the first object up the stack that is not the driver, CUPTI, libcudart or libffi.
 * A program can show a false stack and copy a library's code into memory of its own. Threads: any.
 */
#pragma once

#include "judge/measure/trace_stream.h"
#include "judge/trace/objects.h"

struct origin {
    enum trace_origin origin;
    enum trace_evidence evidence;
    struct object object; /* path "": memory */
};

/* `cupti`: an address in CUPTI. */
void origin_prepare(const void *cupti);
/* Called from within the loading call. `image` may be NULL: a file. */
void origin_of_image(const void *image, struct origin *origin);
/* Called from within a launch of code whose loading was not seen. */
void origin_of_launch(struct origin *origin);
