/* build: what a candidate asks the judge to build while it loads or runs, by kind.
 *
 *   {"kind": "extension", …}   a PyTorch extension: extension.c
 *   {"kind": "ptx", …}         Triton's machine code, {"kind": "launcher", …} its C modules:
 *                              triton.c
 *
 * The request is JSON in a file of the candidate's scratch (wire.h, BUILD); nothing in it is
 * trusted. What was built goes back as sealed memory. The candidate never starts a process.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "judge/build/scratch.h"

/* What one session's torch processes had built. */
struct builds {
    struct build_context context;
    struct build_use use;
    double elapsed_ms;   /* spent building, in the stage at hand */
    uint32_t extensions; /* how many were built, or found in the cache */
    uint32_t slim;       /* of these with our own headers in place of PyTorch's */
};

/* The context's runner is the caller's to fill in. */
void builds_init(struct builds *builds, struct build_tools *tools, const struct settings *settings,
                 const struct gpu_context *gpu);
/* Answers a request. As struct child_builder has it; ERR_LIMIT: the candidate has had all builds
 * that it may (compile.*). */
NODISCARD int builds_run(struct builds *builds, const char *request, size_t bytes, char *text,
                         size_t text_bytes);

/* One kind: a descriptor of sealed memory, or negative with the reason in `err`, or, where it is
 * longer than that holds, in `text`. */
typedef int build_function(struct builds *builds, const json_t *request, struct buf *text,
                           struct err *err);
