/* sandbox: what isolates one untrusted process.
 *
 *   standby server S ─ fork ─► A: sandbox_unshare ─ fork ─► B: sandbox_enter ─► sandbox_lock
 *                                                                               └─► untrusted code
 *
 * A exists only because a process never enters a PID namespace that it makes; it ends at once, and
 * B becomes a child of the judge (a subreaper), which can then stop it, see it stop and reap it.
 *
 * Layers are tried one by one. Each that holds sets its bit in `layers`; what is missing is named
 * by `doctor` and in each verdict, never papered over. As root, mounts are made with real
 * privileges and the process then becomes SANDBOX_NOBODY inside a user namespace of its own. As an
 * ordinary user, and as a root that may not mount (a container's), the user namespace comes first
 * and gives that right; that root becomes SANDBOX_NOBODY, too. After sandbox_lock there is no way
 * back: no capability, no new privilege, no path outside the sandbox.
 *
 * Everything here runs in a single-threaded child just after fork. Sources: user_namespaces(7),
 * pid_namespaces(7), mount_namespaces(7), landlock(7), seccomp(2), pivot_root(2).
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SANDBOX_NOBODY 65534
#define SANDBOX_PATHS_BYTES 16384
#define SANDBOX_SCRATCH "/scratch" /* inside a sandbox with its own mounts; /tmp leads to it */

/* X(symbol, name, what it keeps out) */
#define SANDBOX_LAYERS(X)                                                                          \
    X(LAYER_USER, "user namespace", "capabilities on this machine")                                \
    X(LAYER_PID, "process namespace", "seeing or signalling other processes")                      \
    X(LAYER_MOUNT, "mount namespace", "the file system: an own root with only what it needs")      \
    X(LAYER_PROC, "own /proc", "reading about other processes")                                    \
    X(LAYER_NET, "network namespace", "every network, loopback too")                               \
    X(LAYER_IPC, "IPC namespace", "shared memory and queues of others")                            \
    X(LAYER_UTS, "UTS namespace", "changing this machine's host name")                             \
    X(LAYER_IDENTITY, "unprivileged identity", "files and rights of the judging user")             \
    X(LAYER_LANDLOCK, "Landlock",                                                                  \
      "paths, TCP ports, abstract sockets, signals outside the sandbox")                           \
    X(LAYER_SECCOMP, "seccomp filter", "system calls that no kernel needs")                        \
    X(LAYER_NO_NEW_PRIVS, "no new privileges", "set-uid programs")                                 \
    X(LAYER_LIMITS, "resource limits", "memory, file, process and CPU floods")                     \
    X(LAYER_SCRATCH, "private scratch", "files shared between candidates")

enum sandbox_layer {
#define X(symbol, name, meaning) symbol,
    SANDBOX_LAYERS(X)
#undef X
        SANDBOX_LAYER_COUNT
};

#define SANDBOX_ALL_LAYERS ((UINT32_C(1) << SANDBOX_LAYER_COUNT) - 1)

/* X(symbol, name): what LAYER_LIMITS consists of; the layer holds if every limit could be set. */
#define SANDBOX_LIMITS(X)                                                                          \
    X(LIMIT_CORE, "core dumps")                                                                    \
    X(LIMIT_FILE_SIZE, "file size")                                                                \
    X(LIMIT_OPEN_FILES, "open files")                                                              \
    X(LIMIT_MESSAGE_QUEUES, "message queues")                                                      \
    X(LIMIT_LOCKED_MEMORY, "locked memory")                                                        \
    X(LIMIT_PROCESSES, "processes")                                                                \
    X(LIMIT_STACK, "stack")                                                                        \
    X(LIMIT_CPU_TIME, "processor time")                                                            \
    X(LIMIT_ADDRESS_SPACE, "address space")

enum sandbox_limit {
#define X(symbol, name) symbol,
    SANDBOX_LIMITS(X)
#undef X
        SANDBOX_LIMIT_COUNT
};

/* In `layers`, above the bits of the layers: this limit could not be set. */
#define SANDBOX_LIMIT_FAILED(limit) (UINT32_C(1) << (SANDBOX_LAYER_COUNT + (limit)))

