/* spawner: children in their sandboxes, and the standby servers that fork them.
 *
 * A standby server is a process that has loaded what its children need, one for each kind of
 * sandbox. Each is started when it is first needed and ends with the judge. The GPU's servers load
 * no context: that would not survive a fork (warm_pool.h).
 *
 * Where the machine lets a sandbox mount memory, that is its scratch, and vanishes with it. Where
 * it does not, which only the first sandbox can find out, each sandbox gets a directory of this
 * machine instead.
 *
 * Ownership: the judge's. Threads: any, once it is set up; a reserve is its session's. Errors: as
 * child_open has them.
 */
#pragma once

#include "base/settings.h"
#include "compile/compile.h"
#include "judge/gpu/gpu_pool.h"
#include "judge/process/child.h"
#include "judge/process/installation.h"
#include "judge/process/warm_pool.h"

#include <pthread.h>

enum server_kind {
    SERVER_NATIVE,
    SERVER_TORCH,
    SERVER_CUDA,
    SERVER_TORCH_CUDA,
    SERVER_NVRTC, /* for commands */
    SERVER_COUNT
};

struct spawner {
    /* the caller's, set before spawner_init */
    const struct settings *settings;
    const _Atomic int *cancelled;
    const struct installation *installation;
    const struct toolchain *toolchain;
    struct gpu_pool *gpus;
    /* its own */
    pthread_mutex_t lock;
    struct standby *servers[SERVER_COUNT]; /* under `lock`; NULL: not needed yet */
    _Atomic bool no_own_root;              /* sandboxes get no root of their own here */
    _Atomic bool probed;                   /* no_own_root is known */
};

/* Processes with a GPU context, taken from a warm pool for the next children. */
struct spawner_reserve {
    enum sandbox_kind kind;
    struct sandboxed processes[2]; /* candidate and reference */
    uint32_t count;
};

/* The driver's library, by the settings. */
const char *spawner_driver(const struct settings *settings);
void spawner_init(struct spawner *spawner);
/* Warm pools are closed before. */
void spawner_deinit(struct spawner *spawner);

/* The server for that kind of sandbox. ERR_MISSING: there is no Python with PyTorch. */
NODISCARD int spawner_standby(struct spawner *spawner, enum sandbox_kind kind,
                              struct standby **standby, struct err *err);
/* The server for commands that NVRTC runs; *standby NULL: there is no NVRTC. */
NODISCARD int spawner_nvrtc(struct spawner *spawner, struct standby **standby, struct err *err);
/* Starts it, without waiting, if the machine seems to have a GPU. */
void spawner_warm_nvrtc(struct spawner *spawner);
/* Its name, and the server itself if it was started so far, else NULL. */
const char *spawner_server(struct spawner *spawner, enum server_kind kind, struct standby **server);

/* How messages name a GPU to a child; `facts` NULL: it has none. */
struct wire_gpu spawner_wire_gpu(const struct spawner *spawner, const struct gpu *facts);
/* The pool of that kind for a GPU, made when it is first asked for; NULL: there is none. */
struct warm_pool *spawner_warm_pool(struct spawner *spawner, struct gpu_unit *unit,
                                    enum sandbox_kind kind);
/* Takes processes of reserve->kind until there are `processes`. Fewer are no error: the next child
 * is then started without the pool. */
void spawner_reserve(struct spawner *spawner, struct gpu_unit *unit,
                     struct spawner_reserve *reserve, uint32_t processes,
                     const _Atomic int *cancelled);
/* One of those, which the caller takes over; NULL: none is left. */
const struct sandboxed *spawner_take_reserved(struct spawner_reserve *reserve);
void spawner_release(struct spawner_reserve *reserve);

#define SPAWNER_ALL UINT64_MAX /* what this machine has available */

/* Opens a child in a sandbox with run.memory_bytes and that many bytes for its problem, or in
 * start->process, which is taken over, if there is one. Fills in what `start` has in common for all
 * children: its message, descriptors, kind, builder, timeout and `cancelled` are the caller's, and
 * the server, where it is another than that kind's. */
NODISCARD int spawner_start(struct spawner *spawner, struct gpu_unit *unit, enum sandbox_kind kind,
                            uint64_t problem_memory, struct child *child, struct child_start *start,
                            struct wire_opened *opened, struct err *err);
/* Finds out whether sandboxes get a root of their own, which a bundled compiler must know before
 * it runs; nothing to do without one. */
NODISCARD int spawner_probe(struct spawner *spawner, struct standby *standby, struct err *err);
