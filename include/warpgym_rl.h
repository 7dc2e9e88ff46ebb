/* warpgym_rl.h: the mathematics of a training step, for other people's trainers, version 1.
 *
 *   rewards, groups, log-probabilities ─► warpgym_rl_step ─► masks, weights, returns, advantages
 *   a verdict, or what is known of one ─► warpgym_rl_reward ─► a reward and its parts
 *   log-probabilities and advantages   ─► warpgym_rl_loss ─► a loss and its gradient
 *
 * It is the code that `warpgym train` runs (src/rl/method, src/gym/reward, src/lm/train/loss), in
 * one shared library, build/libwarpgym_rl.so, that needs libc, libm and jansson.
 * docs/guide/rl-library.md walks through it; docs/reference/methods.md has each formula and its
 * source; `warpgym.rl` is the same for Python.
 *
 * Names (estimators, rules of returns, levels, presets, …) and settings are those of train.* in
 * docs/reference/settings.md: warpgym_rl_setting and warpgym_rl_word list them.
 *
 * Units: rewards, returns and advantages are plain numbers; log-probabilities are natural
 * logarithms; a speedup is the reference's time over the candidate's; coverage is a share, 0 to 1.
 *
 * Ownership: every array is the caller's; nothing is kept beyond a call, and what a call returns is
 * static. Threads: pure; any number of calls at once. Errors: 0, or -1 with one sentence in
 * `error`: what is wrong, where, and what to do. Results are undefined then. A process without
 * memory ends.
 *
 * A row is one turn of one rollout; a prompt (group) has several rollouts. This header needs
 * nothing else of warpgym, and changes only together with WARPGYM_RL_VERSION.
 */
#ifndef WARPGYM_RL_H
#define WARPGYM_RL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WARPGYM_RL_VERSION 1
#define WARPGYM_RL_ERROR_BYTES 768
#define WARPGYM_RL_ROWS_MOST ((size_t)1 << 24)
#define WARPGYM_RL_TOKENS_MOST ((size_t)1 << 31)

struct warpgym_rl_error {
    char text[WARPGYM_RL_ERROR_BYTES];
};

/* WARPGYM_RL_VERSION of the library. */
int warpgym_rl_version(void);

/* Names -------------------------------------------------------------------------------------- */

struct warpgym_rl_setting {
    const char *name;     /* "estimator": train.estimator */
    const char *kind;     /* "word", "number", "whole number" */
    const char *standard; /* "auto": the method's */
    const char *help;
    double low, high; /* of numbers, inclusive */
};
/* By index; 0, or -1 behind the last. */
int warpgym_rl_setting(size_t index, struct warpgym_rl_setting *setting);

/* Word `index` of a list: of a setting ("method", "estimator", "loss", …); "reward": presets of
 * rewards; "coverage_measure"; "drop": bits, from the lowest. NULL: behind the last, or there is no
 * such list. */
const char *warpgym_rl_word(const char *list, size_t index);

/* A step ------------------------------------------------------------------------------------- */

/* Rows may come in any order: those of a rollout are sorted by turn, and results stand where their
 * rows do. Arrays without "required" may be NULL. Where rows are in order already (rollout after
 * rollout, turns ascending), no array of tokens is copied.
 *
 * Tokens are those of the answers, either row after row (`offset`), or padded (`offset` NULL: each
 * row has tokens / rows of them, and `mask` says which count). tokens 0: none is known, and each
 * row counts as one token. */
struct warpgym_rl_rows {
    size_t rows, tokens;
    const int64_t *prompt;  /* [rows] required; which prompt, 0 to 2^32 - 1 */
    const int64_t *rollout; /* [rows] 0 to 2^32 - 1; NULL: each row is a rollout */
    const int64_t *turn;    /* [rows] 0 to 2^32 - 1; NULL: as their rows follow one another */
    const double *reward;   /* [rows] required; NaN: could not be judged, and is left out */
    const uint8_t *correct; /* [rows] 0 or 1 */
    const double *speedup;  /* [rows] NaN or 0: not measured */
    const double *coverage; /* [rows] NaN: unknown */
    const double *baseline; /* [rows] of the estimators `return` and `remax`; NaN: A is 0 */
    const int64_t *offset;  /* [rows + 1] where each row's tokens begin, from 0 to `tokens` */
    const uint8_t *mask;    /* [tokens] 0: a prompt's, a tool's, padding; NULL: all count */
    const float *trained;   /* [tokens] log-probability under the weights that are trained */
    const float *sampled;   /* [tokens] log-probability when it was sampled */
    const float *base;      /* [tokens] under the model of the penalty (setting kl) */
    const float *collision; /* [tokens] Σ_a π(a)² of the trained weights, of optimal baselines */
    const float *value;     /* [tokens] a critic's, before the token; NULL: 0 */
    /* [tokens] log-probability of the likeliest token there, when it was sampled; NaN: unknown */
    const float *top;
};

