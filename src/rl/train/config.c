#include "rl/train/config.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "gym/gym_settings.h"
#include "lm/ops/backend.h"

#include <math.h>
#include <string.h>

static struct rl_plan plan_of(const struct settings *settings)
{
    const struct train_settings *train = train_settings(settings);
    return (struct rl_plan){.prompts = (size_t)train->prompts,
                            .samples = (size_t)train->samples,
                            .turns = (size_t)gym_settings(settings)->turns};
}

static void take_method(struct rl_method *method, const struct settings *settings)
{
    const struct rl_plan plan = plan_of(settings);
    const struct optional_float *gamma = &gym_settings(settings)->gamma;
    method_settings_take(method, method_settings(settings), &plan);
    if (gamma->given)
        method->returns.gamma = gamma->value;
}

static size_t count_or_0(const struct optional_int *count)
{
    return count->given ? (size_t)count->value : 0;
}

static void take_train_backend(struct train_config *config, const struct settings *settings)
{
    const struct train_settings *train = train_settings(settings);
    config->backend = (struct train_backend_options){
        .kind = train->backend,
        .model = train->model,
        .tokenizer = train->tokenizer[0] ? train->tokenizer : NULL,
        .url = train->url[0] ? train->url : NULL,
        .reduction = train->reduction,
        .lora_rank = (size_t)train->lora_rank,
        .lora_alpha = train->lora_alpha.given ? train->lora_alpha.value : 0,
        .seed = (uint64_t)train->seed,
        .context = count_or_0(&train->context),
        .batch_tokens = count_or_0(&train->batch_tokens),
        .at_once = (size_t)train->jobs,
        .recompute = train->recompute,
        .sampling_bits = (unsigned)train->sampling_bits,
        .device = word_at(&lm_backend_words, (size_t)train->device),
        .threads = count_or_0(&train->threads),
        .settings = settings,
    };
    config->sampling = (struct train_backend_sampling){
        .max_tokens = count_or_0(&train->max_tokens),
        .temperature = train->temperature,
        .top_p = train->top_p,
        .top_k = (size_t)train->top_k,
    };
    config->evaluation = config->sampling;
    config->evaluation.temperature = train->evaluate_temperature;
    config->evaluation.top_p = train->evaluate_top_p;
    config->adam = (struct lm_adam){
        .rate = train->rate,
        .beta1 = train->beta1,
        .beta2 = train->beta2,
        .epsilon = train->epsilon,
        .decay = train->decay,
        .clip = train->clip,
    };
}

#define SERVICE_RANK 32 /* the SDK's default */

/* So that train.backend alone moves a run to a service. */
static void take_service(struct train_config *config)
{
    size_t count = 0;
    if (config->backend.kind != TRAIN_TINKER)
        return;
    if (config->backend.lora_rank == 0) {
        config->backend.lora_rank = SERVICE_RANK;
        config->notes[count++] = "train.lora_rank: a service trains no full parameters; it gets an "
                                 "adapter of rank 32, which may need a greater train.rate";
    }
    if (config->loss_config.dual_clip > 0) {
        config->loss_config.dual_clip = NAN;
        config->notes[count++] = "train.dual_clip: a service has none; the run goes without it";
    }
    if (config->backend.sampling_bits > 0)
        config->notes[count++] = "train.sampling_bits: a service samples with its own precision";
}

static void take_counts(struct train_config *config, const struct settings *settings)
{
    const struct train_settings *train = train_settings(settings);
    config->problems = (size_t)ceil(train->oversample_prompts * (double)train->prompts);
    config->episodes = (size_t)ceil(train->oversample * (double)train->samples);
    if (config->episodes > (size_t)train->samples)
        config->method.rollouts = (size_t)train->samples;
    /* its own check has passed */
    (void)!token_schedule_read(&config->max_tokens, train->max_tokens_later, NULL);
}

static void take_all(struct train_config *config, const struct settings *settings)
{
    *config = (struct train_config){0};
    take_method(&config->method, settings);
    take_counts(config, settings);
    config->loss = loss_of_policy(method_settings(settings)->loss);
    method_settings_loss(&config->loss_config, method_settings(settings));
    take_train_backend(config, settings);
    take_service(config);
}

