/* nvrtc_find: where the library and its headers lie. Declared in nvrtc.h. */
#include "device/nvrtc.h"

#include "base/array.h"
#include "base/file.h"
#include "base/mem.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define TOOLKITS 8
#define CUDA_H_BYTES ((size_t)4 << 20)

/* Below the root of a toolkit, of a system or of a Python's own place. */
static const char *const library_directories[] = {
    "lib64",
    "targets/*-linux/lib",
    "lib",
    "lib/*-linux-gnu",
    "lib/python3*/site-packages/nvidia/cu1?/lib",
    "lib/python3*/site-packages/nvidia/cuda_nvrtc/lib",
    "lib/python3*/dist-packages/nvidia/cu1?/lib",
    "lib/python3*/dist-packages/nvidia/cuda_nvrtc/lib",
};
static const char *const library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

/* Beside the library's directory: a toolkit, and the packages of CUDA 13 and of CUDA 12. */
static const char *const include_directories[] = {"../include", "../../../include",
                                                  "../../cuda_runtime/include"};
static const char *const library_includes[] = {"cccl", "../../cuda_cccl/include"};

static char *real_path(const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) ? mem_strdup(real) : NULL;
}

/* The first thing of that pattern below `root`, by its real path; NULL: there is none. */
static char *find_below(const char *root, const char *directory, const char *name)
{
    glob_t found = {0};
    char *pattern = mem_printf("%s/%s/%s", root, directory, name);
    char *path = glob(pattern, 0, NULL, &found) == 0 ? real_path(found.gl_pathv[0]) : NULL;
    globfree(&found);
    mem_free(pattern);
    return path;
}

static char *find_library(const char *root)
{
    char *path = NULL;
    for (size_t i = 0; i < COUNT(library_directories) && !path; i++)
        for (size_t k = 0; k < COUNT(library_names) && !path; k++)
            path = find_below(root, library_directories[i], library_names[k]);
    return path;
}

/* `program` is ROOT/bin/NAME; the caller's, NULL where it is not. */
static char *root_of(const char *program, bool resolve)
{
    char *path = !program ? NULL : resolve ? real_path(program) : mem_strdup(program);
    for (int up = 0; path && up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
    if (path && path[0] == '/')
        return path;
    mem_free(path);
    return NULL;
}

static void add_include(struct nvrtc_place *place, char *path)
{
    size_t count = 0;
    while (place->includes[count])
        count++;
    if (path && count < NVRTC_INCLUDES && file_is_directory(path))
        place->includes[count] = path;
    else
        mem_free(path);
}

/* Headers of another major version than the library's do not compile with it. */
static bool library_fits(const char *library, const char *header)
{
    static const char mark[] = "#define CUDA_VERSION ";
    const char *number = strstr(library, ".so.");
    char *path = mem_printf("%.*s/cuda.h", (int)(strrchr(header, '/') - header), header);
    char *text = NULL;
    size_t count;
    bool same = true;
    if (number && file_read(path, CUDA_H_BYTES, &text, &count, NULL) == 0) {
        const char *at = strstr(text, mark);
        same = !at || strtol(at + strlen(mark), NULL, 10) / 1000 == strtol(number + 4, NULL, 10);
    }
    mem_free(text);
    mem_free(path);
    return same;
}

/* What Python's package of the runtime lacks: <mma.h> needs it. */
static bool is_whole(const char *header)
{
    char *path = mem_printf("%.*s/crt/mma.h", (int)(strrchr(header, '/') - header), header);
    bool whole = file_exists(path);
    mem_free(path);
    return whole;
}

static char *find_header(const struct nvrtc_place *place, const char *root, const char *directory,
                         bool whole)
{
    char *header = root ? find_below(root, directory, "cuda_fp16.h") : NULL;
    if (!header || (library_fits(place->library, header) && (!whole || is_whole(header))))
        return header;
    mem_free(header);
    return NULL;
}

static char *find_headers(const struct nvrtc_place *place, const char *const toolkits[TOOLKITS],
                          bool whole)
{
    char *directory = mem_strdup(place->library);
    char *header = NULL;
    *strrchr(directory, '/') = '\0';
    for (size_t i = 0; i < COUNT(include_directories) && !header; i++)
        header = find_header(place, directory, include_directories[i], whole);
    for (size_t i = 0; i < TOOLKITS && !header; i++)
        header = find_header(place, toolkits[i], "include", whole);
    mem_free(directory);
    return header;
}

/* A directory counts where it holds CUDA's types of half precision, one with all of the headers
 * before others; its C++ library lies in it or beside it. */
static void find_includes(struct nvrtc_place *place, const char *const toolkits[TOOLKITS])
{
    char *header = find_headers(place, toolkits, true);
    if (!header)
        header = find_headers(place, toolkits, false);
    if (!header)
        return;
    *strrchr(header, '/') = '\0';
    add_include(place, header);
    for (size_t i = 0; i < COUNT(library_includes); i++)
        add_include(place, find_below(header, library_includes[i], ""));
}

void nvrtc_find(struct nvrtc_place *place, const char *named, const char *nvcc, const char *python)
{
    char *toolkit = root_of(nvcc, true);
    char *packages = root_of(python, false); /* a virtual environment's python is a link */
    char *interpreter = root_of(python, true);
    const char *home = getenv("CUDA_HOME");
    const char *const toolkits[TOOLKITS] = {toolkit,           home && *home == '/' ? home : NULL,
                                            "/usr/local/cuda", "/usr/local/cuda-1*",
                                            packages,          interpreter,
                                            "/usr/local",      "/usr"};
    *place = (struct nvrtc_place){0};
    bool search = !(named && *named);
    if (!search)
        place->library = real_path(named);
    for (size_t i = 0; i < TOOLKITS && search && !place->library; i++)
        place->library = toolkits[i] ? find_library(toolkits[i]) : NULL;
    if (place->library)
        find_includes(place, toolkits);
    mem_free(toolkit);
    mem_free(packages);
    mem_free(interpreter);
}

void nvrtc_place_deinit(struct nvrtc_place *place)
{
    mem_free(place->library);
    for (size_t i = 0; i < NVRTC_INCLUDES; i++)
        mem_free(place->includes[i]);
    *place = (struct nvrtc_place){0};
}
