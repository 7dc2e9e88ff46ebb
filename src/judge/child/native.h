/* native: the child program of native candidates and references.
 *
 * Runs in a sandboxed process. Loads a shared object, maps slot memory, and runs `solution` when a
 * CALL arrives. It shares its address space with the candidate, so the judge trusts nothing here: a
 * candidate that rewrites it gains a process that it had anyway.
 */
#pragma once

#include "judge/child/tracing.h"
#include "sandbox/sandbox.h"

#include <stdint.h>

/* Serves one judge until the channel closes. Returns the process's exit status. `driver` as in
 * cuda_open. */
int native_serve(int channel, const struct sandbox *sandbox, uint32_t layers, const char *driver,
                 const struct tracing *tracing);