struct warpgym_rl_options {
    /* "estimator=grpo", "method=drkernel", with or without "train."; NULL ends them. NULL: none. */
    const char *const *settings;
    double gamma;                   /* 0 to 1; NaN: the method's */
    uint64_t seed, step;            /* of draws: the same numbers, the same draws */
    size_t prompts, samples, turns; /* planned size of a step, for presets that divide by it; 0: the
                                     * release's */
    size_t wanted;                  /* prompts that stay, the most complete ones; 0: all */
    size_t rollouts; /* rollouts of a prompt that stay, by the setting surplus; 0: all */
};

/* A metric ("mismatch/mismatch_kl"); the name is valid during the call. */
typedef void (*warpgym_rl_put)(void *context, const char *name, double value);

/* What is wanted of it; NULL: not wanted. */
struct warpgym_rl_result {
    double *returns;         /* [rows] G */
    double *advantage;       /* [rows] A, the mean of its tokens; 0 where dropped */
    uint32_t *drop;          /* [rows] why it is not trained on; 0: it is. Bits: list "drop" */
    uint8_t *kept;           /* [tokens] 1: trained on */
    double *importance;      /* [tokens] weight ρ; 1 without the setting importance */
    double *weight;          /* [tokens] w: what a token counts in a mean (setting aggregation) */
    double *token_advantage; /* [tokens] A w ρ, and the penalty: of a loss that is a plain sum */
    double kl;               /* mean log π_sampled - log π_base; NaN without a penalty */
    warpgym_rl_put put;      /* called for each metric; NULL: not wanted */
    void *context;           /* its first argument */
};

/* Void turns, importance weights, rejection by mismatch (MRS) and by coverage (PRS), returns,
 * filter, surplus, advantages, weights of tokens: all of docs/reference/methods.md, in its order.
 * options NULL: method trloo. */
int warpgym_rl_step(const struct warpgym_rl_rows *rows, const struct warpgym_rl_options *options,
                    struct warpgym_rl_result *result, struct warpgym_rl_error *error);

/* Rewards ------------------------------------------------------------------------------------ */

/* The parts are before any weight or gate (docs/reference/rewards.md). */
struct warpgym_rl_reward {
    int excluded; /* 1: says nothing about the candidate; then total is NaN */
    double total;
    double format, compile, correctness, speed, length, thinking, coverage;
};

/* config: a preset ("drkernel"), or JSON: {"preset": NAME, FIELD: number, …}. coverage: measure, or
 * NULL for `time`. subject: JSON of one of these:
 *
 *   a verdict                      {"schema": 1, "status": "passed", …} (docs/reference/verdict.md)
 *   a verdict and its answer       {"verdict": {…} or null, "format_ok": true, "code_chars": 1800,
 *                                   "thought_chars": 0}
 *   what is known without one      {"correct": true, "speedup": 1.7, …}: warpgym_rl_fact has the
 *                                  names, docs/guide/rl-library.md what each is without being given
 */
int warpgym_rl_reward(const char *config, const char *coverage, const char *subject,
                      struct warpgym_rl_reward *reward, struct warpgym_rl_error *error);
/* Names of facts, and of fields of a config, by index; NULL behind the last. */
const char *warpgym_rl_fact(size_t index);
const char *warpgym_rl_reward_field(size_t index, double *standard);

/* Losses ------------------------------------------------------------------------------------- */

/* The loss of a policy (settings loss, clip_low, clip_high, dual_clip, dro_beta, entropy), a plain
 * sum over tokens: advantages are a step's token_advantage. A token whose advantage is 0 counts in
 * no sum, and its `sampled` may be NaN. */
struct warpgym_rl_tokens {
    size_t tokens;
    const float *trained;   /* [tokens] required; log-probability now */
    const float *sampled;   /* [tokens] required; the ratio's denominator */
    const float *advantage; /* [tokens] required */
    const float *weight;    /* [tokens] w of terms without an advantage (dro, entropy); NULL: 1 */
    const float *entropy;   /* [tokens] of each token's distribution; for the setting entropy */
};

/* gradient [tokens]: d loss / d trained; NULL: not wanted. (d loss / d entropy is -w times the
 * setting, for each token that counts.) Puts "loss", "tokens", "clipped", "ratio", "kl" and
 * "entropy": sums over the tokens that count. */
int warpgym_rl_loss(const char *const *settings, const struct warpgym_rl_tokens *tokens,
                    float *gradient, warpgym_rl_put put, void *context,
                    struct warpgym_rl_error *error);

#ifdef __cplusplus
}
#endif

#endif
