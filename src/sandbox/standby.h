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
#include "sandbox/sandboxed.h"

#include <stdint.h>

struct standby;

/* Starts `argv` with the control socket as descriptor 3 and `environment` as its whole environment.
 * Returns at once; the first spawn waits until the server is ready, at most start_timeout_ms. Waits
 * end with ERR_CANCELLED soon after *cancelled (NULL: never) is set. */
NODISCARD int standby_open(struct standby **standby, const char *const *argv,
                           const char *const *environment, int64_t start_timeout_ms,
                           const _Atomic int *cancelled, struct err *err);
/* Ends the server. Sandboxed processes that it made live on until sandboxed_close. */
void standby_close(struct standby *standby);
/* Waits until the server has loaded what it loads. ERR_CRASH: it ended before that; it is started
 * again when it is needed next, but not before start_timeout_ms have passed since its start. */
NODISCARD int standby_ready(struct standby *standby, struct err *err);

enum standby_state { STANDBY_LOADING, STANDBY_READY, STANDBY_ENDED };
/* Without waiting. One that has ended is started again when it is needed next. */
enum standby_state standby_look(struct standby *standby);

/* Forks one process into `sandbox`; it has entered it, but not locked it, when this returns. */
NODISCARD int standby_spawn(struct standby *standby, const struct sandbox *sandbox,
                            int64_t timeout_ms, struct sandboxed *process, struct err *err);
