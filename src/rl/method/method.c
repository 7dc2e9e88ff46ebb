#include "rl/method/method.h"

#include <math.h>

static void set_standard(struct rl_method *method)
{
    *method = (struct rl_method){
        .bounds = rl_ratio_bounds_defaults,
        .coverage = rl_coverage_defaults,
        .returns = rl_return_defaults,
        .filter = rl_filter_defaults,
        .estimator = rl_estimator("trloo"),
        .advantage = rl_advantage_defaults,
        .normalisation = rl_normalisation_defaults,
    };
}

static void set_grpo(struct rl_method *method)
{
    method->estimator = rl_estimator("grpo_std");
}

/* Dr. Kernel's release: values of its scripts. */
static void set_drkernel(struct rl_method *method)
{
    method->bounds = (struct rl_ratio_bounds){.level = RL_GEOMETRIC,
                                              .lower = 0.999,
                                              .upper = 1.001,
                                              .veto = 1e-4};
    method->coverage.enabled = true;
    method->normalisation.aggregation = RL_SEQ_MEAN_TOKEN_SUM;
    method->normalisation.scale = 1000;
}

static void set_drkernel_original(struct rl_method *method)
{
    static const struct rl_plan release = {.prompts = 16, .samples = 16, .turns = 3};
    set_drkernel(method);
    method->mask_void = true;
    method->mask_failed = true;
    method->lazy_paid = true;
    method->rejected_stay = true;
    method->coverage.unknown_zero = true;
    method->filter.kind = RL_FILTER_LAST_TURN;
    method->filter_rewards = true;
    method->planned = true;
    rl_method_plan(method, &release);
}

static void set_kevin(struct rl_method *method)
{
    method->returns.gamma = 0.4;
}

static void set_kernel_rl_original(struct rl_method *method)
{
    method->returns.rule = rl_return_rule("kernel_rl");
    method->returns.gamma = 0.4;
    method->unjudged_zero = true;
    method->filter.kind = RL_FILTER_NONE;
    method->estimator = rl_estimator("grpo_last");
    method->normalisation.aggregation = RL_SEQ_SUM;
}

static const struct {
    const char *name;
    void (*change)(struct rl_method *method); /* NULL: the standard */
} presets[] = {
    {"trloo", NULL},
    {"grpo", set_grpo},
    {"drkernel", set_drkernel},
    {"drkernel_original", set_drkernel_original},
    {"kevin", set_kevin},
    {"kernel_rl_original", set_kernel_rl_original},
    {NULL, NULL},
};

const struct word_table rl_method_words = WORD_TABLE_OF(presets, name);

int rl_method_preset(const char *name, struct rl_method *method, struct err *err)
{
    int preset;
    int result = word_find(&rl_method_words, "method", name, &preset, err);
    if (result < 0)
        return result;
    set_standard(method);
    method->name = presets[preset].name;
    if (presets[preset].change)
        presets[preset].change(method);
    return 0;
}

bool rl_method_needs_scores(const struct rl_method *method)
{
    bool weighs = rl_estimator_weighs(method->estimator) || method->reweighing != RL_REWEIGH_NONE;
    return weighs && method->advantage.energy == RL_ENERGY_SCORES;
}

bool rl_method_uses_scores(const struct rl_method *method)
{
    return rl_method_needs_scores(method) || method->gates.instability > 0;
}

void rl_method_plan(struct rl_method *method, const struct rl_plan *plan)
{
    if (!method->planned)
        return;
    method->filter.rollouts_least = plan->samples / 2 + 1;
    method->normalisation.nominal_rows = plan->prompts * plan->samples * plan->turns;
}

int rl_method_check(struct rl_method *method, struct err *err)
{
    double gamma = method->returns.gamma;
    const struct rl_coverage_options *coverage = &method->coverage;
    if (!(gamma >= 0 && gamma <= 1))
        return err_set(err, ERR_INPUT, "gamma must be from 0 to 1, not %g", gamma);
    if (method->returns.shaping == RL_RESIDUAL_UNBIASED && gamma == 1)
        return err_set(err, ERR_INPUT,
                       "with gamma 1 the unbiased shaping removes the last reward; "
                       "lower gamma, or use residual shaping");
    if (!(coverage->factor >= 0) || !isfinite(coverage->threshold))
        return err_set(err, ERR_INPUT,
                       "coverage rejection needs a threshold and a factor of at least 0, "
                       "not %g and %g",
                       coverage->threshold, coverage->factor);
    if (method->importance == RL_TURN_GEO || method->importance == RL_GEOMETRIC)
        return err_set(err, ERR_INPUT,
                       "importance weights are of a token, a turn or a sequence, not '%s'",
                       word_at(WORDS_IN(RL_LEVELS), method->importance));
    if (!(method->importance_upper >= 0))
        return err_set(err, ERR_INPUT, "importance weights cannot be at most %g",
                       method->importance_upper);
    if (!(method->normalisation.scale > 0))
        return err_set(err, ERR_INPUT, "the loss's scale must be above 0, not %g",
                       method->normalisation.scale);
    return rl_ratio_bounds_check(&method->bounds, err);
}

