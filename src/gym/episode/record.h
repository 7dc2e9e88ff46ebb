/* episode_record: what is kept of a turn and of an episode (docs/reference/trajectories.md).
 *
 * Every key is always there, with one type, whatever the turn came to. Threads: pure.
 */
#ifndef WARPGYM_GYM_EPISODE_RECORD_H
#define WARPGYM_GYM_EPISODE_RECORD_H

#include "gym/answer/parse.h"
#include "gym/episode/config.h"

#include <jansson.h>
#include <stdint.h>

struct episode_turn {
    int64_t number;
    const json_t *prompt; /* the messages that were sent */
    const json_t *answer; /* episode_answer's */
    const struct parsed *parsed;
    const json_t *verdict;  /* NULL: there was no code */
    const json_t *facts;    /* feedback_facts */
    const char *feedback;   /* its text */
    const char *evaluation; /* its id; "" */
};

/* The text of an answer, checked (episode.h); every key that records want is in the copy, with its
 * type. ERR_INPUT, ERR_LIMIT. */
NODISCARD int episode_record_answer(const json_t *answer, json_t **copy, struct err *err);
/* The candidate in such a copy, with what the endpoint told apart as reasoning; parse_deinit. */
void episode_record_parse(const json_t *answer, const char *language, struct parsed *parsed);

/* Of a turn that is over: all but `return` and `keep`, and with the facts. A new reference. */
json_t *episode_record_turn(const struct episode_config *config, const struct episode_turn *turn);

/* `state`: episode.c's. A new reference. */
json_t *episode_record_trajectory(const json_t *state, const struct episode_config *config,
                                  const struct problem *problem);

#endif
