/* external: candidates in a language from outside (request/external_language.h).
 *
 *   source ─► sandbox for compilers: `compile` ─► cache ─► artifact ─┐
 *         └──────────────────────────────────────────────────────────┴─► sandbox: `run`
 *
 * Both programs are the configuration's, but what they say once they have seen the source is the
 * candidate's word. Threads: the session's.
 */
#pragma once

struct session;

/* Stages "compile" and "load". 0 or -1 (the verdict says why). */
int external_open(struct session *session);
