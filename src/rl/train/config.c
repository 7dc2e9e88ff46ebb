#include "rl/train/config.h"

#include "base/array.h"
#include "base/json.h"
#include "base/nearest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MOST 24

static const char *const schedules[] = {"constant", "linear", "cosine", NULL};
static const char *const shapings[] = {"none", "residual", "residual_unbiased", NULL};
/* Of two words the second sets a flag. */
static const char *const masks[] = {"keep", "mask", NULL};
static const char *const outages[] = {"leave", "zero", NULL};
static const char *const unknowns[] = {"keep", "zero", NULL};
static const char *const payments[] = {"drop", "pay", NULL};
static const char *const stays[] = {"leave", "stay", NULL};
static const char *const values[] = {"returns", "rewards", NULL};
static const char *const units[] = {"turn", "rollout", NULL};
static const char *const coverages[] = {"off", "turn", "rollout", NULL};
static const char *const looked_at[] = {"correct", "every", NULL};
static const char *const lones[] = {"return", "zero", NULL};
static const char *const ratios[] = {"sampled", "trained", NULL};
static const char *const measures[] = {"correct", "fast_1", "return", NULL};
static const char *const kinds[] = {"engine", "tinker", NULL};

/* *index: the position of `value` in `words`, which end with NULL; unchanged if it is not among
 * them. */
static int read_word(const char *path, const char *value, const char *const *words, int *index,
                     struct err *err)
{
    size_t count = 0;
    if (!*value)
        return 0;
    for (; words[count]; count++)
        if (strcmp(words[count], value) == 0) {
            *index = (int)count;
            return 0;
        }
    err_unknown(err, "value", value, words, count);
    return err_prefix(err, "%s", path);
}

/* A copy of `count` names with a NULL after them. */
static const char *const *ended(const char *const *names, size_t count, const char **capacity)
{
    for (size_t i = 0; i < count && i + 1 < WORDS_MOST; i++)
        capacity[i] = names[i];
    capacity[count] = NULL;
    return capacity;
}

static int read_estimator(struct rl_method *method, const char *value, struct err *err)
{
    const char *names[WORDS_MOST] = {NULL};
    int index = -1;
    for (size_t i = 0; rl_estimators[i].name && i + 1 < WORDS_MOST; i++)
        names[i] = rl_estimators[i].name;
    int result = read_word("train.estimator", value, names, &index, err);
    if (result == 0 && index >= 0)
        method->estimator = &rl_estimators[index];
    return result;
}

static int read_rule(struct rl_method *method, const char *value, struct err *err)
{
    const char *names[WORDS_MOST] = {NULL};
    int index = -1;
    for (size_t i = 0; rl_return_rules[i].name && i + 1 < WORDS_MOST; i++)
        names[i] = rl_return_rules[i].name;
    int result = read_word("train.returns", value, names, &index, err);
    if (result == 0 && index >= 0)
        method->returns.rule = &rl_return_rules[index];
    return result;
}

/* Words of an enum. */
static int read_kinds(struct rl_method *method, const struct settings *settings, struct err *err)
{
    const char *levels[WORDS_MOST], *aggregations[WORDS_MOST], *filters[WORDS_MOST];
    int shaping = (int)method->returns.shaping, level = (int)method->bounds.level;
    int filter = (int)method->filter.kind, importance = (int)method->importance;
    int aggregation = (int)method->normalisation.aggregation;
    int coverage = method->coverage.enabled ? 1 + method->coverage.rollout : 0;
    const struct {
        const char *path, *value;
        const char *const *words;
        int *index;
    } rows[] = {
        {"train.shaping", settings->train_shaping, shapings, &shaping},
        {"train.band", settings->train_band, ended(rl_level_names, RL_LEVELS, levels), &level},
        {"train.coverage", settings->train_coverage, coverages, &coverage},
        {"train.filter", settings->train_filter, ended(rl_filter_names, RL_FILTERS, filters),
         &filter},
        {"train.importance", settings->train_importance, levels, &importance},
        {"train.aggregation", settings->train_aggregation,
         ended(rl_aggregation_names, RL_AGGREGATIONS, aggregations), &aggregation},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int result = read_word(rows[i].path, rows[i].value, rows[i].words, rows[i].index, err);
        if (result < 0)
            return result;
    }
    method->returns.shaping = (enum rl_shaping)shaping;
    method->bounds.level = (enum rl_level)level;
    method->coverage.enabled = coverage > 0;
    method->coverage.rollout = coverage > 1;
    method->filter.kind = (enum rl_filter_kind)filter;
    method->importance = (enum rl_level)importance;
    method->normalisation.aggregation = (enum rl_aggregation)aggregation;
    return 0;
}

