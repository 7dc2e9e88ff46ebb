/* mcp_gym_internal: what the files of the service share, and nobody else includes. */
#ifndef WARPGYM_SERVER_MCP_GYM_INTERNAL_H
#define WARPGYM_SERVER_MCP_GYM_INTERNAL_H

#include "gym/episode/episode.h"
#include "problem/problem.h"
#include "server/mcp/gym.h"
#include "server/mcp/record.h"

#include <pthread.h>

/* A *row* is what a session remembers of a turn: {"episode", "problem", "language", "turn",
 * "status", "correct", "speedup" or null, "reward", "source", "feedback"}; it is never changed. */

/* Whoever has it, by mcp_track_take, has its episode alone. */
struct mcp_track {
    struct mcp_track *next;
    char *problem, *language;
    struct episode *episode; /* NULL: none is open */
    /* The house's lock: all below. */
    bool busy;
    int64_t order;         /* of its last turn, in the session; 0: none yet */
    json_t *row, *verdict; /* of that turn; NULL */
    json_t *best;          /* the row of the fastest correct one; NULL */
};

struct mcp_seat { /* a session */
    struct mcp_seat *next;
    char id[MCP_SESSION_BYTES];
    char peer[MCP_SESSION_BYTES]; /* the protocol's; "": none */
    /* The house's lock: all below. */
    struct mcp_track *tracks;
    json_t *turns; /* the newest rows of all tracks */
    int64_t total; /* turns */
    size_t refs;   /* one of the list's, one of each call's */
    int64_t used_ns;
};

struct mcp_gym {
    struct mcp_gym_options options;
    struct mcp_service service;
    json_t *catalogue;
    struct mcp_record *record; /* NULL */
    pthread_mutex_t lock;
    pthread_cond_t freed; /* a track */
    struct mcp_seat *seats;
    size_t seat_count;
};

/* seat.c */

/* The one that is meant: `id` where it is not NULL, else the call's own. ERR_MISSING: there is none
 * (any longer), and `make` does not say to make one. *seat is a reference. */
NODISCARD int mcp_seat_find(struct mcp_gym *house, const struct mcp_call *call, const char *id,
                            bool make, struct mcp_seat **seat, struct err *err);
/* The last reference ends its episodes. */
void mcp_seat_unref(struct mcp_gym *house, struct mcp_seat *seat);
/* Of the protocol's session. */
void mcp_seat_over(struct mcp_gym *house, const char *peer);
void mcp_seat_end_idle(struct mcp_gym *house);
void mcp_seat_end_all(struct mcp_gym *house);

/* Waits until nobody has it. ERR_CANCELLED. */
NODISCARD int mcp_track_take(struct mcp_gym *house, struct mcp_seat *seat, const char *problem,
                             const char *language, const _Atomic int *stop,
                             struct mcp_track **track, struct err *err);
void mcp_track_give_back(struct mcp_gym *house, struct mcp_track *track);
/* Its episode is DONE: it becomes a trajectory. */
void mcp_track_end(struct mcp_gym *house, struct mcp_track *track);

/* problems.c */

NODISCARD int mcp_problem_load(struct mcp_gym *house, const char *id, struct problem *problem,
                               struct err *err);
/* The first prompt of an episode; `language` NULL: the usual one, which *chosen then tells
 * (mem_free). */
NODISCARD int mcp_problem_prompt(struct mcp_gym *house, const char *id, const char *language,
                                 json_t **messages, char **chosen, struct err *err);
int mcp_list_resources(void *context, size_t from, size_t count, json_t *resources, bool *more,
                       struct err *err);
int mcp_read_resource(void *context, const char *uri, json_t **contents, struct err *err);
int mcp_get_prompt(void *context, const char *name, const json_t *arguments, json_t **messages,
                   struct err *err);

/* A tool each; arguments are as their schema has them. */
typedef int mcp_tool(struct mcp_gym *house, struct mcp_call *call, const json_t *arguments,
                     struct mcp_answer *answer, struct err *err);
mcp_tool mcp_tool_list_problems, mcp_tool_read_problem, mcp_tool_search_examples;
mcp_tool mcp_tool_submit, mcp_tool_profile, mcp_tool_history;

/* NULL where it is absent. */
const char *mcp_text_of(const json_t *object, const char *key);

#endif
