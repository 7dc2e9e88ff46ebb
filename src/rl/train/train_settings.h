/* train_settings: the section train.*. An optional value that is not given is the method's, or the
 * loss's. */
#pragma once

#include "base/settings.h"
#include "lm/train/optimizer.h"
#include "policy/train_backend.h"

#define TRAIN_COVERAGES(X)                                                                         \
    X(TRAIN_COVERAGE_OFF, "off")                                                                   \
    X(TRAIN_COVERAGE_TURN, "turn")                                                                 \
    X(TRAIN_COVERAGE_ROLLOUT, "rollout")
enum train_coverage { WORD_SYMBOLS(TRAIN_COVERAGES) };

#define TRAIN_RATIOS(X) X(TRAIN_RATIO_SAMPLED, "sampled") X(TRAIN_RATIO_TRAINED, "trained")
enum train_ratio { WORD_SYMBOLS(TRAIN_RATIOS) };

#define TRAIN_MEASURES(X)                                                                          \
    X(TRAIN_CORRECT, "correct") X(TRAIN_FAST_1, "fast_1") X(TRAIN_RETURN, "return")
enum train_measure { WORD_SYMBOLS(TRAIN_MEASURES) };

struct train_settings {
    enum train_backend_kind backend;
    const char *model, *tokenizer, *url; /* "": auto */
    int64_t lora_rank;
    struct optional_float lora_alpha;
    struct optional_int context, batch_tokens;
    bool recompute;
    int device; /* of lm_backend_words */
    struct optional_int threads;

    const char *problems, *held_out;
    double held_out_share;
    bool timing;
    int64_t steps, prompts, samples, rounds;
    bool round_whole;
    int64_t jobs, staleness, seed;
    struct optional_int max_tokens;
    double temperature, top_p;
    int64_t top_k;
    bool thinking;

    int method; /* of rl_method_words */
    struct optional_word estimator, returns, shaping, void_turns, failed_turns, unjudged;
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
    struct optional_word importance;
    struct optional_float importance_upper;
    struct optional_word aggregation;
    struct optional_float scale;
    struct optional_int nominal_rows, pad_rows, nominal_tokens;
    struct optional_word singleton;

    int loss; /* of loss_policy_words */
    enum train_ratio ratio;
    bool rescore;
    struct optional_float clip_low, clip_high;
    double dual_clip;
    struct optional_float dro_beta;
    double entropy, kl, kl_discount;

    double rate, beta1, beta2, epsilon, decay, clip;
    enum lm_schedule schedule;
    int64_t warmup;
    double floor;
    int64_t substeps;

    const char *sft_data; /* "": none */
    int64_t sft_epochs, sft_tokens, sft_max_tokens;
    double sft_rate;
    struct optional_float sft_beta2;
    enum lm_schedule sft_schedule;
    int64_t sft_warmup;
    double sft_floor;

    int64_t evaluate_every, evaluate_samples;
    double evaluate_temperature, evaluate_top_p;
    enum train_measure measure;
    int64_t early_stop, save_every, keep, text_every, guard_skips;
    double guard_norm, guard_kl;
    int64_t wait_ms;
    bool trace_tokens;
    const char *stages; /* "": none */
    int64_t stage_steps;
};
SETTINGS_OF(train)
