/* coverage_rejection: PRS: turns whose kernels do too little of the work are mostly not trained on
 * (Dr. Kernel, equation 9 and appendix D).
 *
 *   v       the turn's coverage; or, `rollout`, exp(mean log max(v, 1e-8)) of the rollout's turns
 *   p_keep  clip((v - threshold) / factor, 0, 1);  factor 0: [v ≥ threshold]
 *           1 for a turn that is not correct (the code), unless `every_turn` (the paper)
 *           1 if the speedup reaches `speedup_threshold`
 *           1 if v is unknown: without a profile there is no evidence (the original takes v as 0:
 *           `unknown_zero`)
 *   keep ~ Bernoulli(p_keep), by the number (seed, step, rollout, turn) of counter_random.h
 *
 * gym/reward/coverage.h defines coverage. Ownership: the batch is the caller's. Threads: pure.
 */
#pragma once

#include "rl/method/batch.h"

struct rl_coverage_options {
    bool enabled;
    double threshold, factor;
    double speedup_threshold; /* NAN: none */
    bool rollout;
    bool every_turn;
    bool unknown_zero;
};
extern const struct rl_coverage_options rl_coverage_defaults; /* off, 0.3, 0.1, none */

/* The probability for a turn with this v. */
double rl_keep_probability(const struct rl_coverage_options *options, double v, bool correct,
                           double speedup);

/* X(name): "coverage/NAME". Fractions are over turns that are not dropped; mean, least and greatest
 * v over all turns whose v is known (the original: dropped ones, too). */
#define RL_COVERAGE_METRICS(X)                                                                     \
    X(coverage_rs_masked_fraction)              /* of tokens */                                    \
    X(coverage_rs_seq_masked_fraction)          /* of rollouts with a masked turn */               \
    X(coverage_rs_correct_only_masked_fraction) /* of tokens of correct turns */                   \
    X(coverage_rs_mean_coverage)                                                                   \
    X(coverage_rs_min_coverage)                                                                    \
    X(coverage_rs_max_coverage)

struct rl_coverage_metrics {
#define X(name) double name;
    RL_COVERAGE_METRICS(X)
#undef X
};
void rl_coverage_put(const struct rl_coverage_metrics *metrics, rl_put put, void *context);

/* Sets RL_COVERAGE. Without `enabled` it only measures. */
void rl_coverage_reject(struct rl_batch *batch, const struct rl_coverage_options *options,
                        uint64_t seed, uint64_t step, struct rl_coverage_metrics *metrics);
