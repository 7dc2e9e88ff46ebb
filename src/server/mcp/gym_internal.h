/* gym_internal: what the files of the service share. */
#pragma once

#include "gym/episode/episode.h"
#include "problem/problem.h"
#include "server/mcp/gym.h"
#include "server/mcp/recorder.h"

#include <pthread.h>

/* A *row* is a session's record of a turn: {"episode", "problem", "language", "turn", "status",
 * "correct", "speedup" or null, "reward", "source", "feedback"}; immutable. */

/* The call that holds it, by mcp_track_take, has its episode exclusively. */
struct mcp_track {
    struct mcp_track *next;
    char *problem, *language;
    struct episode *episode; /* NULL: none is open */
    /* Under the context's lock: all below. */
    bool busy;
    int64_t order;         /* of its last turn, in the session; 0: none yet */
    json_t *row, *verdict; /* of that turn; NULL */
    json_t *best;          /* the row of the fastest correct one; NULL */
};

/* The state of a session (mcp_session_state). */
struct mcp_agent {
    const char *session; /* its handle */
    /* Under the context's lock: all below. */
    struct mcp_track *tracks;
    json_t *turns; /* the newest rows of all tracks */
    int64_t total; /* turns */
};

struct mcp_gym {
    struct mcp_gym_options options;
    struct mcp_service service;
    json_t *catalogue;
    struct mcp_recorder *recorder; /* NULL */
    pthread_mutex_t lock;
    pthread_cond_t freed; /* a track */
};

/* agent.c */

/* The agent of the session with that handle, or of the call's own if it is NULL; it outlasts the
 * call. ERR_MISSING: no such session (it may have ended), or it has none and `make` is false. */
NODISCARD int mcp_agent_find(struct mcp_gym *mcp_gym, struct mcp_call *call, const char *handle,
                             bool make, struct mcp_agent **agent, struct err *err);
/* Ends the episodes of an agent: a service's session_over. */
void mcp_agent_free(void *context, void *which);

/* Waits until the track is free. ERR_CANCELLED. */
NODISCARD int mcp_track_take(struct mcp_gym *mcp_gym, struct mcp_agent *agent, const char *problem,
                             const char *language, const _Atomic int *stop,
                             struct mcp_track **track, struct err *err);
void mcp_track_give_back(struct mcp_gym *mcp_gym, struct mcp_track *track);
/* Its episode is DONE: writes the trajectory. */
void mcp_track_end(struct mcp_gym *mcp_gym, struct mcp_track *track);

/* problems.c */

NODISCARD int mcp_problem_load(struct mcp_gym *mcp_gym, const char *id, struct problem *problem,
                               struct err *err);
int mcp_list_resources(void *context, size_t from, size_t count, json_t *resources, bool *more,
                       struct err *err);
int mcp_read_resource(void *context, const char *uri, json_t **contents, struct err *err);
int mcp_get_prompt(void *context, const char *name, const json_t *arguments, json_t **messages,
                   struct err *err);

/* The tools: mcp_tool's run. */
typedef int mcp_tool_run(void *context, struct mcp_call *call, const json_t *arguments,
                         struct mcp_answer *answer, struct err *err);
mcp_tool_run mcp_tool_list_problems, mcp_tool_read_problem, mcp_tool_search_examples;
mcp_tool_run mcp_tool_submit, mcp_tool_profile, mcp_tool_history;

/* NULL if it is absent. */
const char *mcp_text_of(const json_t *object, const char *key);
