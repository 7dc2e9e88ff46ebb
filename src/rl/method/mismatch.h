/* mismatch: the sampler and the trainer compute different probabilities (other kernels, other
 * precision, older weights). Ratios outside bounds are rejected (MRS: Dr. Kernel, equation 6), or
 * weighted, and always measured.
 *
 *   l = log π_trained(token) - log π_sampled(token), over masked tokens of rows without a bit
 *
 *   level      ratio                                   accepted or rejected
 *   token      exp(l)                                  the token
 *   turn       exp(Σ l over the turn)                  the turn
 *   turn_geo   exp(mean l over the turn)               the turn
 *   sequence   exp(Σ l over all turns of the rollout)  the rollout
 *   geometric  exp(mean l over them)                   the rollout          Dr. Kernel's release
 *
 * Exponents are clamped to ±20. Kept iff lower ≤ ratio ≤ upper; NaN is rejected. Veto: a token with
 * l < log(veto) rejects its turn (the code), or its rollout (the paper).
 *
 * Weights: exp(Σ l) of the token, turn or rollout, at most `upper`, for the loss. Untruncated they
 * make off-policy gradients unbiased; MRS replaces them.
 *
 * Ownership: the batch is the caller's. Threads: pure.
 */
#pragma once

#include "rl/method/batch.h"

#define RL_LEVELS(X)                                                                               \
    X(RL_NO_LEVEL, "none")                                                                         \
    X(RL_TOKEN, "token")                                                                           \
    X(RL_TURN, "turn")                                                                             \
    X(RL_TURN_GEO, "turn_geo")                                                                     \
    X(RL_SEQUENCE, "sequence")                                                                     \
    X(RL_GEOMETRIC, "geometric")
enum rl_level { WORD_SYMBOLS(RL_LEVELS) };

/* Two gates before the bounds (Dr. Kernel's code; off). A turn is rejected (RL_MISMATCH) unless
 * |mean l| < shift, and unless each token has log π_sampled - max_a log π_sampled(a) above
 * -instability. Where the sampler reported no such maximum (batch->top), log Σ_a π(a)² is taken for
 * it, which is at most the maximum; where that is unknown, too, the token passes. */
struct rl_gates {
    double shift, instability; /* 0: off */
};
void rl_gate(struct rl_batch *batch, const struct rl_gates *gates);

struct rl_ratio_bounds {
    enum rl_level level;
    double lower; /* NAN: 1 / upper */
    double upper;
    double veto; /* a ratio; 0: none */
    bool veto_rollout;
};
extern const struct rl_ratio_bounds rl_ratio_bounds_defaults; /* none, 0.5 to 2, no veto */

/* Sets a missing `lower`. ERR_INPUT: empty or invalid bounds. */
NODISCARD int rl_ratio_bounds_check(struct rl_ratio_bounds *bounds, struct err *err);

/* ratio [tokens]: of the token's unit, the same for all of its tokens; 1 if none counts. */
void rl_ratios(const struct rl_batch *batch, enum rl_level level, double *ratio);

/* Sets RL_MISMATCH and RL_VETO, and clears the mask of single tokens at level `token`. */
void rl_mismatch_reject(struct rl_batch *batch, const struct rl_ratio_bounds *bounds);

/* level: token, turn or sequence. upper 0: not truncated. weight [tokens], 0 if none counts. */
void rl_importance(const struct rl_batch *batch, enum rl_level level, double upper, double *weight);

/* X(name): "mismatch/NAME" of the run's metrics, as Dr. Kernel's code has them; means over tokens,
 * or over rows where the name has `ppl` or `seq`. Those of rollout_rs_ are of the ratio that is
 * bounded, those of rollout_is_ up to rollout_is_seq_fraction_low of the importance weights before
 * they are truncated at `upper`, between 1 / upper and upper (untruncated: no bounds); they are 1,
 * or 0, without a level. */
