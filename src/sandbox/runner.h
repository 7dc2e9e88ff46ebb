/* runner: commands in sandboxes.
 *
 * sandbox_runner gives compile/ the `struct runner` of base/process.h: each command runs in a
 * sandbox of its own (sandbox/command.h), sees only `readable`, and writes only into `directory`,
 * which is its scratch (mounted at SANDBOX_SCRATCH where there are mounts; its own path where not:
 * commands name files relative to it).
 *
 * Where commands and timing are on the same device (the CPU), each command takes turns there of its
 * own, and is stopped between them: it disturbs no timing, and holds none up.
 *
 * A command's time is what it has of the machine: while others keep the processors from it, its
 * deadline moves, for two minutes at the most. After these it ends with ERR_IO: the machine failed,
 * not the command.
 */
#pragma once

#include "base/process.h"
#include "device/turn.h"
#include "sandbox/standby.h"

struct sandbox_runner {
    struct runner runner; /* first: a struct runner * is a struct sandbox_runner * */
    struct standby *standby;
    struct standby *resident;       /* for commands that are; the caller's; NULL: there are none */
    const char *toolchain_root;     /* bundled toolchain to mount as /usr, or NULL */
    const _Atomic int *cancelled;   /* non-zero: stop what runs; may be NULL */
    const struct device_turn *turn; /* how it shares the device; NULL: it needs no lock */
    uint32_t forbid;                /* layers not to try (tests only) */
    uint32_t layers;                /* that held around the last command, before it was locked */
};

/* `own_root`: whether sandboxes get one on this machine (LAYER_MOUNT). */
void sandbox_runner_init(struct sandbox_runner *runner, struct standby *standby, bool own_root,
                         const char *toolchain_root, const _Atomic int *cancelled);
