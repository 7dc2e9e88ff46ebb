#include "rl/method/method_settings.h"

#include "base/setting.h"

#include <math.h>

#define TOKENS_MOST 16777216
/* The words of a flag of struct rl_method: off, on. */
#define EITHER(off, on) WORDS(((const char *const[]){off, on, NULL}))

#define SECTION method
#undef SETTING_NAME
#define SETTING_NAME "train"
static const struct setting_row method_rows[] = {
    SETTING_WORD(method, "trloo", &rl_method_words,
                 "Preset of all that follows up to train.standardise (docs/reference/methods.md)"),
    SETTING_OPTIONAL_WORD(estimator, "auto", WORDS_OF(rl_estimators, name),
                          "Estimator of advantages; auto: the method's"),
    SETTING_OPTIONAL_WORD(returns, "auto", WORDS_OF(rl_return_rules, name),
                          "Rule of returns; auto: the method's"),
    SETTING_OPTIONAL_WORD(shaping, "auto", WORDS_IN(RL_SHAPINGS),
                          "Shaping of rewards; auto: the method's"),
    SETTING_OPTIONAL_WORD(void_turns, "auto", EITHER("keep", "mask"),
                          "Turns without reward behind one that had some; auto: the method's"),
    SETTING_OPTIONAL_WORD(failed_turns, "auto", EITHER("keep", "mask"),
                          "Turns of an episode in which another could not be judged; auto: the "
                          "method's"),
    SETTING_OPTIONAL_WORD(unjudged, "auto", EITHER("leave", "zero"),
                          "Turns that could not be judged: leave (as if they did not exist), zero "
                          "(their reward is 0); auto: the method's"),
    SETTING_OPTIONAL_FLOAT(success_bonus, "auto", "auto", 0, 1000000,
                           "Added to the return of the last turn of an episode with a correct one; "
                           "auto: the method's"),
    SETTING_OPTIONAL_FLOAT(failure_penalty, "auto", "auto", 0, 1000000,
                           "Taken from the return of the last turn of an episode without; auto: "
                           "the method's"),
    SETTING_OPTIONAL_WORD(normalise_returns, "auto", EITHER("off", "on"),
                          "Whether the returns of an episode's turns get a mean of 0 and a "
                          "deviation of 1; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(gate_shift, "auto", "auto", 0, 1000,
                           "Mean difference of a turn's log-probabilities, trained and sampled, "
                           "from which on it is rejected; 0: none; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(gate_instability, "auto", "auto", 0, 1000,
                           "By how much a token's log-probability may be below that of the "
                           "likeliest one, before its turn is rejected; 0: any; engine only; auto: "
                           "the method's"),
    SETTING_OPTIONAL_WORD(bounds_level, "auto", WORDS_IN(RL_LEVELS),
                          "Level at which importance ratios are bounded, to reject mismatch; auto: "
                          "the method's"),
    SETTING_OPTIONAL_FLOAT(bounds_lower, "auto", "auto", 0, 1,
                           "Least ratio; 0: 1 / train.bounds_upper; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(bounds_upper, "auto", "auto", 0, 1000000,
                           "Greatest ratio; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(veto, "auto", "auto", 0, 1,
                           "A token's ratio below which its turn is rejected; 0: none; auto: the "
                           "method's"),
    SETTING_OPTIONAL_WORD(veto_unit, "auto", EITHER("turn", "rollout"),
                          "What such a token rejects; auto: the method's"),
    SETTING_OPTIONAL_WORD(coverage, "auto", WORDS_IN(TRAIN_COVERAGES),
                          "Rejection of lazy kernels; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(coverage_threshold, "auto", "auto", 0, 1,
                           "Share of own kernels (gym.coverage) below which a turn is rejected; "
                           "auto: the method's"),
    SETTING_OPTIONAL_FLOAT(coverage_factor, "auto", "auto", 0, 1,
                           "Width above it in which rejection is random; auto: the method's"),
    SETTING_OPTIONAL_WORD(coverage_turns, "auto", EITHER("correct", "every"),
                          "Turns whose share counts; auto: the method's"),
    SETTING_OPTIONAL_WORD(coverage_unknown, "auto", EITHER("keep", "zero"),
                          "Turns whose share is unknown: keep, zero (as if it were 0); auto: the "
                          "method's"),
    SETTING_OPTIONAL_FLOAT(coverage_speedup, "auto", "auto", 0, 1000000,
                           "Speedup from which on no turn is lazy; 0: none; auto: the method's"),
    SETTING_OPTIONAL_WORD(coverage_rewards, "auto", EITHER("drop", "pay"),
                          "Rewards of rejected lazy turns in the returns of earlier turns; auto: "
                          "the method's"),
    SETTING_OPTIONAL_WORD(rejected_turns, "auto", EITHER("leave", "stay"),
                          "Turns rejected for mismatch or coverage, in the groups that others are "
                          "compared with; auto: the method's"),
    SETTING_OPTIONAL_WORD(filter, "auto", WORDS_IN(RL_FILTERS),
                          "When a problem teaches nothing; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(filter_deviation, "auto", "auto", 0, 1000000,
                           "Deviation below which its values are alike; auto: the method's"),
    SETTING_OPTIONAL_WORD(filter_values, "auto", EITHER("returns", "rewards"),
                          "Those values; auto: the method's"),
    SETTING_OPTIONAL_INT(filter_rollouts, "auto", 0, 65536,
                         "Usable episodes that it needs; auto: the method's"),
    SETTING_OPTIONAL_WORD(surplus, "auto", WORDS_IN(RL_SELECTIONS),
                          "Which of a problem's episodes stay with train.oversample: random, "
                          "efficient (high rewards for few tokens, and short failures), weighted "
                          "(drawn by that); auto: the method's"),
    SETTING_OPTIONAL_WORD(importance, "auto", WORDS_IN(RL_LEVELS),
                          "Level of importance weights; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(importance_upper, "auto", "auto", 0, 1000000,
                           "Their upper bound; 0: none; auto: the method's"),
    SETTING_OPTIONAL_WORD(aggregation, "auto", WORDS_IN(RL_AGGREGATIONS),
                          "Normalisation of the loss; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(scale, "auto", "auto", 0, 1000000000,
                           "Further divisor of the loss; auto: the method's"),
    SETTING_OPTIONAL_INT(nominal_rows, "auto", 0, 1000000000,
                         "Number of turns that a step counts as; 0: those that count; auto: the "
                         "method's"),
    SETTING_OPTIONAL_INT(pad_rows, "auto", 0, 1000000000,
                         "The number of turns is rounded up to a multiple of this, the first ones "
                         "counting twice; 0: it is not; auto: the method's"),
    SETTING_OPTIONAL_INT(nominal_tokens, "auto", 0, TOKENS_MOST,
                         "Number of tokens that a turn counts as; 0: that of the longest; auto: "
                         "the method's"),
    SETTING_OPTIONAL_WORD(singleton, "auto", EITHER("return", "zero"),
                          "Advantage of the only turn of a group; auto: the method's"),
    SETTING_OPTIONAL_WORD(energy, "auto", WORDS_IN(RL_ENERGIES),
                          "Weights of optimal baselines and of train.reweigh: scores (the squared "
                          "gradients of a turn's tokens; engine only), tokens (their number), rows "
                          "(1); auto: the method's"),
    SETTING_OPTIONAL_WORD(energy_importance, "auto", EITHER("plain", "squared"),
                          "Whether the square of a token's importance weight (train.importance) "
                          "multiplies them; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(token_gamma, "auto", "auto", 0, 1,
                           "Discount from token to token of estimators with a critic; auto: the "
                           "method's"),
    SETTING_OPTIONAL_FLOAT(token_lambda, "auto", "auto", 0, 1,
                           "Their lambda: 1 trusts rewards alone, 0 the critic's next value; auto: "
                           "the method's"),
    SETTING_OPTIONAL_WORD(reweigh, "auto", WORDS_IN(RL_REWEIGHINGS),
                          "Weights of advantages for less variance: prompts (inverse variances of "
                          "problems), batch (each turn by its energy), both; auto: the method's"),
    SETTING_OPTIONAL_WORD(standardise, "auto", EITHER("off", "on"),
                          "Whether a step's advantages get a mean of 0 and a deviation of 1; auto: "
                          "the method's"),
    SETTING_WORD(loss, "importance_sampling", &loss_policy_words, "Loss of the policy"),
    SETTING_OPTIONAL_FLOAT(clip_low, "auto", "auto", 0, 1,
                           "Lower bound of the ratio (ppo, cispo); auto: the loss's own"),
    SETTING_OPTIONAL_FLOAT(clip_high, "auto", "auto", 0, 1000000,
                           "Upper bound; auto: the loss's own"),
    SETTING_FLOAT(
        dual_clip, "0", 0, 1000000,
        "Bound of ppo's ratio where an advantage is negative; 0: none; a service has none"),
    SETTING_OPTIONAL_FLOAT(dro_beta, "auto", "auto", 0, 1000000,
                           "Weight of dro's squared ratio; auto: the loss's own"),
    SETTING_FLOAT(entropy, "0", 0, 1000000,
                  "Weight of a bonus for the entropy of answers, averaged like the loss; engine "
                  "only"),
    SETTING_FLOAT(kl, "0", 0, 1000000,
                  "Weight of a penalty for the distance from the initial model; above 0 that model "
                  "stays in memory, too"),
    SETTING_FLOAT(kl_discount, "0", 0, 1,
                  "Discount of later tokens' penalty in a token's; 0: its own only"),
};
SETTING_SECTION(method, method_rows);
#undef SECTION

