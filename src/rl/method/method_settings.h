/* method_settings: those of train.* that are the mathematics of a step. They are a section of their
 * own because the shared library (rl/library) takes them, too, and none of the others. An optional
 * value that is not given is the method's, or the loss's. */
#pragma once

#include "base/settings.h"
#include "lm/train/loss.h"
#include "rl/method/method.h"

#define TRAIN_COVERAGES(X)                                                                         \
    X(TRAIN_COVERAGE_OFF, "off")                                                                   \
    X(TRAIN_COVERAGE_TURN, "turn")                                                                 \
    X(TRAIN_COVERAGE_ROLLOUT, "rollout")
enum train_coverage { WORD_SYMBOLS(TRAIN_COVERAGES) };

struct method_settings {
    int method; /* of rl_method_words */
    struct optional_word estimator, returns, shaping, void_turns, failed_turns, unjudged;
    struct optional_float success_bonus, failure_penalty;
    struct optional_word normalise_returns;
    struct optional_float gate_shift, gate_instability;
    struct optional_word bounds_level;
    struct optional_float bounds_lower, bounds_upper, veto;
    struct optional_word veto_unit, coverage;
    struct optional_float coverage_threshold, coverage_factor;
    struct optional_word coverage_turns, coverage_unknown;
    struct optional_float coverage_speedup;
    struct optional_word coverage_rewards, rejected_turns, filter;
    struct optional_float filter_deviation;
    struct optional_word filter_values;
    struct optional_int filter_rollouts;
    struct optional_word surplus;
    struct optional_word importance;
    struct optional_float importance_upper;
    struct optional_word aggregation;
    struct optional_float scale;
    struct optional_int nominal_rows, pad_rows, nominal_tokens;
    struct optional_word singleton, energy, energy_importance;
    struct optional_float token_gamma, token_lambda;
    struct optional_word reweigh, standardise;

    int loss; /* of loss_policy_words */
    struct optional_float clip_low, clip_high;
    double dual_clip;
    struct optional_float dro_beta;
    double entropy, kl, kl_discount;
};
SETTINGS_OF(method)

/* The method that they say. `plan` NULL: the counts are the release's. */
void method_settings_take(struct rl_method *method, const struct method_settings *settings,
                          const struct rl_plan *plan);
/* The loss's own settings; the caller checks them (loss_config_check). */
void method_settings_loss(struct loss_config *config, const struct method_settings *settings);
