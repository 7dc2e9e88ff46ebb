/* optional_libraries: NVIDIA's optional libraries beside the driver: which of them this machine can
 * load.
 *
 * Each is loaded, queried for its version, and stays loaded: not all of them unload cleanly. The
 * search covers a CUDA toolkit and a Python with PyTorch first, then the linker's path.
 */
#pragma once

#include <limits.h>

/* X(symbol, name, what it is wanted for) */
#define OPTIONAL_LIBRARIES(X)                                                                      \
    X(OPTIONAL_NVRTC, "nvrtc", "compiles device code in a few milliseconds")                       \
    X(OPTIONAL_CUPTI, "cupti", "traces which kernels ran")                                         \
    X(OPTIONAL_CUBLASLT, "cublaslt", "multiplies matrices")

enum optional_library_kind {
#define X(symbol, name, use) symbol,
    OPTIONAL_LIBRARIES(X)
#undef X
        OPTIONAL_COUNT
};

struct optional_library {
    const char *name, *use;
    char path[PATH_MAX]; /* "": it is not here */
    char version[32];    /* as the library reports it: "13.0"; "" if unknown */
};

/* `nvcc` and `python`: programs whose surroundings are searched, too; NULL: none. */
void optional_libraries_find(struct optional_library found[OPTIONAL_COUNT], const char *nvcc,
                             const char *python);
