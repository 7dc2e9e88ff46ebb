/* nvrtc: NVIDIA's compiler of device code as a library, loaded at run time.
 *
 * Source in, cubin out: code for one real architecture (`sm_90a`), which the driver loads as it is.
 * A device-only kernel takes some 10 ms where nvcc takes most of a second. No CUDA header is needed
 * to build (docs.nvidia.com/cuda/nvrtc; names here without the `nvrtc`). NVRTC has no host headers:
 * small ones of our own stand for the standard headers that kernels include (nvrtc_headers.c).
 *
 * It is a large parser. Untrusted source goes into it in a sandboxed process only
 * (judge/child/nvrtc_command.h); looking for the library (nvrtc_find) loads nothing.
 *
 * Ownership: the caller's storage. Threads: compiling starts none; one struct serves one thread. A
 * fork after a compilation is safe, and makes the child's first one a warm one.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef int nvrtc_result;    /* nvrtcResult; 0 is success */
typedef void *nvrtc_program; /* nvrtcProgram */

/* field, symbol, what it returns, arguments */
#define NVRTC_FUNCTIONS(X)                                                                         \
    X(version, "nvrtcVersion", nvrtc_result, (int *major, int *minor))                             \
    X(error_string, "nvrtcGetErrorString", const char *, (nvrtc_result result))                    \
    X(create, "nvrtcCreateProgram", nvrtc_result,                                                  \
      (nvrtc_program * program, const char *source, const char *name, int header_count,            \
       const char *const *headers, const char *const *header_names))                               \
    X(destroy, "nvrtcDestroyProgram", nvrtc_result, (nvrtc_program * program))                     \
    X(compile, "nvrtcCompileProgram", nvrtc_result,                                                \
      (nvrtc_program program, int option_count, const char *const *options))                       \
    X(cubin_size, "nvrtcGetCUBINSize", nvrtc_result, (nvrtc_program program, size_t * bytes))      \
    X(cubin, "nvrtcGetCUBIN", nvrtc_result, (nvrtc_program program, char *cubin))                  \
    X(log_size, "nvrtcGetProgramLogSize", nvrtc_result, (nvrtc_program program, size_t * bytes))   \
    X(log, "nvrtcGetProgramLog", nvrtc_result, (nvrtc_program program, char *log))

struct nvrtc {
    void *library;
    int major, minor;
#define X(field, symbol, returned, arguments) returned(*field) arguments;
    NVRTC_FUNCTIONS(X)
#undef X
};

/* ERR_MISSING: `path` cannot be loaded; ERR_UNSUPPORTED: too old. */
NODISCARD int nvrtc_open(struct nvrtc *nvrtc, const char *path, struct err *err);
void nvrtc_close(struct nvrtc *nvrtc);

struct nvrtc_output {
    bool ok;     /* false: `log` says why */
    char *cubin; /* NULL unless ok */
    size_t cubin_bytes;
    char *log; /* warnings, too; never NULL */
};

/* `name` is the file's in messages. 0: `output` (nvrtc_output_deinit) holds the outcome; negative:
 * NVRTC itself failed, or does not know an option. */
NODISCARD int nvrtc_compile(const struct nvrtc *nvrtc, const char *name, const char *source,
                            const char *const *options, size_t option_count,
                            struct nvrtc_output *output, struct err *err);
void nvrtc_output_deinit(struct nvrtc_output *output);

/* The headers that stand for the standard ones: names and texts, NULL-terminated. */
extern const char *const nvrtc_header_names[];
extern const char *const nvrtc_headers[];

#define NVRTC_INCLUDES 3

/* Where it lies, and the directories of CUDA's own headers for device code (cuda_fp16.h, …) that
 * belong to it, both by their real paths; NULL where there are none. */
struct nvrtc_place {
    char *library;
    char *includes[NVRTC_INCLUDES + 1]; /* NULL-terminated */
};

/* Looks at `named` and nowhere else, where that is neither NULL nor ""; else in the toolkit of
 * `nvcc`, CUDA_HOME, /usr/local/cuda, the system's library directories, and among the packages of
 * `python` (nvidia-cuda-nvrtc); both may be NULL. */
void nvrtc_find(struct nvrtc_place *place, const char *named, const char *nvcc, const char *python);
void nvrtc_place_deinit(struct nvrtc_place *place);
