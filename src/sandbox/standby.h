/* standby: server processes whose children become sandboxed processes.
 *
 * A standby server is a single-threaded process that has already loaded what its children need (for
 * Python: PyTorch, 2.7 s) and holds no secret. On request it forks; the child enters its sandbox
 * and becomes a *child* (judge/process/child.h) or runs a build. Each child is used once.
 *
 *   judge ─ request {sandbox, channel} ─► server ─ fork A ─ fork B ─► sandbox
 *     ▲                                                                   │
 *     └────────────────────────── hello {layers} ─────────────────────────┘
 *
 * The judge is made a subreaper, so that B becomes its child when A ends: it can be stopped, seen
 * to stop, and reaped with its exit status. When the judge dies, the server reads end-of-file and
 * ends, and every sandboxed process gets SIGKILL (PR_SET_PDEATHSIG) and takes its namespace along.
 *
 * Threads: standby_spawn may be called from any thread; requests to one server are serialised.
 */
#pragma once

#include "base/err.h"
#include "sandbox/sandbox.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct standby;

/* Starts `argv` with the control socket as descriptor 3 and `environment` as its whole environment.
 * Returns at once; the first spawn waits until the server is ready, at most start_timeout_ms. Waits
 * end with ERR_CANCELLED soon after *cancelled (NULL: never) is set. */
NODISCARD int standby_open(struct standby **standby, const char *const *argv,
                           const char *const *environment, int64_t start_timeout_ms,
                           const _Atomic int *cancelled, struct err *err);
/* Ends the server. Sandboxed processes that it made live on until sandboxed_close. */
void standby_close(struct standby *standby);
/* Waits until the server has loaded what it loads. */
NODISCARD int standby_ready(struct standby *standby, struct err *err);

enum standby_state { STANDBY_LOADING, STANDBY_READY, STANDBY_ENDED };
/* Without waiting. One that has ended is started again when it is needed next. */
enum standby_state standby_look(struct standby *standby);

/* One process in a sandbox, seen from the judge. */
struct sandboxed {
    pid_t pid;   /* 0: none */
    int channel; /* SOCK_SEQPACKET */
    int pid_fd;
    uint32_t layers; /* bits of enum sandbox_layer that hold */
    bool frozen;
    bool reaped;
    int status; /* as waitpid gives it, once reaped */
};

/* Forks one process into `sandbox`; it has entered it, but not locked it, when this returns. */
NODISCARD int standby_spawn(struct standby *standby, const struct sandbox *sandbox,
                            int64_t timeout_ms, struct sandboxed *process, struct err *err);

/* Stops every thread; returns when all have stopped. ERR_CRASH: it is dead (and reaped);
 * ERR_TIMEOUT: it did not stop in two seconds and has been killed. */
NODISCARD int sandboxed_freeze(struct sandboxed *process, struct err *err);
void sandboxed_thaw(struct sandboxed *process);

/* A copy of the process's memory; the address is the process's own word and may be a lie, which
 * costs an error (ERR_PROTOCOL), nothing more. */
NODISCARD int sandboxed_read(const struct sandboxed *process, uint64_t address, void *into,
                             size_t count, struct err *err);

/* A numeric field of /proc/PID/stat, counted as in proc(5) (20: threads, 39: processor that it ran
 * on last); -1 where there is none. */
long sandboxed_stat(pid_t pid, int field);

/* True when the process has ended; then `status` is set. Never blocks. */
bool sandboxed_ended(struct sandboxed *process);
/* By SIGKILL, which comes from the machine (out of memory) or its operator. */
bool sandboxed_killed(const struct sandboxed *process);
/* How it ended, for people: "exited with status 3", "was killed by SIGSEGV (segmentation fault)".
   */
void sandboxed_status_text(const struct sandboxed *process, char *text, size_t text_bytes);
/* Its channel is at its end: ERR_CRASH with how it ended, or ERR_PROTOCOL if it lives. */
int sandboxed_explain_end(struct sandboxed *process, struct err *err);

/* Kills it and all in its namespace, reaps it, closes descriptors. Safe on a zeroed struct. */
void sandboxed_close(struct sandboxed *process);