static int read_flags(struct rl_method *method, const struct settings *settings, struct err *err)
{
    const struct {
        const char *path, *value;
        const char *const *words;
        bool *flag;
    } rows[] = {
        {"train.void_turns", settings->train_void_turns, masks, &method->mask_void},
        {"train.failed_turns", settings->train_failed_turns, masks, &method->mask_failed},
        {"train.unjudged", settings->train_unjudged, outages, &method->unjudged_zero},
        {"train.veto_unit", settings->train_veto_unit, units, &method->bounds.veto_rollout},
        {"train.coverage_turns", settings->train_coverage_turns, looked_at,
         &method->coverage.every_turn},
        {"train.coverage_unknown", settings->train_coverage_unknown, unknowns,
         &method->coverage.unknown_zero},
        {"train.coverage_rewards", settings->train_coverage_rewards, payments, &method->lazy_paid},
        {"train.rejected_turns", settings->train_rejected_turns, stays, &method->rejected_stay},
        {"train.filter_values", settings->train_filter_values, values, &method->filter_rewards},
        {"train.lone", settings->train_lone, lones, &method->advantage.singleton_zero},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int index = *rows[i].flag;
        int result = read_word(rows[i].path, rows[i].value, rows[i].words, &index, err);
        if (result < 0)
            return result;
        *rows[i].flag = index;
    }
    return 0;
}

/* A number that -1 leaves to a preset. */
static int read_number(const char *path, double value, double *to, struct err *err)
{
    if (value == -1)
        return 0;
    if (!(value >= 0))
        return err_set(err, ERR_INPUT, "%s: %g is neither -1 (as the preset has it) nor 0 or more",
                       path, value);
    *to = value;
    return 0;
}

static int read_numbers(struct rl_method *method, const struct settings *settings, struct err *err)
{
    struct rl_coverage_options *coverage = &method->coverage;
    const struct {
        const char *path;
        double value, *to;
    } numbers[] = {
        {"train.gamma", settings->train_gamma, &method->returns.gamma},
        {"train.band_lower", settings->train_band_lower, &method->bounds.lower},
        {"train.band_upper", settings->train_band_upper, &method->bounds.upper},
        {"train.veto", settings->train_veto, &method->bounds.veto},
        {"train.coverage_threshold", settings->train_coverage_threshold, &coverage->threshold},
        {"train.coverage_factor", settings->train_coverage_factor, &coverage->factor},
        {"train.coverage_speedup", settings->train_coverage_speedup, &coverage->speedup_threshold},
        {"train.filter_deviation", settings->train_filter_deviation, &method->filter.deviation},
        {"train.importance_upper", settings->train_importance_upper, &method->importance_upper},
        {"train.scale", settings->train_scale, &method->normalisation.scale},
    };
    const struct {
        int64_t value;
        size_t *to;
    } counts[] = {
        {settings->train_filter_rollouts, &method->filter.rollouts_least},
        {settings->train_nominal_rows, &method->normalisation.nominal_rows},
        {settings->train_nominal_tokens, &method->normalisation.nominal_tokens},
        {settings->train_pad_rows, &method->normalisation.pad_rows},
    };
    for (size_t i = 0; i < COUNT(numbers); i++) {
        int result = read_number(numbers[i].path, numbers[i].value, numbers[i].to, err);
        if (result < 0)
            return result;
    }
    for (size_t i = 0; i < COUNT(counts); i++)
        if (counts[i].value >= 0)
            *counts[i].to = (size_t)counts[i].value;
    if (settings->train_band_lower == 0)
        method->bounds.lower = NAN; /* 1 / upper */
    if (settings->train_coverage_speedup == 0)
        coverage->speedup_threshold = NAN;
    return 0;
}

/* Settings from which no step can learn: each answer is alone, or every problem is filtered out. */
static int check_plan(const struct rl_method *method, const struct rl_plan *plan, struct err *err)
{
    const struct rl_estimator *estimator = method->estimator;
    bool single = plan->samples == 1, turns_alone = estimator->by == RL_BY_TURN || plan->turns == 1;
    bool alone = single && estimator->by != RL_BY_BATCH &&
                 (turns_alone || estimator->value == RL_LAST_RETURN);
    if ((alone && method->filter.kind == RL_FILTER_TURNS) ||
        (single && method->filter.kind == RL_FILTER_LAST_TURN))
        return err_set(err, ERR_INPUT,
                       "train.samples: the only answer to a problem has no other to be compared "
                       "with, and train.filter leaves out all problems; take 2 or more, or "
                       "train.estimator=return train.filter=none");
    if (alone && method->advantage.singleton_zero)
        return err_set(err, ERR_INPUT,
                       "train.samples: with train.lone zero the only answer to a problem teaches "
                       "nothing; take 2 or more, or train.estimator=return");
    if (method->filter.rollouts_least > plan->samples)
        return err_set(err, ERR_INPUT,
                       "train.filter_rollouts: %zu usable episodes of each problem are wanted, and "
                       "train.samples is %zu: all problems would be left out",
                       method->filter.rollouts_least, plan->samples);
    return 0;
}