static void take_number(const struct optional_float *from, double *to)
{
    if (from->given)
        *to = from->value;
}

static void take_count(const struct optional_int *from, size_t *to)
{
    if (from->given)
        *to = (size_t)from->value;
}

/* Of two words the second sets the flag. */
static void take_flag(const struct optional_word *from, bool *to)
{
    if (from->given)
        *to = from->value != 0;
}

/* Words of enums and of tables. */
static void take_kinds(struct rl_method *method, const struct method_settings *settings)
{
    if (settings->estimator.given)
        method->estimator = &rl_estimators[settings->estimator.value];
    if (settings->returns.given)
        method->returns.rule = &rl_return_rules[settings->returns.value];
    if (settings->shaping.given)
        method->returns.shaping = (enum rl_shaping)settings->shaping.value;
    if (settings->bounds_level.given)
        method->bounds.level = (enum rl_level)settings->bounds_level.value;
    if (settings->filter.given)
        method->filter.kind = (enum rl_filter_kind)settings->filter.value;
    if (settings->surplus.given)
        method->selection = (enum rl_selection)settings->surplus.value;
    if (settings->importance.given)
        method->importance = (enum rl_level)settings->importance.value;
    if (settings->energy.given)
        method->advantage.energy = (enum rl_energy)settings->energy.value;
    if (settings->reweigh.given)
        method->reweighing = (enum rl_reweighing)settings->reweigh.value;
    if (settings->aggregation.given)
        method->normalisation.aggregation = (enum rl_aggregation)settings->aggregation.value;
    if (settings->coverage.given) {
        method->coverage.enabled = settings->coverage.value != TRAIN_COVERAGE_OFF;
        method->coverage.rollout = settings->coverage.value == TRAIN_COVERAGE_ROLLOUT;
    }
}

