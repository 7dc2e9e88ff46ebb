/* mcp_record: the episodes of agents, kept on disk.
 *
 *   DIR/trajectories.jsonl           docs/reference/trajectories.md: a line when an episode is over
 *   DIR/open/PROCESS/EPISODE.json    its state, while it is not; rewritten after each turn
 *
 * Any number of processes may write to one directory at a time. What a killed one left open is
 * ended by the next that comes ("expired"), and appended: nothing of what an agent was told is
 * lost. A turn that was being judged then is.
 *
 * Ownership: the gym is borrowed. Threads: any, for different episodes.
 * Errors: ERR_IO; of opening also ERR_INPUT.
 */
#ifndef WARPGYM_SERVER_MCP_RECORD_H
#define WARPGYM_SERVER_MCP_RECORD_H

#include "base/err.h"
#include "gym/episode/episode.h"

struct mcp_record;

NODISCARD int mcp_record_open(struct mcp_record **out, const char *directory, struct gym *gym,
                              struct err *err);
/* NULL is fine. */
void mcp_record_close(struct mcp_record *record);

/* A turn of it is over. */
NODISCARD int mcp_record_keep(struct mcp_record *record, const struct episode *episode,
                              struct err *err);
/* It is DONE: one that had a turn becomes a line. */
NODISCARD int mcp_record_end(struct mcp_record *record, const struct episode *episode,
                             struct err *err);
/* It is known by another id from now on. */
void mcp_record_forget(struct mcp_record *record, const char *id);

#endif
