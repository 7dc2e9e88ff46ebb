/* episode: one conversation about a problem, as a state machine that performs no I/O.
 *
 *                 episode_answer                      episode_verdict
 *   ANSWERING ───────────────────────► JUDGING ──────────────────────────► ANSWERING | DONE
 *       │  messages of the next turn    │  a request for an evaluator
 *       └── no code in the answer: scored at once ──────────────────────► ANSWERING | DONE
 *
 * The state is one JSON object, so that its driver (rollout, the server, mcp, a trainer) can store
 * it in a journal or database after every step and continue in another process: the same state,
 * answer and verdict give the same next state. It holds a secret from which the ids of its
 * evaluations are made, so that they cannot be predicted without the state.
 *
 * It is DONE, with the reason as its `end`:
 *   solved   a turn is correct, with `stop_correct`; or also `stop_speedup` times as fast (0:
 *            never, as Dr. Kernel does it); if nothing is timed, correctness suffices
 *   turns    the last turn of its last iteration is over (history.h)
 *   budget   task and last feedback alone exceed the conversation's budget
 *   error    its last answer could not be judged (EPISODE_ATTEMPTS)
 *   expired  its driver abandoned it (episode_end)
 *
 * A verdict that says nothing about the candidate (infrastructure_error, cancelled) ends no turn:
 * episode_verdict returns ERR_IO, and episode_request is then another evaluation of the same
 * answer.
 *
 * Ownership: a struct episode owns its state. Threads: one at a time. Errors: as said below.
 */
#pragma once

#include "base/err.h"
#include "gym/gym.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum episode_phase { EPISODE_ANSWERING, EPISODE_JUDGING, EPISODE_DONE };

struct episode;
struct problem;
struct verdict;

#define EPISODE_ATTEMPTS 3 /* for the evaluation of an answer */

/* `configuration`: config.h. ERR_INPUT, ERR_MISSING (the problem), ERR_LIMIT (a first
 * prompt above its budget). */
NODISCARD int episode_new(struct episode **out, struct gym *gym, const char *id,
                          const json_t *configuration, struct err *err);
/* Loads a stored state. ERR_PROTOCOL: not a state; ERR_MISSING: its problem is gone or has
 * changed. */
NODISCARD int episode_load(struct episode **out, struct gym *gym, const json_t *state,
                           struct err *err);
void episode_free(struct episode *episode);
/* Borrowed, valid until the next step. */
const json_t *episode_state(const struct episode *episode);

enum episode_phase episode_phase(const struct episode *episode);
const char *episode_phase_name(enum episode_phase phase);
int64_t episode_turn(const struct episode *episode);  /* the open one, or the number of turns */
int64_t episode_turns(const struct episode *episode); /* at most, in all iterations */
const struct problem *episode_problem(const struct episode *episode);

/* ANSWERING: the messages of this turn, a new reference. */
NODISCARD int episode_messages(struct episode *episode, json_t **messages, struct err *err);

/* ANSWERING: `answer` is {"text", "reasoning", "finish", "model", "thinking_open", "usage":
 * {"prompt_tokens", "completion_tokens", "cached_tokens", "cost"}, "logprobs", "tokens",
 * "answer_ms"}; only text is required. *request is the evaluation request, a new reference; NULL if
 * the answer holds no code: the turn is over then. ERR_INPUT, ERR_LIMIT. */
NODISCARD int episode_answer(struct episode *episode, const json_t *answer, json_t **request,
                             struct err *err);
/* JUDGING: the evaluation request (docs/guide/remote.md), a new reference. Its id begins with those
 * of episode, turn and attempt and is stable, so that submitting twice evaluates once. */
json_t *episode_request(const struct episode *episode);
/* JUDGING: ends the turn. ERR_IO: inconclusive, evaluate again. */
NODISCARD int episode_verdict(struct episode *episode, const struct verdict *verdict,
                              struct err *err);

/* Bytes of an answer that episode_give_up keeps. */
#define EPISODE_KEPT_BYTES 4096
/* The answer, or the one being judged (NULL), cannot be kept: its turn ends as one without code,
 * with the beginning of its text, and with it the episode: DONE ("budget"). ERR_INPUT: it is over.
 */
NODISCARD int episode_give_up(struct episode *episode, const json_t *answer, struct err *err);

/* The driver abandons the episode: DONE with that end ("expired", "error"). */
void episode_end(struct episode *episode, const char *why);

/* The record of a finished turn (docs/reference/trajectories.md) without its `return`, borrowed;
 * NULL: none. */
const json_t *episode_record(const struct episode *episode, int64_t turn);
/* DONE: the trajectory (docs/reference/trajectories.md), with returns. A new reference. */
json_t *episode_trajectory(const struct episode *episode);
