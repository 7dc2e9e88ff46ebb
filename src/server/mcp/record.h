/* mcp_record: agents' episodes on disk.
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

struct mcp_record;

NODISCARD int mcp_record_open(struct mcp_record **out, const char *directory, struct gym *gym,
                              struct err *err);
/* NULL is fine. */
void mcp_record_close(struct mcp_record *record);

/* Call after each turn. */
NODISCARD int mcp_record_save(struct mcp_record *record, const struct episode *episode,
                              struct err *err);
/* The episode is DONE: writes a line if it had a turn. */
NODISCARD int mcp_record_end(struct mcp_record *record, const struct episode *episode,
                             struct err *err);
/* The episode continues under another id. */
void mcp_record_forget(struct mcp_record *record, const char *id);
