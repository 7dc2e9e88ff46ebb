/* episode_config: how one episode is played.
 *
 * episode_config_resolve makes what somebody asks for, the settings for what he left open, and the
 * problem's own facts into one whole object, which is kept with the episode: from then on nothing
 * but that object counts. Keys as in docs/guide/gym.md:
 *
 *   problem      {"id", "hash"}, or a whole one as in an evaluation request
 *   language, turns, gamma, reward, stop_speedup, stop_correct, coverage
 *   prompt       {"style", "shots", "thinking", "token_budget", "retrieve"}
 *   history      {"iterations", "remain_turns", "select", "select_by"}
 *   evaluation   {"settings", "timing", "timeout_ms", "priority"}: of each evaluation
 *   start        {"code", "verdict"}: a candidate that is there already; the first prompt shows it
 *   labels       {"sample", "iteration", "policy", "model"}: for the trajectory
 *
 * Unknown keys are ERR_INPUT with the nearest name.
 */
#pragma once

#include "base/err.h"
#include "gym/episode/history.h"
#include "gym/gym.h"
#include "gym/prompt/prompt.h"
#include "gym/reward/reward.h"
#include "problem/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Borrows from the object that it was read from. */
struct episode_config {
    const json_t *problem, *evaluation, *start, *labels; /* objects; start NULL: there is none */
    struct prompt_options prompt;                        /* its language, too */
    int64_t turns, retrieve, iterations, remain_turns;
    enum history_select select;
    enum history_value select_by;
    double gamma, stop_speedup;
    bool stop_correct;
    struct reward_config reward;
    enum coverage_measure coverage;
    bool timing;
};

/* *resolved is a new reference; `problem` (zeroed; problem_deinit, on failure too) is the one that
 * is meant. */
NODISCARD int episode_config_resolve(const struct gym *gym, const json_t *asked, json_t **resolved,
                                     struct problem *problem, struct err *err);
/* One that was resolved. */
NODISCARD int episode_config_read(const json_t *resolved, struct episode_config *config,
                                  struct err *err);
/* Of one that was resolved; zeroed before, problem_deinit. ERR_MISSING: it is gone, or another. */
NODISCARD int episode_config_problem(const struct gym *gym, const json_t *resolved,
                                     struct problem *problem, struct err *err);
/* An evaluation request for `source`. A new reference. */
json_t *episode_config_request(const struct episode_config *config, const char *id,
                               const char *source);