/* The settings that a check looks at. */
struct check {
    const struct settings *settings;
    const struct train_settings *train;
    struct setting_errors *errors;
};

/* The first of the settings that was given; else the last. */
static const char *given_of(const struct check *check, const char *const *paths, size_t count)
{
    size_t i = 0;
    while (i + 1 < count && settings_origin(check->settings, paths[i]) == ORIGIN_DEFAULT)
        i++;
    return paths[i];
}

/* The setting that rl_method_check refuses; the method loses it, so that others can be checked. */
static const char *drop_refused(const struct check *check, struct rl_method *method)
{
    static const char *const bounds[] = {"train.bounds_lower", "train.bounds_upper", "train.veto",
                                         "train.bounds_level"};
    if (method->returns.shaping == RL_RESIDUAL_UNBIASED && method->returns.gamma == 1) {
        method->returns.shaping = RL_UNSHAPED;
        return "train.shaping";
    }
    if (method->importance == RL_TURN_GEO || method->importance == RL_GEOMETRIC) {
        method->importance = RL_NO_LEVEL;
        return "train.importance";
    }
    if (!(method->normalisation.scale > 0)) {
        method->normalisation.scale = 1;
        return "train.scale";
    }
    method->bounds = rl_ratio_bounds_defaults;
    return given_of(check, bounds, COUNT(bounds));
}

static void check_method(const struct check *check, const struct rl_method *method)
{
    struct rl_method rest = *method;
    struct err err;
    while (rl_method_check(&rest, &err) < 0) {
        const char *path = drop_refused(check, &rest);
        settings_refuse(check->errors, check->settings, path, "%s: %s", path, err.text);
    }
    if (method->gates.instability > 0 &&
        (check->train->backend != TRAIN_ENGINE || !check->train->rescore))
        settings_refuse(check->errors, check->settings, "train.gate_instability",
                        "train.gate_instability: the distribution of each token is needed, which "
                        "only the engine has, and only with train.rescore");
    if (rl_method_needs_scores(method) &&
        (check->train->backend != TRAIN_ENGINE || !check->train->rescore)) {
        bool weighs = rl_estimator_weighs(method->estimator);
        const char *path = weighs ? "train.estimator" : "train.reweigh";
        settings_refuse(check->errors, check->settings, path,
                        "%s: %s needs the whole distribution of each token, which only the engine "
                        "has, and only with train.rescore; or set train.energy to tokens or rows",
                        path,
                        weighs ? method->estimator->name
                               : word_at(WORDS_IN(RL_REWEIGHINGS), method->reweighing));
    }
}

/* Settings from which no step can learn: each answer is alone, or every problem is filtered out. */
static void check_plan(const struct check *check, const struct rl_method *method)
{
    const struct rl_plan plan = plan_of(check->settings);
    const struct rl_estimator *estimator = method->estimator;
    bool single = plan.samples == 1, turns_alone = estimator->by == RL_BY_TURN || plan.turns == 1;
    bool alone = single && estimator->by != RL_BY_BATCH &&
                 (turns_alone || rl_estimator_once(estimator));
    if ((alone && method->filter.kind == RL_FILTER_TURNS) ||
        (single && method->filter.kind == RL_FILTER_LAST_TURN))
        settings_refuse(check->errors, check->settings, "train.samples",
                        "train.samples: the only answer to a problem has no other to be compared "
                        "with, and train.filter leaves out all problems; take 2 or more, or "
                        "train.estimator=return train.filter=none");
    else if (alone && method->advantage.singleton_zero)
        settings_refuse(check->errors, check->settings, "train.samples",
                        "train.samples: with train.singleton zero the only answer to a problem "
                        "teaches nothing; take 2 or more, or train.estimator=return");
    if (method->filter.rollouts_least > plan.samples)
        settings_refuse(check->errors, check->settings, "train.filter_rollouts",
                        "train.filter_rollouts: %zu usable episodes of each problem are needed, "
                        "and train.samples is %zu: all problems would be left out",
                        method->filter.rollouts_least, plan.samples);
}

