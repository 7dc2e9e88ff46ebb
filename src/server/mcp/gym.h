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
 * An agent's session belongs to a session of the protocol, or, without one, to every client that
 * has its id: the first submission creates it. It ends with the protocol's session, after
 * `mcp.idle_ms` without use, or with the server; then its episodes end ("expired") and become
 * trajectories.
 *
 * Ownership: everything in the options is borrowed. Threads: any; mcp_gym_close when no call
 * runs. */
#pragma once

#include "base/err.h"
#include "server/mcp/mcp.h"

struct evaluator;
struct gym;

struct mcp_gym;

struct mcp_gym_options {
    struct gym *gym;
    struct evaluator *evaluator;
    bool elsewhere;     /* evaluations run on another machine */
    const char *record; /* a directory; NULL: episodes are not recorded */
};

NODISCARD int mcp_gym_open(struct mcp_gym **out, const struct mcp_gym_options *options,
                           struct err *err);
const struct mcp_service *mcp_gym_service(const struct mcp_gym *mcp_gym);
/* Ends all sessions. NULL is fine. */
void mcp_gym_close(struct mcp_gym *mcp_gym);
