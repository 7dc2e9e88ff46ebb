/* mcp_recorder: agents' episodes on disk.
 *
 *   DIR/trajectories.jsonl           docs/reference/trajectories.md: a line per ended episode
 *   DIR/open/PROCESS/EPISODE.json    the state of an open one, rewritten after each turn
 *
 * Any number of processes may write to one directory. The next process ends the episodes that a
 * killed one left open ("expired") and appends them: no turn that an agent saw is lost, only a
 * turn whose evaluation was running.
 *
 * Ownership: the gym is borrowed. Threads: any, for different episodes. Errors: ERR_IO; of
 * opening also ERR_INPUT. */
#pragma once

#include "base/err.h"
#include "gym/episode/episode.h"

struct mcp_recorder;

NODISCARD int mcp_recorder_open(struct mcp_recorder **out, const char *directory, struct gym *gym,
                                struct err *err);
/* NULL is fine. */
void mcp_recorder_close(struct mcp_recorder *recorder);

/* Call after each turn. */
NODISCARD int mcp_recorder_save(struct mcp_recorder *recorder, const struct episode *episode,
                                struct err *err);
/* The episode is DONE: writes a line if it had a turn. */
NODISCARD int mcp_recorder_end(struct mcp_recorder *recorder, const struct episode *episode,
                               struct err *err);
/* The episode continues under another id. */
void mcp_recorder_forget(struct mcp_recorder *recorder, const char *id);
