/* external: candidates in a language from outside (request/external_language.h).
 *
 *   source ─► sandbox for compilers: `compile` ─► cache ─► artifact ─┐
 *         └──────────────────────────────────────────────────────────┴─► sandbox: `run`
 *
 * Both programs are the configuration's, but what they say once they have seen the source is the
 * candidate's word. Threads: the session's.
 */
#pragma once

#include "judge/open/native.h"

/* For the candidate of opening->job. */
struct native_backend external_backend(const struct opening *opening);