enum sandbox_kind {
    SANDBOX_NATIVE, /* nothing but scratch, /proc and /dev: libraries are in memory already */
    SANDBOX_TORCH,  /* Python and its packages, read-only */
    SANDBOX_CUDA, /* as SANDBOX_NATIVE, and the GPU's device files; `paths`: where the driver is */
    SANDBOX_TORCH_CUDA, /* both of these */
    SANDBOX_BUILD,      /* a compiler: may fork and execute what is readable */
    SANDBOX_PROGRAM,    /* an external program, and what it reads: executed once (program.h) */
};

/* What a sandbox is made of; plain bytes, sent to the standby server. */
struct sandbox {
    uint32_t kind;          /* enum sandbox_kind */
    uint32_t forbid;        /* bit mask of layers not to try (tests and doctor only) */
    uint64_t memory_bytes;  /* address space beyond what is mapped at the start; 0: no bound */
    uint64_t scratch_bytes; /* size of the scratch file system, and of the largest file */
    uint64_t cpu_seconds;   /* processor time, a net below the judge's own deadline; 0: no bound */
    uint32_t processes;     /* processes and threads */
    uint32_t output;        /* whether what it prints can be read: output.h */
    int32_t gpu;            /* the one there is: its device file's number; negative: all are */
    uint32_t paths_bytes;   /* used bytes of `paths` */
    char root[512];         /* mounted as /usr when not empty: a bundled toolchain */
    char scratch[512];      /* host directory that is the scratch; empty: memory */
    char paths[SANDBOX_PATHS_BYTES]; /* readable paths, each with its NUL */
};

void sandbox_init(struct sandbox *sandbox, enum sandbox_kind kind);
bool sandbox_has_gpu(enum sandbox_kind kind);
/* A static string, "locked memory", while LAYER_LIMITS is missing from `layers` because this limit
 * could not be set; NULL otherwise. */
const char *sandbox_limit_missing(uint32_t layers, enum sandbox_limit limit);
/* Adds a path that stays readable inside; duplicates and what does not exist are passed over. */
void sandbox_allow(struct sandbox *sandbox, const char *path);

/* In A: leaves the old namespaces; *layers: what holds so far. False: A must end. */
bool sandbox_unshare(const struct sandbox *sandbox, uint32_t *layers);

/* In B: mounts, identity, limits. Closes every descriptor but 0-2, which become /dev/null, and
 * `keep`; what the process prints may be kept later (output.h). Adds to *layers. Fails only where
 * running on would be unsafe. */
NODISCARD int sandbox_enter(const struct sandbox *sandbox, int keep, uint32_t *layers,
                            struct err *err);

/* In B, last thing before untrusted code: Landlock and the system-call filter. */
NODISCARD int sandbox_lock(const struct sandbox *sandbox, uint32_t *layers, struct err *err);

/* Through which the NVIDIA driver is asked for anything. */
#define SANDBOX_GPU_CONTROL "/dev/nvidiactl"
/* The device files that the driver is used through in this sandbox, one after the other; false:
 * there are no more. Some may not exist. */
#define SANDBOX_DEVICE_BYTES 32
bool sandbox_gpu_device(const struct sandbox *sandbox, uint32_t index,
                        char path[SANDBOX_DEVICE_BYTES]);

/* Parts, one file each. */
NODISCARD int sandbox_mount(const struct sandbox *sandbox, uint32_t *layers,
                            struct err *err); /* mount.c */
NODISCARD int sandbox_landlock(const struct sandbox *sandbox, bool own_root,
                               struct err *err); /* landlock.c */
int sandbox_landlock_abi(void);                  /* 0: none */
enum sandbox_filter { FILTER_RUN, FILTER_CUDA, FILTER_BUILD, FILTER_PROGRAM, FILTER_COUNT };
NODISCARD int sandbox_filter_prepare(struct err *err); /* before the first fork: filter.c */
NODISCARD int sandbox_filter_load(enum sandbox_filter filter, struct err *err);
/* Ahead of FILTER_PROGRAM: nothing can be executed but by this very address of a path. */
NODISCARD int sandbox_filter_execute_at(const char *path, struct err *err);