static int read_method(struct rl_method *method, const struct settings *settings, struct err *err)
{
    const struct rl_plan plan = {.prompts = (size_t)settings->train_prompts,
                                 .samples = (size_t)settings->train_samples,
                                 .turns = (size_t)settings->gym_turns};
    int result = rl_method_preset(settings->train_method, method, err);
    if (result < 0)
        return err_prefix(err, "train.method");
    rl_method_plan(method, &plan);
    result = read_estimator(method, settings->train_estimator, err);
    if (result == 0)
        result = read_rule(method, settings->train_returns, err);
    if (result == 0)
        result = read_kinds(method, settings, err);
    if (result == 0)
        result = read_flags(method, settings, err);
    if (result == 0)
        result = read_numbers(method, settings, err);
    if (result < 0)
        return result;
    result = rl_method_check(method, err);
    if (result < 0)
        return err_prefix(err, "train.*");
    if (method->estimator->baseline == RL_BASELINE_OPTIMAL &&
        (strcmp(settings->train_learner, "engine") != 0 || !settings->train_rescore))
        return err_set(err, ERR_INPUT,
                       "train.estimator: %s needs the whole distribution of each token, which only "
                       "the engine tells, and only with train.rescore",
                       method->estimator->name);
    return settings->train_steps > 0 ? check_plan(method, &plan, err) : 0;
}

static int read_loss(struct train_config *config, const struct settings *settings, struct err *err)
{
    struct loss_config *to = &config->loss_config;
    config->loss = loss_find(settings->train_loss);
    if (!config->loss || !config->loss->ratio)
        return err_set(err, ERR_INPUT,
                       "train.loss: unknown value '%.60s'; choose one of importance_sampling, ppo, "
                       "cispo, dro",
                       settings->train_loss);
    *to = loss_config_defaults;
    int result = read_number("train.clip_low", settings->train_clip_low, &to->clip_low, err);
    if (result == 0)
        result = read_number("train.clip_high", settings->train_clip_high, &to->clip_high, err);
    if (result == 0)
        result = read_number("train.dro_beta", settings->train_dro_beta, &to->beta, err);
    if (result < 0)
        return result;
    if (settings->train_dual_clip > 0)
        to->dual_clip = settings->train_dual_clip;
    if (settings->train_entropy > 0)
        to->entropy = settings->train_entropy;
    struct loss_config checked = *to;
    result = loss_config_check(config->loss, &checked, err);
    return result < 0 ? err_prefix(err, "train.loss") : 0;
}

static void read_train_backend(struct train_config *config, const struct settings *settings)
{
    config->backend = (struct train_backend_options){
        .kind = settings->train_learner,
        .model = settings->train_model,
        .tokenizer = settings->train_tokenizer[0] ? settings->train_tokenizer : NULL,
        .url = settings->train_url[0] ? settings->train_url : NULL,
        .lora_rank = (size_t)settings->train_lora_rank,
        .lora_alpha = settings->train_lora_alpha,
        .seed = (uint64_t)settings->train_seed,
        .context = (size_t)settings->train_context,
        .batch_tokens = (size_t)settings->train_batch_tokens,
        .at_once = (size_t)settings->train_jobs,
        .recompute = settings->train_recompute,
        .device = settings->train_backend,
        .threads = (size_t)settings->train_threads,
        .settings = settings,
    };
    config->sampling = (struct train_backend_sampling){
        .max_tokens = (size_t)settings->train_max_tokens,
        .temperature = settings->train_temperature,
        .top_p = settings->train_top_p,
        .top_k = (size_t)settings->train_top_k,
    };
    config->evaluation = config->sampling;
    config->evaluation.temperature = settings->train_evaluate_temperature;
    config->evaluation.top_p = settings->train_evaluate_top_p;
    config->adam = (struct lm_adam){
        .rate = settings->train_rate,
        .beta1 = settings->train_beta1,
        .beta2 = settings->train_beta2,
        .epsilon = settings->train_epsilon,
        .decay = settings->train_decay,
        .clip = settings->train_clip,
    };
}

