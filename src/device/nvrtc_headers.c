/* nvrtc_headers: what stands for the standard headers that a kernel may include. Declared in
 * nvrtc.h; the texts are the files of src/device/headers.
 *
 * Only what means something on a device is there. NVRTC knows the functions of <math.h>, size_t,
 * memcpy, printf, assert and the types of CUDA by itself. */
#include "device/nvrtc.h"

#include "base/embed.h"

/* symbol, file; the file's name is the header's */
#define FILES(X)                                                                                   \
    X(cmath, "cmath")                                                                              \
    X(cstddef, "cstddef")                                                                          \
    X(cstdint, "cstdint")                                                                          \
    X(float_h, "float.h")                                                                          \
    X(limits, "limits")                                                                            \
    X(limits_h, "limits.h")                                                                        \
    X(math_h, "math.h")                                                                            \
    X(stddef_h, "stddef.h")                                                                        \
    X(stdint_h, "stdint.h")                                                                        \
    X(type_traits, "type_traits")

#define X(symbol, file)                                                                            \
    extern const char nvrtc_header_##symbol[];                                                     \
    EMBED_TEXT(nvrtc_header_##symbol, "src/device/headers/" file);
FILES(X)
#undef X

/* What these declare NVRTC knows by itself, or is of use to the host alone. name, text */
#define OTHERS(X)                                                                                  \
    X("assert.h", "")                                                                              \
    X("cassert", "")                                                                               \
    X("cfloat", "#include <float.h>\n")                                                            \
    X("climits", "#include <limits.h>\n")                                                          \
    X("cstdio", "")                                                                                \
    X("cstdlib", "#include <stddef.h>\n")                                                          \
    X("cstring", "#include <stddef.h>\n")                                                          \
    X("cuda.h", "")                                                                                \
    X("cuda_runtime.h", "")                                                                        \
    X("cuda_runtime_api.h", "")                                                                    \
    X("device_launch_parameters.h", "")                                                            \
    X("stdbool.h", "")                                                                             \
    X("stdio.h", "")                                                                               \
    X("stdlib.h", "#include <stddef.h>\n")                                                         \
    X("string.h", "#include <stddef.h>\n")

const char *const nvrtc_header_names[] = {
#define X(symbol, file) file,
    FILES(X)
#undef X
#define X(name, text) name,
        OTHERS(X)
#undef X
            NULL};

const char *const nvrtc_headers[] = {
#define X(symbol, file) nvrtc_header_##symbol,
    FILES(X)
#undef X
#define X(name, text) text,
        OTHERS(X)
#undef X
            NULL};