static void filter_prompts(struct rl_batch *batch, const struct rl_method *method,
                           struct rl_filter_counts *counts)
{
    const struct rl_estimator *estimator = method->estimator;
    struct rl_filter filter = method->filter;
    bool rewards = method->filter_rewards || estimator->value == RL_REWARD;
    filter.by = estimator->by;
    filter.out = method->rejected_stay ? RL_EXCLUDED | RL_FAILED : RL_ANY;
    if (filter.kind == RL_FILTER_TURNS && estimator->value == RL_LAST_RETURN &&
        estimator->by != RL_BY_BATCH)
        filter.kind = RL_FILTER_LAST_TURN; /* the other turns do not affect the advantage */
    rl_filter_prompts(batch, &filter, rewards ? batch->reward : batch->returns, counts);
}

void rl_method_reject(struct rl_batch *batch, const struct rl_method *method, uint64_t seed,
                      uint64_t step, struct rl_step_report *report)
{
    struct rl_return_options returns = method->returns;
    returns.without = method->lazy_paid ? RL_VOID : RL_VOID | RL_COVERAGE;
    if (method->unjudged_zero)
        rl_blame_unjudged(batch);
    if (method->mask_void)
        rl_mask_void(batch);
    if (method->mask_failed)
        rl_mask_failed(batch);
    if (method->importance != RL_NO_LEVEL)
        rl_importance(batch, method->importance, method->importance_upper, batch->weight);
    rl_mismatch_measure(batch, &method->bounds, method->importance, method->importance_upper,
                        &report->mismatch);
    rl_gate(batch, &method->gates);
    rl_mismatch_reject(batch, &method->bounds);
    rl_quality_measure(batch, &report->quality);
    rl_coverage_reject(batch, &method->coverage, seed, step, &report->coverage);
    rl_returns(batch, &returns);
    filter_prompts(batch, method, &report->prompts);
}

void rl_step_report_put(const struct rl_step_report *report, bool compared, rl_put put,
                        void *context)
{
    const struct rl_filter_counts *prompts = &report->prompts;
    put(context, "batch/num_groups", (double)prompts->prompts);
    put(context, "batch/usable_groups", (double)prompts->usable);
    put(context, "batch/constant_groups", (double)prompts->constant);
    put(context, "batch/few_groups", (double)prompts->few);
    if (compared)
        rl_mismatch_put(&report->mismatch, put, context);
    rl_quality_put(&report->quality, put, context);
    rl_coverage_put(&report->coverage, put, context);
}

int rl_method_weigh(struct rl_batch *batch, const struct rl_method *method, size_t wanted,
                    uint64_t seed, uint64_t step, double *advantage, struct err *err)
{
    struct rl_advantage_options options = method->advantage;
    options.out = method->rejected_stay ? RL_ANY & ~(unsigned)RL_REJECTED : RL_ANY;
    options.energy_importance = options.energy_importance && method->importance != RL_NO_LEVEL;
    if (method->rollouts > 0)
        rl_keep_rollouts(batch, method->selection, method->rollouts, seed, step);
    if (wanted > 0)
        rl_keep_prompts(batch, wanted, seed, step);
    int result = rl_advantages(batch, method->estimator, &options, err);
    if (result == 0)
        result = rl_reweigh(batch, method->reweighing, &options, err);
    if (result < 0)
        return result;
    if (method->standardise)
        rl_standardise(batch);
    double *weight = mem_alloc((batch->tokens + 1) * sizeof *weight);
    rl_token_weights(batch, &method->normalisation, weight);
    rl_token_advantages(batch, weight, method->importance != RL_NO_LEVEL ? batch->weight : NULL,
                        advantage);
    mem_free(weight);
    return 0;
}
