/* program: a sandboxed process that becomes an external program and keeps its channel to the judge.
 *
 *   judge ── exec_message ──► path at a secret address ─► only that may be executed ─► sandbox_lock
 *         ◄─ report {layers} ──                                                    └─► execve
 *
 * The sandbox is locked before the program's first instruction. execve has to get through it once:
 * the filter passes only one secret address of a path, which is unmapped afterwards. The program
 * finds its channel as descriptor PROGRAM_CHANNEL and has no other; it sees what its sandbox makes
 * readable, and its working directory is its scratch.
 */
#pragma once

#include "sandbox/sandbox.h"
#include "sandbox/sandboxed.h"

#define PROGRAM_CHANNEL 3

/* In the sandboxed process: an exit status, where the program cannot be executed. */
int program_serve(int channel, const struct sandbox *sandbox, uint32_t layers);

/* In the judge: has a process that was just made become the program, and adds the layers that hold
 * to sandboxed->layers. Whether it could be executed shows when it speaks, or ends. */
NODISCARD int program_start(struct sandboxed *process, const char *const *argv,
                            const char *const *environment, int64_t timeout_ms, struct err *err);
