/* train_settings: the section train.*, without what rl/method/method_settings.h has of it. */
#pragma once

#include "base/settings.h"
#include "lm/train/optimizer.h"
#include "policy/train_backend.h"
#include "rl/collect/train_order.h"
#include "rl/method/method_settings.h"
#include "rl/method/token_loss.h"

#define TRAIN_RATIOS(X) X(TRAIN_RATIO_SAMPLED, "sampled") X(TRAIN_RATIO_TRAINED, "trained")
enum train_ratio { WORD_SYMBOLS(TRAIN_RATIOS) };

#define TRAIN_RATIO_LEVELS(X) X(TRAIN_RATIO_TOKEN, "token") X(TRAIN_RATIO_TURN, "turn")
enum train_ratio_level { WORD_SYMBOLS(TRAIN_RATIO_LEVELS) };

#define TRAIN_KL_PLACES(X) X(TRAIN_KL_ADVANTAGES, "advantages") X(TRAIN_KL_LOSS, "loss")
enum train_kl_place { WORD_SYMBOLS(TRAIN_KL_PLACES) };

#define TRAIN_OVERLONGS(X) X(TRAIN_OVERLONG_KEEP, "keep") X(TRAIN_OVERLONG_MASK, "mask")
enum train_overlong { WORD_SYMBOLS(TRAIN_OVERLONGS) };

#define TRAIN_MEASURES(X)                                                                          \
    X(TRAIN_CORRECT, "correct") X(TRAIN_FAST_1, "fast_1") X(TRAIN_RETURN, "return")
enum train_measure { WORD_SYMBOLS(TRAIN_MEASURES) };

#define TRAIN_STALENESS_MOST 64

struct train_settings {
    enum train_backend_kind backend;
    const char *model, *tokenizer, *url; /* "": auto */
    enum train_reduction reduction;
    int64_t lora_rank;
    struct optional_float lora_alpha;
    struct optional_int context, batch_tokens;
    bool recompute;
    int64_t sampling_bits;
    int device; /* of lm_backend_words */
    struct optional_int threads;

    const char *problems, *held_out;
    double held_out_share;
    bool timing;
    int64_t steps, prompts, samples, rounds;
    double oversample, oversample_prompts;
    enum train_order_kind order;
    double order_memory, order_low, order_high, order_target, order_width, order_fresh;
    double critic;
    bool round_whole;
    int64_t jobs, staleness, seed;
    bool carry;
    struct optional_int max_tokens;
    const char *max_tokens_later; /* "": none */
    double temperature, top_p;
    int64_t top_k;
    bool thinking;

    enum train_ratio ratio;
    bool rescore;

    enum train_ratio_level ratio_level;
    enum train_kl_place kl_in;
    enum rl_kl_estimator kl_estimator;
    double kl_target, kl_horizon;
    enum train_overlong overlong;
    int64_t overlong_buffer;
    double overlong_penalty;
    double rate, beta1, beta2, epsilon, decay, clip;
    enum lm_schedule schedule;
    int64_t warmup;
    double floor;
    int64_t substeps, epochs;

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
