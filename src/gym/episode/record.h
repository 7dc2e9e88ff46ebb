/* episode_record: the stored records of turns and episodes (docs/reference/trajectories.md).
 *
 * Every key is always present, with one type, whatever happened in the turn. Ownership: new
 * references. Threads: pure.
 */
#pragma once

#include "gym/answer/parse.h"
#include "gym/episode/config.h"

#include "judge/verdict.h"

#include <jansson.h>
#include <stdint.h>

struct episode_turn {
    int64_t number;
    const json_t *prompt; /* the messages that were sent */
    const json_t *answer; /* episode_answer's */
    const struct parsed *parsed;
    const struct verdict *verdict; /* NULL: there was no code */
    const json_t *facts;           /* feedback_facts */
    const char *feedback;          /* its text */
    const char *evaluation;        /* its id; "" */
};

/* Checks an answer (episode.h); the copy has every key that records need, with its type, and
 * `cut`: true if a text was too long. ERR_INPUT. */
NODISCARD int episode_record_answer(const json_t *answer, json_t **copy, struct err *err);
/* The candidate in such a copy, with the endpoint's separate reasoning; parse_deinit. One with more
 * than LIMIT_SOURCE_BYTES is left out: `too_long`. */
void episode_record_parse(const json_t *answer, const char *language, struct parsed *parsed);

/* Appends what the feedback must say of such a copy, as warnings of feedback_facts: that it was
 * cut, and what became of an answer without code. What is odd about code is in its verdict. */
void episode_record_warn(const json_t *answer, const struct parsed *parsed, json_t *warnings);

/* The record of a finished turn, without `return` and `keep`, and with the facts. A new
 * reference. */
json_t *episode_record_turn(const struct episode_config *config, const struct episode_turn *turn);

/* `state`: episode.c's. A new reference. */
json_t *episode_record_trajectory(const json_t *state, const struct episode_config *config,
                                  const struct problem *problem);
