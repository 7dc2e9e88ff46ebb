/* companions: NVIDIA's optional libraries beside the driver: which of them this machine can load.
 *
 * Each is loaded, queried for its version, and stays loaded: not all of them unload cleanly. The
 * search covers a CUDA toolkit and a Python with PyTorch first, then the linker's path.
 */
#ifndef WARPGYM_DEVICE_COMPANIONS_H
#define WARPGYM_DEVICE_COMPANIONS_H

#include <limits.h>

/* X(symbol, name, what it is wanted for) */
#define COMPANIONS(X)                                                                              \
    X(COMPANION_NVRTC, "nvrtc", "compiles device code in a few milliseconds")                      \
    X(COMPANION_CUPTI, "cupti", "traces which kernels ran")                                        \
    X(COMPANION_CUBLASLT, "cublaslt", "multiplies matrices")

enum companion_kind {
#define X(symbol, name, use) symbol,
    COMPANIONS(X)
#undef X
        COMPANION_COUNT
};

struct companion {
    const char *name, *use;
    char path[PATH_MAX]; /* "": it is not here */
    char version[32];    /* as the library reports it: "13.0"; "" if unknown */
};

/* `nvcc` and `python`: programs whose surroundings are searched, too; NULL: none. */
void companions_find(struct companion found[COMPANION_COUNT], const char *nvcc, const char *python);

#endif
