/* episode: one conversation about a problem, as a state machine that does no work of its own.
 *
 *                 episode_answer                      episode_verdict
 *   ANSWERING ───────────────────────► JUDGING ──────────────────────────► ANSWERING | DONE
 *       │  messages of the next turn    │  a request for an evaluator
 *       └── no code in the answer: scored at once ──────────────────────► ANSWERING | DONE
 *
 * The state is one JSON object, so that whoever drives it (rollout, the server, mcp, a trainer) can
 * keep it in a journal or a store after every step and go on from there in another process: the
 * same state, answer and verdict give the same next state. Times are told by the caller.
 *
 * An episode is DONE when the last of its turns is over, or when a turn is correct and at least
 * `stop_speedup` times as fast as the reference (0: never, as Dr. Kernel does it). A verdict that
 * says nothing of the candidate (infrastructure_error, cancelled) is not a turn: episode_verdict
 * refuses it with ERR_IO, and the caller asks again.
 *
 * Ownership: a struct episode owns its state. Threads: one at a time.
 */
#ifndef WARPGYM_GYM_EPISODE_H
#define WARPGYM_GYM_EPISODE_H

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What all episodes of a process share: templates, the machine, examples, problems. */
struct gym;

struct gym_options {
    const struct settings *settings;
    const char *const *roots; /* of problems */
    size_t root_count;
};

NODISCARD int gym_open(struct gym **out, const struct gym_options *options, struct err *err);
void gym_close(struct gym *gym);

enum episode_phase { EPISODE_ANSWERING, EPISODE_JUDGING, EPISODE_DONE };

struct episode;

/* `configuration` (docs/gym.md): {"problem": {"id"} or a whole one as in an evaluation request,
 * "language", "turns", "gamma", "reward", "stop_speedup", "prompt": {"style", "shots", "thinking",
 * "token_budget", "retrieve"}, "evaluation": {"settings", "timing", "timeout_ms", "priority"}}.
 * What is absent comes from the settings. The reference of a problem that was sent is kept with the
 * state. ERR_INPUT, ERR_MISSING (the problem). */
NODISCARD int episode_new(struct episode **out, struct gym *gym, const char *id,
                          const json_t *configuration, struct err *err);
/* One that was kept. ERR_PROTOCOL: that is no state; ERR_MISSING: its problem is gone or another. */
NODISCARD int episode_load(struct episode **out, struct gym *gym, const json_t *state,
                           struct err *err);
void episode_free(struct episode *episode);
/* Borrowed, valid until the next step. */
const json_t *episode_state(const struct episode *episode);

enum episode_phase episode_phase(const struct episode *episode);
const char *episode_phase_name(enum episode_phase phase);
int64_t episode_turn(const struct episode *episode); /* that is open, or the number of turns */

/* ANSWERING: the messages of this turn, a new reference. */
NODISCARD int episode_messages(struct episode *episode, json_t **messages, struct err *err);

/* ANSWERING: `answer` is {"text", "reasoning", "finish", "usage", "logprobs", "model", …}; all but
 * text may be missing. *request is what is to be evaluated, with a drawn id, a new reference; NULL
 * where the answer holds no code: the turn is over then. */
NODISCARD int episode_answer(struct episode *episode, const json_t *answer, json_t **request,
                             struct err *err);
/* JUDGING: the request once more, as it was: a new reference. */
json_t *episode_request(const struct episode *episode);
/* JUDGING: ends the turn. */
NODISCARD int episode_verdict(struct episode *episode, const json_t *verdict, struct err *err);

/* The record of a turn that is over (docs/trajectories.md), borrowed; NULL: there is none. */
const json_t *episode_record(const struct episode *episode, int64_t turn);
/* DONE: the trajectory of docs/trajectories.md, with returns. A new reference. */
json_t *episode_trajectory(const struct episode *episode);

#endif
