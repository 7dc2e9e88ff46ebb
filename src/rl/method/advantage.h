/* advantage: how much better a turn was than its group.
 *
 *   A_i = (v_i - b_i) / s_i      over the N members of a group, v the return G or the reward R
 *
 * rl_estimators is the table of estimators: which v, group, b and s. docs/reference/methods.md has
 * it with sources and expectations; tests/rl/test_advantage.c compares the two, and holds every
 * estimator against a definition of its own.
 *
 * σ is the sample deviation (N - 1; with two members, that of the others is 1). With the mean of
 * the others A_i = N/(N-1) (v_i - mean). An estimator of the last turn, or of the whole rollout,
 * measures each rollout once and copies the outcome to its other turns. Whitening is over all
 * tokens of the rows that were measured: (A - mean) / √(variance + epsilon).
 *
 * The optimal baseline is Σ e v / Σ e. By default e is the squared gradient of a row's
 * log-probability with respect to the logits, Σ over masked tokens of 1 - 2 π(token) + Σ_a π(a)²;
 * `span` says over which tokens: of the turn, of the rollout up to that turn, or of all of the
 * rollout. A baseline of positions has its own Σ for each place j of an answer, over the rows that
 * have a token there, with e up to that token.
 *
 * A critic's values V make A the generalised advantage (Schulman et al. 2016) of a turn whose
 * reward v comes with its last token: δ_j = r_j + γ V_{j+1} - V_j, A_j = δ_j + γ λ A_{j+1}.
 *
 * A singleton group (N = 1) has its v (the paper: a baseline of 0), or 0 (Tinker's page).
 * All-equal groups give 0 exactly. Dropped rows get 0.
 *
 * Ownership: the batch is the caller's. Threads: pure.
 */
#pragma once

#include "rl/method/batch.h"

enum rl_value {
    RL_RETURN,
    RL_REWARD,
    RL_LAST_RETURN,  /* of the rollout's last turn */
    RL_FIRST_RETURN, /* of its first turn: the rollout's */
};
enum rl_baseline {
    RL_BASELINE_GIVEN,  /* options.baseline */
    RL_BASELINE_GREEDY, /* likewise: that of the policy's likeliest answers */
    RL_BASELINE_ZERO,
    RL_BASELINE_MEAN,
    RL_BASELINE_OTHERS,
    RL_BASELINE_OPTIMAL,
    RL_BASELINE_POSITIONS,
    RL_BASELINE_CRITIC,
};
enum rl_scale {
    RL_SCALE_NONE,      /* 1 */
    RL_SCALE_DEVIATION, /* σ + epsilon */
    RL_SCALE_OTHERS,    /* σ of the others + epsilon */
    RL_SCALE_WHITEN,    /* whitening over the batch */
};
enum rl_span { RL_SPAN_TURN, RL_SPAN_SO_FAR, RL_SPAN_ROLLOUT };

#define RL_ENERGIES(X)                                                                             \
    X(RL_ENERGY_SCORES, "scores") /* as above */                                                   \
    X(RL_ENERGY_TOKENS, "tokens") /* 1 for a token (`uniform_weight`) */                           \
    X(RL_ENERGY_ROWS, "rows")     /* 1 / the row's tokens (`uniform_cumulative`) */
enum rl_energy { WORD_SYMBOLS(RL_ENERGIES) };

struct rl_estimator {
    const char *name;
    enum rl_value value;
    enum rl_group by;
    enum rl_baseline baseline;
    enum rl_scale scale;
    double epsilon;
    enum rl_span span; /* of optimal baselines */
};

extern const struct rl_estimator rl_estimators[]; /* the last one has no name */
/* NULL: no such name. */
const struct rl_estimator *rl_estimator(const char *name);
/* Whether it weighs rows by e. */
bool rl_estimator_weighs(const struct rl_estimator *estimator);
/* Whether it measures a rollout once, and not each turn. */
bool rl_estimator_once(const struct rl_estimator *estimator);

struct rl_advantage_options {
    bool singleton_zero; /* N = 1: 0; else its return */
    /* Rows with one of these bits count in no group. RL_ANY: rows that are not trained on are no
     * baseline for others. The originals: RL_EXCLUDED | RL_VOID | RL_FAILED. */
    unsigned out;
    const double *baseline; /* [rows], given or greedy; NULL: 0. NAN: the row's A is 0 */
    enum rl_energy energy;
    bool energy_importance; /* e times batch->weight² of its token */
    double gamma, lambda;   /* of a critic's tokens */
};
/* return, RL_ANY, NULL, scores, no importance, 1, 1 */
extern const struct rl_advantage_options rl_advantage_defaults;

/* Fills batch->advantage and batch->offset from batch->returns. ERR_INPUT: scores without
 * batch->collision. */
NODISCARD int rl_advantages(struct rl_batch *batch, const struct rl_estimator *estimator,
                            const struct rl_advantage_options *options, struct err *err);
