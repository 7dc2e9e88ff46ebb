/* command: a sandboxed process that becomes a compiler; sandbox/runner.h requests it.
 *
 *   judge ── {argv, environment} + output pipe ──► sandbox_lock ─► execve
 *                                                          └─► a compiler that is in memory already
 *
 * The second kind of server has loaded a compiler that is a library (struct command's `resident`):
 * its children run that, in a sandbox in which nothing can be started.
 */
#pragma once

#include "sandbox/sandbox.h"

/* A compiler in memory: takes a command's arguments, prints to standard output; an exit status. */
typedef int command_main(int argc, char **argv);

/* In the sandboxed process: receives one command and becomes it, or is `resident` (NULL: it is
 * none). An exit status; of a command that was to be become only where that failed. */
int command_serve(int channel, const struct sandbox *sandbox, uint32_t layers,
                  command_main *resident);
