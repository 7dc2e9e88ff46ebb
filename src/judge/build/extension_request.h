/* extension_request: what a candidate wants built as a PyTorch extension, taken apart and checked.
 *
 *   {"kind": "extension", "name": "…", "files": [{"name": "main.cpp", "text": "…"}, …],
 *    "headers": true, "cuda": false, "cflags": […], "cuda_cflags": […], "ldflags": […]}
 *
 * Files that end in .cu go to nvcc, those that end in .cpp and the like to g++, all others lie
 * beside them for #include. `headers`: each begins with the headers that load_inline puts there.
 * `cuda`: with CUDA's headers and libraries, though no file ends in .cu (load_inline's with_cuda).
 * Flags pass an allow-list: none of them may read, write or run anything. What is left out without
 * a word makes no difference here (architectures but ours, paths that are searched anyway).
 */
#pragma once

#include "base/json.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

#define EXTENSION_FILES 32
#define EXTENSION_FLAGS 64

enum extension_language { EXTENSION_HEADER, EXTENSION_CXX, EXTENSION_CUDA };

struct extension_file {
    const char *name, *text; /* the JSON's */
    enum extension_language language;
};

/* Words for one tool; NULL-terminated. */
struct extension_flags {
    const char *words[EXTENSION_FLAGS + 1];
    size_t count;
    const char *standard; /* "-std=c++17"; NULL: not said */
};

struct extension_request {
    const char *name; /* the JSON's */
    struct extension_file files[EXTENSION_FILES];
    size_t count;
    bool headers;
    bool cuda;    /* said so, or some file is EXTENSION_CUDA */
    bool threads; /* the sources start threads of their own */
    struct extension_flags cxx, cuda_flags, link;
    struct arena arena;
};

/* `object` has to live as long as the request. ERR_INPUT, ERR_LIMIT: in words for its author. */
NODISCARD int extension_request_init(struct extension_request *request, const json_t *object,
                                     struct err *err);
void extension_request_deinit(struct extension_request *request);

/* Headers of the standard library and of CUDA that PyTorch's headers bring along, and that this
 * text uses names of. Fills at most `most`; returns how many. */
size_t extension_headers(const struct extension_file *file, const char **headers, size_t most);
/* Whether the text holds this word, as a whole one. */
bool extension_has_word(const char *text, const char *word);

/* The flags of a text into the words of a tool: extension_flags.c. */
NODISCARD int extension_flags_add(struct extension_request *request, struct extension_flags *flags,
                                  const char *text, struct err *err);
