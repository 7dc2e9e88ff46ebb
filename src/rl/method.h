/* method: all settings of a step's mathematics in one place, and their order.
 *
 *   rl_method_reject  void turns ─► failed rollouts ─► mismatch ─► coverage ─► returns ─► filter
 *   rl_method_weigh   surplus prompts ─► advantages ─► weights of tokens
 *
 * Between the two a trainer sees how many prompts are usable, and may draw more: then it puts all
 * rows into a new batch and begins again; what was rejected is rejected again (rl/random.h).
 *
 * Presets: each repair of the originals is the default, and each *_original has them undone; which
 * field is which defect, docs/methods.md says.
 */
#ifndef WARPGYM_RL_METHOD_H
#define WARPGYM_RL_METHOD_H

#include "rl/advantage.h"
#include "rl/coverage.h"
#include "rl/mismatch.h"
#include "rl/returns.h"
#include "rl/select.h"
#include "rl/tokens.h"

struct rl_method {
    const char *name;
    bool mask_void, mask_failed;
    struct rl_band band;
    struct rl_coverage_options coverage;
    struct rl_return_options returns;
    struct rl_filter filter;
    bool filter_rewards; /* not returns */
    const struct rl_estimator *estimator;
    struct rl_advantage_options advantage;
    enum rl_level importance; /* weights: none, token, turn or sequence */
    double importance_upper;  /* 0: not truncated */
    struct rl_normalisation normalisation;
};

/* trloo, grpo, drkernel, drkernel_original, kevin, kernel_rl_original; NULL behind the last. */
const char *rl_method_name(size_t index);
/* ERR_INPUT with the nearest name. */
NODISCARD int rl_method_preset(const char *name, struct rl_method *method, struct err *err);
/* ERR_INPUT: settings that contradict each other. Completes the band. */
NODISCARD int rl_method_check(struct rl_method *method, struct err *err);

struct rl_step_report {
    struct rl_mismatch_metrics mismatch;
    struct rl_quality quality;
    struct rl_coverage_metrics coverage;
    struct rl_filter_counts prompts;
};

/* `rows` have no bits but RL_EXCLUDED. */
void rl_method_reject(struct rl_batch *batch, const struct rl_method *method, uint64_t seed,
                      uint64_t step, struct rl_step_report *report);
/* wanted 0: all prompts. advantage [tokens]: what the policy's loss gets. */
NODISCARD int rl_method_weigh(struct rl_batch *batch, const struct rl_method *method, size_t wanted,
                              uint64_t seed, uint64_t step, double *advantage, struct err *err);

#endif