#define RL_RATIO_METRICS(X, of)                                                                    \
    X(of##_mean) /* of the level's ratio, over tokens */                                           \
    X(of##_max)                                                                                    \
    X(of##_min)                                                                                    \
    X(of##_std)                 /* N; clamped to the bounds */                                     \
    X(of##_eff_sample_size)     /* 1 / mean((w / mean w)²), w clamped likewise */                 \
    X(of##_ratio_fraction_high) /* of tokens; of rows at the levels turn and sequence */           \
    X(of##_ratio_fraction_low)                                                                     \
    X(of##_seq_mean) /* of the rows' mean ratio */                                                 \
    X(of##_seq_std)  /* N - 1 */                                                                   \
    X(of##_seq_max)                                                                                \
    X(of##_seq_min)                                                                                \
    X(of##_seq_max_deviation) /* |it - 1| */                                                       \
    X(of##_seq_fraction_high)                                                                      \
    X(of##_seq_fraction_low)
#define RL_MISMATCH_METRICS(X)                                                                     \
    X(mismatch_kl)           /* mean -l: estimator k1 of KL(sampled || trained) */                 \
    X(mismatch_k3_kl)        /* mean e^l - l - 1 */                                                \
    X(mismatch_training_ppl) /* exp(-mean log-probability) of a row */                             \
    X(mismatch_training_log_ppl)                                                                   \
    X(mismatch_rollout_ppl)                                                                        \
    X(mismatch_rollout_log_ppl)                                                                    \
    X(mismatch_log_ppl_diff) /* mean log-probability of a row, sampled minus trained */            \
    X(mismatch_log_ppl_abs_diff)                                                                   \
    X(mismatch_log_ppl_diff_max)                                                                   \
    X(mismatch_log_ppl_diff_min)                                                                   \
    X(mismatch_ppl_ratio)  /* mean exp of that */                                                  \
    X(mismatch_chi2_token) /* mean ρ² - 1, ρ = e^l */                                           \
    X(mismatch_chi2_seq)   /* ρ = exp(Σ l) of a row */                                           \
    RL_RATIO_METRICS(X, rollout_rs)                                                                \
    X(rollout_rs_masked_fraction)     /* of tokens, outside the bounds: the veto is apart */       \
    X(rollout_rs_seq_masked_fraction) /* of rows with such a token */                              \
    RL_RATIO_METRICS(X, rollout_is)                                                                \
    X(rollout_is_veto_fraction)               /* of rows */                                        \
    X(rollout_is_catastrophic_token_fraction) /* of tokens */

struct rl_mismatch_metrics {
#define X(name) double name;
    RL_MISMATCH_METRICS(X)
#undef X
};

/* Call before rl_mismatch_reject on the same batch: rejected tokens no longer count. All 0 if no
 * token counts. importance, upper: of rl_importance; none, 0: no weights. */
void rl_mismatch_measure(const struct rl_batch *batch, const struct rl_ratio_bounds *bounds,
                         enum rl_level importance, double upper,
                         struct rl_mismatch_metrics *metrics);
void rl_mismatch_put(const struct rl_mismatch_metrics *metrics, rl_put put, void *context);

/* Whether rejection hits good turns: rejected turns (RL_MISMATCH or RL_VETO) and others, without
 * excluded ones. "mismatch_quality/{masked,kept}_{count,correct_rate, mean_speedup,fast_1,…}", and
 * the rejected share of each class, "mismatch_quality/mask_rate_{incorrect,correct,fast_1,…}".
 * fast_p: correct, and speedup ≥ p. */
#define RL_FAST_RUNGS 5
extern const struct rl_fast {
    const char *name;
    double speedup;
} rl_fast[RL_FAST_RUNGS]; /* 1, 1.2, 1.5, 2, 3 */

struct rl_quality {
    struct rl_quality_class {
        size_t count, correct, timed;
        double speedup_sum; /* of correct ones that were timed */
        size_t fast[RL_FAST_RUNGS];
    } masked, kept;
};
void rl_quality_measure(const struct rl_batch *batch, struct rl_quality *quality);
/* Rates without a denominator are left out. */
void rl_quality_put(const struct rl_quality *quality, rl_put put, void *context);
