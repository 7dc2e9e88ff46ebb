/* companions: NVIDIA's libraries beside the driver: whether they can be loaded here, and which.
 *
 * Each is loaded, asked for its version, and stays: not all of them go without a trace. They are
 * looked for where a CUDA toolkit and a Python with PyTorch keep them, then by name.
 */
#ifndef WARPGYM_DEVICE_COMPANIONS_H
#define WARPGYM_DEVICE_COMPANIONS_H

#include <limits.h>

/* X(symbol, name, what it is wanted for) */
#define COMPANIONS(X)                                                                              \
    X(COMPANION_NVRTC, "nvrtc", "compiles device code in a few milliseconds")                      \
    X(COMPANION_CUPTI, "cupti", "tells which kernels ran")                                         \
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
    char version[32];    /* as it counts itself: "13.0"; "" where it is not told */
};

/* `nvcc` and `python`: programs whose surroundings are searched, too; NULL: none. */
void companions_find(struct companion found[COMPANION_COUNT], const char *nvcc, const char *python);

#endif
