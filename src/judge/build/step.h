/* step: one sandboxed build step: a source through a program, and one file out of it, cached by
 * content.
 *
 *   source ──► key = SHA-256(command line, programs and headers used, source) ──► in the cache
 *                └─ else: scratch directory ─ sandbox ─ program ─► result ─► cache
 *
 * For what a sandboxed child requests and the judge builds for it. The program is trusted, its
 * input is not. Failures that would come again are cached, too. The command line names files of the
 * scratch directory by relative names, so that equal requests have equal keys wherever that lies.
 *
 * Ownership: everything in a step is the caller's and only read. Threads: one for each context.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

struct build_context;

struct build_step {
    const char *const *argv;               /* NULL-terminated; argv[0] an absolute path */
    const char *const *readable;           /* NULL-terminated paths that it may read and run */
    const char *const *identity;           /* NULL-terminated files that the result depends on */
    const char *source_name, *result_name; /* in the scratch directory, as argv has them */
    const char *source;
    const char *noise; /* lines of its output that begin so say nothing of an error; NULL: none */
};

/* Sealed memory with the result, the caller's to close. ERR_INPUT: the program refused the source,
 * `words` has what it said and `err` the beginning of that; ERR_MISSING: a file of `identity` is
 * not there; ERR_TIMEOUT, ERR_IO …: the machine's fault. */
NODISCARD int build_step_run(const struct build_context *context, const struct build_step *step,
                             struct buf *words, struct err *err);
