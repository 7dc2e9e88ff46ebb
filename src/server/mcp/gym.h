/* mcp_gym: what `warpgym mcp` serves: problems, submissions, profiles, examples.
 *
 *   session ─┬─ track (problem, language) ─ episode ─ turns
 *            └─ track …
 *
 * A submission is a turn: its source, fenced, is the answer of an episode (gym/episode/episode.h),
 * which an evaluator judges. An episode that is full is followed by another. One that is judging
 * takes no second answer: who submits meanwhile waits. A submission that is cancelled, or that
 * nobody could judge, is no turn.
 *
 * A session of ours belongs to one of the protocol's, or, where there is none, to whoever knows its
 * id: the first submission makes one up. It ends with the protocol's, after `mcp.idle_ms` without
 * use, or with us; then its episodes end ("expired") and become trajectories.
 *
 * Ownership: everything in the options is borrowed. Threads: any; mcp_gym_close when nobody calls.
 */
#ifndef WARPGYM_SERVER_MCP_GYM_H
#define WARPGYM_SERVER_MCP_GYM_H

#include "base/err.h"
#include "server/mcp/mcp.h"

struct evaluator;
struct gym;

struct mcp_gym;

struct mcp_gym_options {
    struct gym *gym;
    struct evaluator *evaluator;
    bool elsewhere;     /* another machine judges */
    const char *record; /* a directory; NULL: nothing is kept */
};

NODISCARD int mcp_gym_open(struct mcp_gym **out, const struct mcp_gym_options *options,
                           struct err *err);
const struct mcp_service *mcp_gym_service(const struct mcp_gym *house);
/* Ends all sessions. NULL is fine. */
void mcp_gym_close(struct mcp_gym *house);

#endif
