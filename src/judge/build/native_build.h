/* native_build: C, C++ and CUDA sources through the toolchain, a sandbox and the build cache.
 *
 * Ownership: the artifact is the caller's (artifact_deinit). Threads: any number may share a
 * context. Errors: the machine's; a source that does not compile is no error, but !artifact->ok.
 */
#pragma once

#include "compile/compile.h"
#include "judge/build/scratch.h"

#define NATIVE_TRUSTED_MS 600000 /* a busy machine takes minutes, an idle one seconds */

/* Whose source it is, and so how long compiling it may take: a candidate's compile.timeout_ms. A
 * problem's reference and what is the judge's own have NATIVE_TRUSTED_MS, and never less than a
 * candidate: every evaluation needs them, and under a tight limit all would fail through no fault
 * of the candidate. A reference that a server's client sends is no way around that limit: the
 * evaluation's own time (timeout_ms of the request) ends its build, too. */
enum native_source { NATIVE_CANDIDATE, NATIVE_TRUSTED };

/* `name`: of the file in diagnostics. */
NODISCARD int native_build(const struct build_context *context, enum native_source source,
                           enum compile_kind kind, const char *name, const char *text, size_t bytes,
                           struct artifact *artifact, struct err *err);
