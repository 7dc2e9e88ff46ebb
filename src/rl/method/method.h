/* method: all settings of a step's mathematics in one place, and their order.
 *
 *   rl_method_reject  void turns ─► failed rollouts ─► importance weights ─► gates ─► mismatch
 *                     ─► coverage ─► returns ─► filter
 *   rl_method_weigh   surplus rollouts ─► surplus prompts ─► advantages ─► reweighing
 *                     ─► standardising ─► weights of tokens
 *
 * Between the two the trainer sees how many prompts are usable, and may draw more: it puts all rows
 * into a new batch and starts again; the same rows are rejected again (rl/method/counter_random.h).
 *
 * Importance weights cover everything that was sampled and can be trained on: a ratio without the
 * rejected turns would not be a ratio of two probabilities of the rollout.
 *
 * Presets: each correction of the originals is a default, and each *_original undoes them;
 * docs/reference/methods.md maps fields to defects.
 *
 * Ownership: names are static; the batch is the caller's. Threads: pure.
 */
#pragma once

#include "rl/method/advantage.h"
#include "rl/method/coverage_rejection.h"
#include "rl/method/mismatch.h"
#include "rl/method/returns.h"
#include "rl/method/select.h"
#include "rl/method/tokens.h"
#include "rl/method/variance.h"

struct rl_method {
    const char *name;
    bool mask_void, mask_failed;
    bool unjudged_zero;  /* rl_blame_unjudged */
    bool lazy_paid;      /* rewards of turns that coverage rejects count in returns */
    bool rejected_stay;  /* turns that mismatch or coverage rejects count in groups */
    bool filter_rewards; /* not returns */
    struct rl_gates gates;
    struct rl_ratio_bounds bounds;
    struct rl_coverage_options coverage;
    struct rl_return_options returns; /* except `without` */
    struct rl_filter filter;          /* except `by` and `out`, which follow from the others */
    const struct rl_estimator *estimator;
    struct rl_advantage_options advantage; /* except `out` */
    enum rl_selection selection;
    size_t rollouts; /* of a prompt that stay; 0: all */
    enum rl_reweighing reweighing;
    bool standardise;
    enum rl_level importance; /* weights: none, token, turn or sequence */
    double importance_upper;  /* 0: not truncated */
    struct rl_normalisation normalisation;
    bool planned; /* filter.rollouts_least and normalisation.nominal_rows follow from a plan */
};

/* Whether it needs batch->collision. */
bool rl_method_needs_scores(const struct rl_method *method);
/* Whether it makes use of it. */
bool rl_method_uses_scores(const struct rl_method *method);

/* The planned size of a step. */
struct rl_plan {
    size_t prompts, samples, turns;
};

extern const struct word_table rl_method_words; /* the presets */
/* ERR_INPUT with the nearest name. */
NODISCARD int rl_method_preset(const char *name, struct rl_method *method, struct err *err);
/* Sets the counts of a preset that depend on a step's size; by default they are the release's: 16
 * prompts, 16 rollouts, 3 turns. */
void rl_method_plan(struct rl_method *method, const struct rl_plan *plan);
/* ERR_INPUT: contradictory settings. Completes the bounds. */
NODISCARD int rl_method_check(struct rl_method *method, struct err *err);

struct rl_step_report {
    struct rl_mismatch_metrics mismatch;
    struct rl_quality quality;
    struct rl_coverage_metrics coverage;
    struct rl_filter_counts prompts;
};

/* All its metrics; `compared` false: without those of mismatch, as where no trainer's
 * log-probabilities are known. */
void rl_step_report_put(const struct rl_step_report *report, bool compared, rl_put put,
                        void *context);

/* `rows` have no bits but RL_EXCLUDED. */
void rl_method_reject(struct rl_batch *batch, const struct rl_method *method, uint64_t seed,
                      uint64_t step, struct rl_step_report *report);
/* wanted 0: all prompts. advantage [tokens]: for the policy's loss. */
NODISCARD int rl_method_weigh(struct rl_batch *batch, const struct rl_method *method, size_t wanted,
                              uint64_t seed, uint64_t step, double *advantage, struct err *err);
