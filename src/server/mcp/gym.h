/* mcp_gym: the service of `warpgym mcp`: problems, submissions, profiles, examples.
 *
 *   session ─┬─ track (problem, language) ─ episode ─ turns
 *            └─ track …
 *
 * A submission is a turn: its source, fenced, is the answer of an episode
 * (gym/episode/episode.h), which an evaluator judges. When an episode is full, the next one
 * begins. An episode accepts one answer at a time: concurrent submissions wait. A submission
 * that is cancelled or that could not be judged is not a turn.
 *
 * A session is the protocol's (mcp.h); a stateless client's first submission makes one. When it
 * ends its episodes end ("expired") and become trajectories.
 *
 * Ownership: everything in the options is borrowed. Threads: any; mcp_gym_close after mcp_stop. */
#pragma once

#include "base/err.h"
#include "server/mcp/mcp.h"

struct evaluator;
struct gym;

struct mcp_gym;

struct mcp_gym_options {
    struct gym *gym;
    struct evaluator *evaluator;
    const char *record; /* a directory; NULL: episodes are not recorded */
};

NODISCARD int mcp_gym_open(struct mcp_gym **out, const struct mcp_gym_options *options,
                           struct err *err);
const struct mcp_service *mcp_gym_service(const struct mcp_gym *mcp_gym);
/* NULL is fine. */
void mcp_gym_close(struct mcp_gym *mcp_gym);
