#include "device/optional_libraries.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const names[OPTIONAL_COUNT][3] = {
    [OPTIONAL_NVRTC] = {"libnvrtc.so.13", "libnvrtc.so.12"},
    [OPTIONAL_CUPTI] = {"libcupti.so.13", "libcupti.so.12"},
    [OPTIONAL_CUBLASLT] = {"libcublasLt.so.13", "libcublasLt.so.12"},
};

/* Below the folder that a program's own folder lies in. */
static const char *const below_nvcc[] = {"lib64", "lib", "extras/CUPTI/lib64", NULL};
static const char *const below_python[] = {"lib/python3*/site-packages/nvidia/*/lib", NULL};

/* Each library reports its version through a different function. */
static void version_of_nvrtc(void *function, char *text, size_t bytes)
{
    int major = 0, minor = 0;
    int (*ask)(int *major, int *minor);
    memcpy(&ask, &function, sizeof ask);
    if (ask(&major, &minor) == 0)
        snprintf(text, bytes, "%d.%d", major, minor);
}

static void version_of_cupti(void *function, char *text, size_t bytes)
{
    uint32_t number = 0;
    int (*ask)(uint32_t * number);
    memcpy(&ask, &function, sizeof ask);
    if (ask(&number) == 0)
        snprintf(text, bytes, "%u", number);
}

static void version_of_cublaslt(void *function, char *text, size_t bytes)
{
    size_t (*ask)(void);
    memcpy(&ask, &function, sizeof ask);
    snprintf(text, bytes, "%zu", ask());
}

static const struct {
    const char *function;
    void (*ask)(void *function, char *text, size_t bytes);
} versions[OPTIONAL_COUNT] = {
    [OPTIONAL_NVRTC] = {"nvrtcVersion", version_of_nvrtc},
    [OPTIONAL_CUPTI] = {"cuptiGetVersion", version_of_cupti},
    [OPTIONAL_CUBLASLT] = {"cublasLtGetVersion", version_of_cublaslt},
};

static int try_library(struct optional_library *library, enum optional_library_kind kind,
                       const char *path)
{
    Dl_info where;
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        return -1;
    void *function = dlsym(handle, versions[kind].function);
    if (function) {
        bool known = dladdr(function, &where) && where.dli_fname;
        snprintf(library->path, sizeof library->path, "%s", known ? where.dli_fname : path);
        versions[kind].ask(function, library->version, sizeof library->version);
    }
    return function ? 0 : -1;
}

/* In folders that lie beside the one of `program`. */
static int search_library(struct optional_library *library, enum optional_library_kind kind,
                          const char *program, const char *const *folders)
{
    const char *slash = program ? strrchr(program, '/') : NULL;
    int found = -1;
    for (; slash && *folders && found < 0; folders++)
        for (const char *const *name = names[kind]; *name && found < 0; name++) {
            char pattern[PATH_MAX];
            glob_t paths = {0};
            snprintf(pattern, sizeof pattern, "%.*s/../%s/%s", (int)(slash - program), program,
                     *folders, *name);
            if (glob(pattern, 0, NULL, &paths) == 0)
                found = try_library(library, kind, paths.gl_pathv[0]);
            globfree(&paths);
        }
    return found;
}

void optional_libraries_find(struct optional_library found[OPTIONAL_COUNT], const char *nvcc,
                             const char *python)
{
    static const struct optional_library empty[OPTIONAL_COUNT] = {
#define X(symbol, name, use) [symbol] = {name, use, "", ""},
        OPTIONAL_LIBRARIES(X)
#undef X
    };
    memcpy(found, empty, sizeof empty);
    for (enum optional_library_kind kind = 0; kind < OPTIONAL_COUNT; kind++) {
        int result = search_library(&found[kind], kind, nvcc, below_nvcc);
        if (result < 0)
            result = search_library(&found[kind], kind, python, below_python);
        for (const char *const *name = names[kind]; *name && result < 0; name++)
            result = try_library(&found[kind], kind, *name);
    }
}