static void check_loss(const struct check *check, const struct train_config *config)
{
    static const char *const paths[] = {"train.clip_low", "train.clip_high", "train.dual_clip",
                                        "train.dro_beta", "train.entropy",   "train.loss"};
    struct loss_config checked = config->loss_config;
    struct err err;
    if (loss_config_check(config->loss, &checked, &err) < 0)
        settings_refuse(check->errors, check->settings, given_of(check, paths, COUNT(paths)),
                        "train.loss: %s", err.text);
}

/* What only the engine has. */
static void check_tinker(const struct check *check, const struct train_config *config)
{
    if (method_settings(check->settings)->entropy > 0)
        settings_refuse(check->errors, check->settings, "train.entropy",
                        "train.entropy: only the engine has it");
    if (strcmp(config->loss->name, "dro") == 0)
        settings_refuse(check->errors, check->settings, "train.loss",
                        "train.loss: only the engine has dro; a service would pull at the tokens "
                        "of prompts, too");
}

/* Settings that need the trainer's log-probabilities. */
static void check_unscored(const struct check *check, const struct rl_method *method)
{
    const struct {
        bool set;
        const char *path, *name;
    } rows[] = {
        {method->bounds.level != RL_NO_LEVEL, "train.bounds_level", "train.bounds_level"},
        {method->bounds.veto > 0, "train.veto", "train.veto"},
        {method->gates.shift > 0, "train.gate_shift", "train.gate_shift"},
        {check->train->ratio == TRAIN_RATIO_TRAINED, "train.ratio", "train.ratio=trained"},
        {check->train->guard_kl > 0, "train.guard_kl", "train.guard_kl"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].set)
            settings_refuse(check->errors, check->settings, rows[i].path,
                            "train.rescore=false: the sampler's log-probabilities count as the "
                            "trainer's, and %s has nothing to compare; leave one of them out",
                            rows[i].name);
}

static void check_kl(const struct check *check)
{
    if (check->train->kl_target > 0 && !(method_settings(check->settings)->kl > 0))
        settings_refuse(check->errors, check->settings, "train.kl_target",
                        "train.kl_target: train.kl is 0, and there is nothing to adapt; set it to "
                        "the first weight of the penalty, such as 0.01");
}

/* Losses that are computed from log-probabilities here, and not by the backend. */
static void check_composed(const struct check *check, const struct train_config *config)
{
    const struct train_settings *train = check->train;
    const char *loss = config->loss->name;
    bool turn = train->ratio_level == TRAIN_RATIO_TURN;
    bool composed = turn ||
                    (method_settings(check->settings)->kl > 0 && train->kl_in == TRAIN_KL_LOSS);
    if (turn && strcmp(loss, "ppo") != 0 && strcmp(loss, "importance_sampling") != 0)
        settings_refuse(check->errors, check->settings, "train.ratio_level",
                        "train.ratio_level: %s has no ratio of a turn; take train.loss=ppo", loss);
    if (composed && method_settings(check->settings)->entropy > 0)
        settings_refuse(check->errors, check->settings, "train.entropy",
                        "train.entropy: neither train.ratio_level=turn nor train.kl_in=loss can be "
                        "combined with it; leave one of them out");
    if (train->kl_in == TRAIN_KL_LOSS && !(method_settings(check->settings)->kl > 0))
        settings_refuse(check->errors, check->settings, "train.kl_in",
                        "train.kl_in: train.kl is 0, and there is no term for the loss; set it, to "
                        "0.001 say");
}

static void check_carry(const struct check *check)
{
    const struct train_settings *train = check->train;
    if (train->carry && train->staleness == 0)
        settings_refuse(check->errors, check->settings, "train.carry",
                        "train.carry: with train.staleness=0 nothing is played beside a step that "
                        "could be carried over; set train.staleness to 1 or more");
    if (train->carry && train->rounds > 1)
        settings_refuse(check->errors, check->settings, "train.carry",
                        "train.carry: a step cannot wait for further rounds (train.rounds) and "
                        "leave problems to later steps; leave one of them out");
}

