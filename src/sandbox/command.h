/* command: a sandboxed process that becomes a compiler, and the runner that requests one.
 *
 *   judge ── {argv, environment} + output pipe ──► sandbox_lock ─► execve
 *                                                          └─► a compiler that is in memory already
 *
 * The second kind of server has loaded a compiler that is a library (struct command's `resident`):
 * its children run that, in a sandbox in which nothing can be started.
 *
 * sandbox_runner gives compile/ the `struct runner` of base/process.h: each command runs in a
 * sandbox of its own, sees only `readable`, and writes only into `directory`, which is its scratch
 * (mounted at SANDBOX_SCRATCH where there are mounts; its own path where not: commands name files
 * relative to it).
 */
#pragma once

#include "base/process.h"
#include "sandbox/standby.h"

struct sandbox_runner {
    struct runner runner; /* first: a struct runner * is a struct sandbox_runner * */
    struct standby *standby;
    struct standby *resident;     /* for commands that are; the caller's; NULL: there are none */
    const char *toolchain_root;   /* bundled toolchain to mount as /usr, or NULL */
    const _Atomic int *cancelled; /* non-zero: stop what runs; may be NULL */
    uint32_t forbid;              /* layers not to try (tests only) */
    uint32_t layers;              /* that held around the last command, before it was locked */
};

/* `own_root`: whether sandboxes get one on this machine (LAYER_MOUNT). */
void sandbox_runner_init(struct sandbox_runner *runner, struct standby *standby, bool own_root,
                         const char *toolchain_root, const _Atomic int *cancelled);

/* A compiler in memory: takes a command's arguments, prints to standard output; an exit status. */
typedef int command_main(int argc, char **argv);

/* In the sandboxed process: receives one command and becomes it, or is `resident` (NULL: it is
 * none). An exit status; of a command that was to be become only where that failed. */
int command_serve(int channel, const struct sandbox *sandbox, uint32_t layers,
                  command_main *resident);