static void take_flags(struct rl_method *method, const struct method_settings *settings)
{
    take_flag(&settings->void_turns, &method->mask_void);
    take_flag(&settings->failed_turns, &method->mask_failed);
    take_flag(&settings->unjudged, &method->unjudged_zero);
    take_flag(&settings->veto_unit, &method->bounds.veto_rollout);
    take_flag(&settings->coverage_turns, &method->coverage.every_turn);
    take_flag(&settings->coverage_unknown, &method->coverage.unknown_zero);
    take_flag(&settings->coverage_rewards, &method->lazy_paid);
    take_flag(&settings->rejected_turns, &method->rejected_stay);
    take_flag(&settings->filter_values, &method->filter_rewards);
    take_flag(&settings->singleton, &method->advantage.singleton_zero);
    take_flag(&settings->energy_importance, &method->advantage.energy_importance);
    take_flag(&settings->normalise_returns, &method->returns.normalise);
    take_flag(&settings->standardise, &method->standardise);
}

static void take_numbers(struct rl_method *method, const struct method_settings *settings)
{
    struct rl_coverage_options *coverage = &method->coverage;
    take_number(&settings->success_bonus, &method->returns.bonus);
    take_number(&settings->failure_penalty, &method->returns.penalty);
    take_number(&settings->gate_shift, &method->gates.shift);
    take_number(&settings->gate_instability, &method->gates.instability);
    take_number(&settings->bounds_lower, &method->bounds.lower);
    take_number(&settings->bounds_upper, &method->bounds.upper);
    take_number(&settings->veto, &method->bounds.veto);
    take_number(&settings->coverage_threshold, &coverage->threshold);
    take_number(&settings->coverage_factor, &coverage->factor);
    take_number(&settings->coverage_speedup, &coverage->speedup_threshold);
    take_number(&settings->filter_deviation, &method->filter.deviation);
    take_number(&settings->importance_upper, &method->importance_upper);
    take_number(&settings->token_gamma, &method->advantage.gamma);
    take_number(&settings->token_lambda, &method->advantage.lambda);
    take_number(&settings->scale, &method->normalisation.scale);
    take_count(&settings->filter_rollouts, &method->filter.rollouts_least);
    take_count(&settings->nominal_rows, &method->normalisation.nominal_rows);
    take_count(&settings->nominal_tokens, &method->normalisation.nominal_tokens);
    take_count(&settings->pad_rows, &method->normalisation.pad_rows);
    if (settings->bounds_lower.given && settings->bounds_lower.value == 0)
        method->bounds.lower = NAN; /* 1 / upper */
    if (settings->coverage_speedup.given && settings->coverage_speedup.value == 0)
        coverage->speedup_threshold = NAN;
}

void method_settings_take(struct rl_method *method, const struct method_settings *settings,
                          const struct rl_plan *plan)
{
    (void)!rl_method_preset(word_at(&rl_method_words, (size_t)settings->method), method,
                            NULL); /* one of the words */
    if (plan)
        rl_method_plan(method, plan);
    take_kinds(method, settings);
    take_flags(method, settings);
    take_numbers(method, settings);
}

void method_settings_loss(struct loss_config *config, const struct method_settings *settings)
{
    *config = loss_config_defaults;
    take_number(&settings->clip_low, &config->clip_low);
    take_number(&settings->clip_high, &config->clip_high);
    take_number(&settings->dro_beta, &config->beta);
    if (settings->dual_clip > 0)
        config->dual_clip = settings->dual_clip;
    if (settings->entropy > 0)
        config->entropy = settings->entropy;
}