static void check_overlong(const struct check *check)
{
    const struct train_settings *train = check->train;
    if (train->overlong_buffer == 0)
        return;
    if (!train->max_tokens.given)
        settings_refuse(
            check->errors, check->settings, "train.overlong_buffer",
            "train.overlong_buffer: train.max_tokens is auto, and there is no most that "
            "it could end at; set train.max_tokens");
    else if (train->overlong_buffer > train->max_tokens.value)
        settings_refuse(check->errors, check->settings, "train.overlong_buffer",
                        "train.overlong_buffer: %lld tokens are more than train.max_tokens, %lld",
                        (long long)train->overlong_buffer, (long long)train->max_tokens.value);
}

/* Settings that only some others read. */
static void check_unread(const struct check *check, const struct train_config *config)
{
    const struct train_settings *train = check->train;
    if (train->order_low > train->order_high)
        settings_refuse(check->errors, check->settings, "train.order_low",
                        "train.order_low: %g is above train.order_high, %g", train->order_low,
                        train->order_high);
    if (train->critic > 0 && config->method.estimator->baseline != RL_BASELINE_CRITIC)
        settings_refuse(check->errors, check->settings, "train.critic",
                        "train.critic: %s has no critic; take train.estimator=egae or gae, or "
                        "leave it out",
                        config->method.estimator->name);
}

static void check_all(const struct check *check, const struct train_config *config)
{
    if (check->train->backend == TRAIN_TINKER)
        check_tinker(check, config);
    check_method(check, &config->method);
    if (check->train->steps > 0)
        check_plan(check, &config->method);
    check_loss(check, config);
    check_kl(check);
    check_unread(check, config);
    check_composed(check, config);
    check_overlong(check);
    check_carry(check);
    if (!check->train->rescore)
        check_unscored(check, &config->method);
    if (config->method.importance != RL_NO_LEVEL && check->train->ratio != TRAIN_RATIO_TRAINED)
        settings_refuse(check->errors, check->settings, "train.importance",
                        "train.importance: with train.ratio sampled the loss's own ratio is an "
                        "importance weight, and tokens would be weighed twice; set train.ratio to "
                        "trained");
}

void train_config_check(const struct settings *settings, struct setting_errors *errors)
{
    const struct check check = {settings, train_settings(settings), errors};
    struct train_config config;
    take_all(&config, settings);
    check_all(&check, &config);
}

/* What a run needs, and other commands do not. */
static void check_needed(const struct check *check)
{
    const struct train_settings *train = check->train;
    bool tinker = train->backend == TRAIN_TINKER;
    if (!train->model[0])
        settings_refuse(check->errors, check->settings, "train.model",
                        "train.model: name the model to train (%s)",
                        tinker ? "as the service calls it" : "a directory");
    if (tinker && !train->tokenizer[0] && train->model[0] && !file_is_directory(train->model))
        settings_refuse(check->errors, check->settings, "train.tokenizer",
                        "train.tokenizer: name the directory of the model's tokenizer; the "
                        "service has none to give");
    if (train->steps == 0 && !train->sft_data[0])
        settings_refuse(check->errors, check->settings, "train.steps",
                        "train.steps is 0 and train.sft_data is none: there is nothing to do");
    if (train->steps > 0 && !train->problems[0])
        settings_refuse(check->errors, check->settings, "train.problems",
                        "train.problems: name the problems to train on (ids, native, level1, all, "
                        "@FILE)");
}

void train_config_check_run(const struct settings *settings, struct setting_errors *errors)
{
    const struct check check = {settings, train_settings(settings), errors};
    check_needed(&check);
}

int train_config_read(struct train_config *config, const struct settings *settings, struct err *err)
{
    struct setting_errors errors = {0};
    const struct check check = {settings, train_settings(settings), &errors};
    take_all(config, settings);
    check_all(&check, config);
    check_needed(&check);
    int result = setting_errors_first(&errors, err);
    setting_errors_deinit(&errors);
    return result == 0 ? rl_method_check(&config->method, err) : result;
}

json_t *train_config_episode(const struct train_config *config, const struct settings *settings,
                             const char *reward)
{
    json_t *episode = json_object();
    json_put(episode, "reward", json_text(reward));
    json_put(episode, "gamma", json_number(config->method.returns.gamma));
    json_put(episode, "evaluation", json_pack("{s:b}", "timing", train_settings(settings)->timing));
    return episode;
}
