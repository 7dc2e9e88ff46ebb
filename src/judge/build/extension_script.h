/* extension_script: the shell script that builds an extension in a sandbox.
 *
 * Each source is compiled by a process of its own, all at once; when all are well they are linked
 * into EXTENSION_OBJECT. The output of each that failed comes behind a line EXTENSION_MARK and its
 * number among the files of the request. Two ways: with the slim headers (python/warpgym/slim), or
 * with PyTorch's own, as its loader would call the same compilers.
 */
#pragma once

#include "judge/build/extension_request.h"
#include "judge/build/torch_paths.h"

#define EXTENSION_OBJECT "extension.so"
#define EXTENSION_GLUE "glue.o" /* lies beside the sources on the slim way */
#define EXTENSION_MARK '\001'

struct extension_tools {
    const char *gcc;          /* g++ */
    const char *nvcc;         /* NULL: none is needed */
    const char *cuda;         /* directory that holds its include/ and lib64/ */
    const char *architecture; /* "90a" */
    const char *slim;         /* directory that holds include/warpgym and glue/ */
    struct torch_paths place;
};

/* Both texts belong to the arena. */
const char *extension_script(struct arena *arena, const struct extension_request *request,
                             const struct extension_tools *tools, bool slim);
const char *extension_glue_script(struct arena *arena, const struct extension_tools *tools);