static int check_train_backend(const struct settings *settings, struct err *err)
{
    bool tinker = strcmp(settings->train_learner, "tinker") == 0;
    if (!settings->train_model[0])
        return err_set(err, ERR_INPUT, "train.model: name the model to train (%s)",
                       tinker ? "as the service calls it" : "a directory");
    if (tinker && settings->train_lora_rank == 0)
        return err_set(err, ERR_INPUT,
                       "train.lora_rank: 0 trains all parameters, which only the engine does");
    if (tinker && (settings->train_entropy > 0 || settings->train_dual_clip > 0))
        return err_set(err, ERR_INPUT, "%s: only the engine has it",
                       settings->train_entropy > 0 ? "train.entropy" : "train.dual_clip");
    if (tinker && strcmp(settings->train_loss, "dro") == 0)
        return err_set(err, ERR_INPUT,
                       "train.loss: only the engine has dro; a service would pull at the tokens of "
                       "prompts, too");
    if (tinker && !settings->train_tokenizer[0])
        return err_set(err, ERR_INPUT,
                       "train.tokenizer: name the directory of the model's tokenizer; the service "
                       "has none to give");
    if (settings->train_steps == 0 && !settings->train_sft_data[0])
        return err_set(err, ERR_INPUT,
                       "train.steps is 0 and train.sft_data is empty: there is nothing to do");
    if (settings->train_steps > 0 && !settings->train_problems[0])
        return err_set(err, ERR_INPUT,
                       "train.problems: name what is trained on (ids, native, level1, all, @FILE)");
    return 0;
}

/* Settings that need the trainer's log-probabilities. */
static int check_unscored(const struct train_config *config, const struct settings *settings,
                          struct err *err)
{
    const struct rl_ratio_bounds *bounds = &config->method.bounds;
    const char *what = bounds->level != RL_NO_LEVEL   ? "train.band"
                       : bounds->veto > 0             ? "train.veto"
                       : config->ratio_trained        ? "train.ratio=trained"
                       : settings->train_guard_kl > 0 ? "train.guard_kl"
                                                      : NULL;
    return what ? err_set(err, ERR_INPUT,
                          "train.rescore=false: the sampler's log-probabilities count as the "
                          "trainer's, and %s has nothing to compare; leave one of them out",
                          what)
                : 0;
}

int train_config_read(struct train_config *config, const struct settings *settings, struct err *err)
{
    int schedule = LM_CONSTANT, sft_schedule = LM_COSINE, ratio = 0, measure = 0, kind = 0;
    const struct {
        const char *path, *value;
        const char *const *words;
        int *index;
    } rows[] = {
        {"train.learner", settings->train_learner, kinds, &kind},
        {"train.schedule", settings->train_schedule, schedules, &schedule},
        {"train.sft_schedule", settings->train_sft_schedule, schedules, &sft_schedule},
        {"train.ratio", settings->train_ratio, ratios, &ratio},
        {"train.measure", settings->train_measure, measures, &measure},
    };
    *config = (struct train_config){0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        int result = read_word(rows[i].path, rows[i].value, rows[i].words, rows[i].index, err);
        if (result < 0)
            return result;
    }
    config->schedule = (enum lm_schedule)schedule;
    config->sft_schedule = (enum lm_schedule)sft_schedule;
    config->ratio_trained = ratio;
    config->measure = (enum train_measure)measure;
    int result = check_train_backend(settings, err);
    if (result == 0)
        result = read_method(&config->method, settings, err);
    if (result == 0)
        result = read_loss(config, settings, err);
    if (result == 0 && !settings->train_rescore)
        result = check_unscored(config, settings, err);
    if (result == 0 && config->method.importance != RL_NO_LEVEL && !config->ratio_trained)
        result = err_set(err, ERR_INPUT,
                         "train.importance: with train.ratio sampled the loss's own ratio is an "
                         "importance weight, and tokens would be weighed twice; set train.ratio to "
                         "trained");
    read_train_backend(config, settings);
    return result;
}

json_t *train_config_episode(const struct train_config *config, const struct settings *settings,
                             const char *reward)
{
    json_t *episode = json_object();
    json_put(episode, "reward", json_text(reward));
    json_put(episode, "gamma", json_number(config->method.returns.gamma));
    json_put(episode, "evaluation", json_pack("{s:b}", "timing", settings->train_timing));
    return episode;
}
