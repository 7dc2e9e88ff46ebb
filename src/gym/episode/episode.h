/* episode: one conversation about a problem, as a state machine that does no work of its own.
 *
 *                 episode_answer                      episode_verdict
 *   ANSWERING ───────────────────────► JUDGING ──────────────────────────► ANSWERING | DONE
 *       │  messages of the next turn    │  a request for an evaluator
 *       └── no code in the answer: scored at once ──────────────────────► ANSWERING | DONE
 *
 * The state is one JSON object, so that whoever drives it (rollout, the server, mcp, a trainer) can
 * keep it in a journal or a store after every step and go on from there in another process: the
 * same state, answer and verdict give the same next state. It holds a secret, which the ids of its
 * evaluations are made with: nobody who has not seen the state can tell them beforehand.
 *
 * It is DONE, and says so as its `end`, when
 *   solved   a turn is correct and at least `stop_speedup` times as fast as the reference (0:
 *            never, as Dr. Kernel does it); where nothing is timed, correctness will do
 *   turns    the last of its turns is over, in the last of its iterations (window.h)
 *   budget   task and last feedback alone are more than the conversation may have
 *   error    nobody could judge its last answer (EPISODE_ATTEMPTS)
 *   expired  its driver gave it up (episode_end)
 *
 * A verdict that says nothing of the candidate (infrastructure_error, cancelled) ends no turn:
 * episode_verdict answers ERR_IO, and episode_request is then another evaluation of the same.
 *
 * Ownership: a struct episode owns its state. Threads: one at a time.
 */
#ifndef WARPGYM_GYM_EPISODE_EPISODE_H
#define WARPGYM_GYM_EPISODE_EPISODE_H

#include "base/err.h"
#include "gym/gym.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum episode_phase { EPISODE_ANSWERING, EPISODE_JUDGING, EPISODE_DONE };

struct episode;
struct problem;

#define EPISODE_ATTEMPTS 3 /* at an answer's evaluation */

/* `configuration`: config.h. ERR_INPUT, ERR_MISSING (the problem), ERR_LIMIT (a first
 * prompt above its budget). */
NODISCARD int episode_new(struct episode **out, struct gym *gym, const char *id,
                          const json_t *configuration, struct err *err);
/* One that was kept. ERR_PROTOCOL: that is no state; ERR_MISSING: its problem is gone, or another.
 */
NODISCARD int episode_load(struct episode **out, struct gym *gym, const json_t *state,
                           struct err *err);
void episode_free(struct episode *episode);
/* Borrowed, valid until the next step. */
const json_t *episode_state(const struct episode *episode);

enum episode_phase episode_phase(const struct episode *episode);
const char *episode_phase_name(enum episode_phase phase);
int64_t episode_turn(const struct episode *episode);  /* that is open, or the number of turns */
int64_t episode_turns(const struct episode *episode); /* at most, in all iterations */
const struct problem *episode_problem(const struct episode *episode);

/* ANSWERING: the messages of this turn, a new reference. */
NODISCARD int episode_messages(struct episode *episode, json_t **messages, struct err *err);

/* ANSWERING: `answer` is {"text", "reasoning", "finish", "model", "thinking_open", "usage":
 * {"prompt_tokens", "completion_tokens", "cached_tokens", "cost"}, "logprobs", "tokens",
 * "answer_ms"}; all but text may be missing. *request is what is to be evaluated, a new reference;
 * NULL where the answer holds no code: the turn is over then. ERR_INPUT, ERR_LIMIT. */
NODISCARD int episode_answer(struct episode *episode, const json_t *answer, json_t **request,
                             struct err *err);
/* JUDGING: what is to be evaluated (docs/guide/remote.md); its id begins with the episode's, the turn's
 * and the attempt's, and is the same each time, so asking twice is asking once. A new reference. */
json_t *episode_request(const struct episode *episode);
/* JUDGING: ends the turn. ERR_IO: it was none, ask again; ERR_PROTOCOL: that is no verdict. */
NODISCARD int episode_verdict(struct episode *episode, const json_t *verdict, struct err *err);

/* Whoever drives it gives up: DONE with that end ("expired", "error"). */
void episode_end(struct episode *episode, const char *why);

/* The record of a turn that is over (docs/reference/trajectories.md) but for its `return`, borrowed; NULL:
 * there is none. */
const json_t *episode_record(const struct episode *episode, int64_t turn);
/* DONE: the trajectory of docs/reference/trajectories.md, with returns. A new reference. */
json_t *episode_trajectory(const struct episode *episode);

#endif
