/* native_build: C, C++ and CUDA sources through the toolchain, a sandbox and the build cache.
 *
 * Ownership: the artifact is the caller's (artifact_deinit). Threads: any number may share a
 * context. Errors: the machine's; a source that does not compile is no error, but !artifact->ok.
 */
#pragma once

#include "compile/compile.h"
#include "judge/build/scratch.h"

#define NATIVE_OWN_TIMEOUT_MS 600000 /* a busy machine takes minutes, an idle one seconds */

/* `name`: of the file in diagnostics. */
NODISCARD int native_build(const struct build_context *context, enum compile_kind kind,
                           const char *name, const char *text, size_t bytes,
                           struct artifact *artifact, struct err *err);
/* Device code of the judge's own. compile.timeout_ms, which is for candidates, is not for it: it
 * may take NATIVE_OWN_TIMEOUT_MS. */
NODISCARD int native_build_own(const struct build_context *context, const char *name,
                               const char *source, struct artifact *artifact, struct err *err);
