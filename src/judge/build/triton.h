/* triton: the programs that Triton would start, in a process that may start none.
 *
 * Triton's front end runs in the candidate's process, down to PTX. ptxas, and the C compiler for
 * the modules that load and launch kernels, run here, in a sandbox (judge/build/step.h). Requests,
 * as python/warpgym/triton_build.py makes them:
 *
 *   {"kind": "ptx", "tool": "ptxas", "options": ["-lineinfo", "--gpu-name=sm_90a"], "source": "…"}
 *   {"kind": "launcher", "source": "…"}
 *
 * Of a request only its source reaches a program as it is. Tools and options are looked up in
 * tables; the values of options are numbers, or words of the table.
 *
 * ptxas is the one that came with the installed Triton. A launcher is linked against nothing: the
 * child has the driver's library among its global symbols before it loads one.
 * Threads: one for each context.
 */
#pragma once

#include "base/json.h"
#include "judge/build/step.h"

/* Sealed memory with the cubin, or the shared object; the caller's to close. Negative: `err` says
 * why, and `words` has all that the tool said where it was the tool that refused (else it is left
 * empty). ERR_MISSING: this machine has not what it takes. */
NODISCARD int triton_build_ptx(const struct build_context *context, const json_t *request,
                               struct buf *words, struct err *err);
NODISCARD int triton_build_launcher(const struct build_context *context, const json_t *request,
                                    struct buf *words, struct err *err);

/* Puts the option words[*at], with the value it may have behind it, as one word into `out`; *at is
 * that of the next. ERR_INPUT: it is not one that is passed on. */
NODISCARD int triton_build_option(const char *const *words, size_t count, size_t *at, char *out,
                                  size_t out_bytes, struct err *err);
