/* Settings as methods: each row binds to its field, bad words are named, and what lies in configs/
 * can be. */
#include "rl/train/config.h"

#include "../support/setting_pairs.h"
#include "../support/test.h"
#include "rl/train/stage.h"
#include "rl/train/train_settings.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>

/* What the pairs of a test, or of a row, are read into. */
static struct settings settings;
static struct train_config config;
static struct err err;

FIXTURE(forget)
{
    settings_deinit(&settings);
    settings_init(&settings);
    config = (struct train_config){0};
    err = (struct err){0};
    return 0;
}
TEST_EACH(forget, forget);

static int read(const char *pairs)
{
    forget(NULL);
    assert_ok(setting_pairs_assign(&settings, "train.model=m train.problems=relu", &err), &err);
    int result = setting_pairs_assign(&settings, pairs, &err);
    return result < 0 ? result : train_config_read(&config, &settings, &err);
}

#define SAME(field, value)                                                                         \
    do {                                                                                           \
        if ((field) != (value))                                                                    \
            fail_msg("%s is not %s", #field, #value);                                              \
    } while (0)

TEST(standard)
{
    struct rl_method standard = {0};
    assert_ok(read(""), &err);
    assert_ok(rl_method_preset("trloo", &standard, &err), &err);
    assert_ok(rl_method_check(&standard, &err), &err);
    SAME(config.method.estimator, standard.estimator);
    SAME(config.method.returns.rule, standard.returns.rule);
    SAME(config.method.returns.gamma, standard.returns.gamma);
    SAME(config.method.bounds.upper, standard.bounds.upper);
    SAME(config.method.bounds.lower, standard.bounds.lower);
    SAME(config.method.normalisation.aggregation, standard.normalisation.aggregation);
    SAME(config.method.filter.kind, standard.filter.kind);
    SAME(config.method.rejected_stay, false);
    assert_true(isnan(config.method.coverage.speedup_threshold));
    assert_string_equal(config.loss->name, "importance_sampling");
    assert_true(isnan(config.loss_config.clip_low) && isnan(config.loss_config.dual_clip));
    SAME(config.adam.rate, 1e-5);
    SAME(config.sampling.temperature, 1);
    SAME(config.evaluation.temperature, 0);
}

static const char all_pairs[] =
    "train.method=grpo train.estimator=erloo train.returns=max gym.gamma=0.5 "
    "train.shaping=residual train.void_turns=mask train.failed_turns=mask train.unjudged=zero "
    "train.bounds_level=turn train.bounds_lower=0.25 train.bounds_upper=3 train.veto=0.001 "
    "train.veto_unit=rollout train.coverage=rollout train.coverage_threshold=0.2 "
    "train.coverage_factor=0.05 train.coverage_turns=every train.coverage_unknown=zero "
    "train.coverage_speedup=1.5 train.coverage_rewards=pay train.rejected_turns=stay "
    "train.filter_values=rewards train.pad_rows=17 train.filter=last_turn "
    "train.filter_deviation=0.01 train.filter_rollouts=3 train.importance=sequence "
    "train.importance_upper=5 train.aggregation=token-mean train.scale=7 train.nominal_rows=11 "
    "train.nominal_tokens=13 train.singleton=zero train.loss=ppo train.clip_low=0.7 "
    "train.clip_high=1.4 train.dual_clip=3 train.ratio=trained train.schedule=linear "
    "train.sft_schedule=constant train.measure=fast_1 train.lora_rank=8 "
    "train.evaluate_top_p=0.9 train.entropy=0.01 train.energy=tokens "
    "train.energy_importance=squared train.token_gamma=0.9 train.token_lambda=0.8 "
    "train.reweigh=both train.standardise=on train.success_bonus=0.5 "
    "train.failure_penalty=0.25 train.normalise_returns=on train.gate_shift=0.01 "
    "train.gate_instability=15 train.surplus=weighted train.oversample=1.5 "
    "train.oversample_prompts=1.25 train.max_tokens_later=10:100,20:200 train.kl=0.1 "
    "train.kl_target=0.02";

TEST(fields)
{
    assert_ok(read(all_pairs), &err);
    const struct rl_method *method = &config.method;
    assert_string_equal(method->estimator->name, "erloo");
    assert_string_equal(method->returns.rule->name, "max");
    SAME(method->returns.gamma, 0.5);
    SAME(method->returns.shaping, RL_RESIDUAL);
    SAME(method->mask_void, true);
    SAME(method->mask_failed, true);
    SAME(method->unjudged_zero, true);
    SAME(method->bounds.level, RL_TURN);
    SAME(method->bounds.lower, 0.25);
    SAME(method->bounds.upper, 3);
    SAME(method->bounds.veto, 0.001);
    SAME(method->bounds.veto_rollout, true);
    SAME(method->coverage.enabled, true);
    SAME(method->coverage.rollout, true);
    SAME(method->coverage.every_turn, true);
    SAME(method->coverage.unknown_zero, true);
    SAME(method->coverage.speedup_threshold, 1.5);
    SAME(method->lazy_paid, true);
    SAME(method->rejected_stay, true);
    SAME(method->filter_rewards, true);
    SAME(method->normalisation.pad_rows, 17);
    SAME(method->coverage.threshold, 0.2);
    SAME(method->coverage.factor, 0.05);
    SAME(method->filter.kind, RL_FILTER_LAST_TURN);
    SAME(method->filter.deviation, 0.01);
    SAME(method->filter.rollouts_least, 3);
    SAME(method->importance, RL_SEQUENCE);
    SAME(method->advantage.energy, RL_ENERGY_TOKENS);
    SAME(method->advantage.energy_importance, true);
    SAME(method->advantage.gamma, 0.9);
    SAME(method->advantage.lambda, 0.8);
    SAME(method->reweighing, RL_REWEIGH_BOTH);
    SAME(method->standardise, true);
    SAME(method->returns.bonus, 0.5);
    SAME(method->returns.penalty, 0.25);
    SAME(method->returns.normalise, true);
    SAME(method->gates.shift, 0.01);
    SAME(method->gates.instability, 15);
    SAME(method->selection, RL_SELECT_WEIGHTED);
    SAME(method->rollouts, 8); /* of 12 */
    SAME(config.episodes, 12);
    SAME(config.problems, 10);
    SAME(token_schedule_at(&config.max_tokens, 5, 9), 5);
    SAME(token_schedule_at(&config.max_tokens, 5, 10), 100);
    SAME(token_schedule_at(&config.max_tokens, 5, 99), 200);
    SAME(method->importance_upper, 5);
    SAME(method->normalisation.aggregation, RL_TOKEN_MEAN);
    SAME(method->normalisation.scale, 7);
    SAME(method->normalisation.nominal_rows, 11);
    SAME(method->normalisation.nominal_tokens, 13);
    SAME(method->advantage.singleton_zero, true);
    assert_string_equal(config.loss->name, "ppo");
    SAME(config.loss_config.clip_low, 0.7);
    SAME(config.loss_config.clip_high, 1.4);
    SAME(config.loss_config.dual_clip, 3);
    SAME(config.loss_config.entropy, 0.01);
    SAME(train_settings(&settings)->ratio, TRAIN_RATIO_TRAINED);
    SAME(train_settings(&settings)->schedule, LM_LINEAR);
    SAME(train_settings(&settings)->sft_schedule, LM_CONSTANT);
    SAME(train_settings(&settings)->measure, TRAIN_FAST_1);
    SAME(config.backend.lora_rank, 8);
    SAME(config.evaluation.top_p, 0.9);
}

/* What of the release's preset goes by the size of a step. */
TEST(plan)
{
    static const char pairs[] =
        "train.method=drkernel_original train.prompts=4 train.samples=6 gym.turns=2";
    assert_ok(read(pairs), &err);
    SAME(config.method.filter.rollouts_least, 4);
    SAME(config.method.normalisation.nominal_rows, 48);
}

/* 0 is a value, not the method's. */
TEST(off)
{
    static const char pairs[] =
        "train.method=drkernel train.veto=0 train.coverage=off train.bounds_lower=0";
    assert_ok(read(pairs), &err);
    SAME(config.method.bounds.veto, 0);
    SAME(config.method.coverage.enabled, false);
    SAME(config.method.bounds.lower, 1 / 1.001); /* of the preset's upper bound */
    SAME(config.method.normalisation.scale, 1000);
}

/* The penalty is against the sampler's own log-probabilities. */
TEST(unscored)
{
    static const char pairs[] = "train.kl=0.1 train.rescore=false";
    assert_ok(read(pairs), &err);
    SAME(config.method.bounds.level, RL_NO_LEVEL);
}

TEST(refused)
{
    static const struct {
        const char *pairs, *complaint;
    } rows[] = {
        {"train.method=trlo", "train.method: unknown value 'trlo'; did you mean 'trloo'?"},
        {"train.estimator=grpo_sdt",
         "train.estimator: unknown value 'grpo_sdt'; did you mean 'grpo_std'?"},
        {"train.estimator=optimal_baseline train.backend=tinker train.tokenizer=t",
         "only the engine has"},
        {"train.estimator=turn_optimal_baseline train.rescore=false", "with train.rescore"},
        {"train.reweigh=prompts train.rescore=false",
         "train.reweigh: prompts needs the whole distribution"},
        {"train.gate_instability=15 train.rescore=false",
         "train.gate_instability: the distribution"},
        {"train.gate_shift=0.01 train.rescore=false", "train.gate_shift has nothing to compare"},
        {"train.kl_target=0.01", "train.kl_target: train.kl is 0"},
        {"train.max_tokens_later=10", "train.max_tokens_later: '10' is not STEP:TOKENS"},
        {"train.max_tokens_later=10:0", "is not STEP:TOKENS"},
        {"train.max_tokens_later=10:5,", "is not STEP:TOKENS"},
        {"train.max_tokens_later=10:5,10:6", "each step must be above the one before"},
        {"train.critic=0.1", "train.critic: trloo has no critic"},
        {"train.order_low=0.5 train.order_high=0.4", "train.order_low: 0.5 is above"},
        {"train.order=hard", "choose one of shuffled, priority, moderate, target"},
        {"train.ratio_level=turn train.loss=cispo",
         "train.ratio_level: cispo has no ratio of a turn"},
        {"train.ratio_level=turn train.loss=ppo train.entropy=0.1", "leave one of them out"},
        {"train.kl_in=loss", "train.kl_in: train.kl is 0"},
        {"train.overlong_buffer=10 train.max_tokens=auto", "set train.max_tokens"},
        {"train.overlong_buffer=10 train.max_tokens=9", "10 tokens are more than"},
        {"train.epochs=0", "train.epochs: '0' is outside 1 to 1000"},
        {"train.carry=true", "train.carry: with train.staleness=0 nothing is played"},
        {"train.carry=true train.staleness=1 train.rounds=2", "leave one of them out"},
        {"train.staleness=65", "train.staleness: '65' is outside 0 to 64"},
        {"train.oversample=0.5", "train.oversample: '0.5' is outside 1 to 64"},
        {"train.surplus=best", "choose one of auto, random, efficient, weighted"},
        {"train.energy=token", "did you mean 'tokens'?"},
        {"train.token_lambda=1.5", "train.token_lambda: '1.5' is outside 0 to 1"},
        {"train.returns=min",
         "train.returns: unknown value 'min'; choose one of auto, sum, max, final, turn"},
        {"train.bounds_level=tokens", "did you mean 'token'?"},
        {"train.importance=geometric", "not 'geometric'"},
        {"train.importance=token", "tokens would be weighed twice"},
        {"train.aggregation=mean",
         "train.aggregation: unknown value 'mean'; choose one of auto, token-mean"},
        {"train.void_turns=yes",
         "train.void_turns: unknown value 'yes'; choose one of auto, keep, mask"},
        {"train.loss=cross_entropy", "train.loss: unknown value 'cross_entropy'"},
        {"train.clip_low=0.5", "train.loss"},
        {"train.loss=ppo train.clip_low=0.9 train.clip_high=0.8", "train.loss"},
        {"train.loss=cispo train.dual_clip=3", "train.loss"},
        {"train.bounds_level=token train.bounds_lower=0.9 train.bounds_upper=0.8",
         "train.bounds_lower: "},
        {"train.shaping=residual_unbiased", "lower gamma"},
        {"train.schedule=cosin", "train.schedule: unknown value 'cosin'; did you mean 'cosine'?"},
        {"train.measure=speed",
         "train.measure: unknown value 'speed'; choose one of correct, fast_1, return"},
        {"train.backend=skyrl",
         "train.backend: unknown value 'skyrl'; choose one of engine, tinker"},
        {"train.backend=tinker", "train.tokenizer: name the directory"},
        {"train.backend=tinker train.entropy=0.1 train.tokenizer=t", "train.entropy"},
        {"train.model=", "train.model: name the model"},
        {"train.problems=", "train.problems: name the problems"},
        {"train.steps=0", "there is nothing to do"},
        {"train.unjudged=keep",
         "train.unjudged: unknown value 'keep'; choose one of auto, leave, zero"},
        {"train.rejected_turns=sty", "did you mean 'stay'?"},
        {"gym.gamma=-0.5", "gym.gamma: '-0.5' is outside 0 to 1"},
        {"train.veto=-0.001", "train.veto: '-0.001' is outside 0 to 1"},
        {"train.loss=ppo train.clip_low=-0.2", "train.clip_low: '-0.2' is outside"},
        {"train.loss=cispo train.clip_high=-0.28", "train.clip_high: '-0.28' is outside"},
        {"train.loss=dro train.dro_beta=-0.5", "train.dro_beta: '-0.5' is outside"},
        {"train.scale=0", "the loss's scale must be above 0, not 0"},
        {"train.bounds_level=turn train.bounds_upper=0", "the ratio's upper bound must be above 0"},
        {"train.veto=1", "the veto's ratio must be from 0 (none) to below 1, not 1"},
        /* Steps that teach nothing. */
        {"train.samples=1", "train.samples: the only answer to a problem has no other"},
        {"train.samples=1 train.estimator=rloo", "take 2 or more"},
        {"train.samples=1 train.estimator=erloo gym.turns=1", "take 2 or more"},
        {"train.samples=1 train.estimator=return train.filter=last_turn", "take 2 or more"},
        {"train.samples=1 train.filter=none train.singleton=zero", "teaches nothing"},
        {"train.samples=4 train.filter_rollouts=5",
         "train.filter_rollouts: 5 usable episodes of each problem are needed, and train.samples "
         "is 4"},
        {"train.method=drkernel train.rescore=false", "train.bounds_level has nothing to compare"},
        {"train.veto=0.1 train.rescore=false", "train.veto has nothing to compare"},
        {"train.guard_kl=0.1 train.rescore=false", "train.guard_kl has nothing to compare"},
        {"train.ratio=trained train.rescore=false", "train.ratio=trained has nothing"},
        /* What no setting can be, whatever the method. */
        {"gym.gamma=2", "gym.gamma: '2' is outside 0 to 1"},
        {"gym.gamma=nan", "gym.gamma: 'nan' is not"},
        {"train.samples=0", "train.samples: '0' is outside 1 to 65536"},
        {"train.prompts=-1", "train.prompts: '-1' is outside 1 to 65536"},
        {"train.samples=1.5", "train.samples: '1.5' is not a whole number"},
        {"train.clip_low=-2", "train.clip_low: '-2' is outside 0 to 1"},
        {"train.clip_high=inf", "train.clip_high: 'inf' is not"},
        {"train.substeps=0", "train.substeps: '0' is outside 1 to 4096"},
        {"train.coverage_threshold=1.5", "train.coverage_threshold: '1.5' is outside 0 to 1"},
        {"train.scale=99999999999", "train.scale"},
        {"train.rate=-1", "train.rate: '-1' is outside 0 to 1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int result = read(rows[i].pairs);
        if (result != ERR_INPUT || !strstr(err.text, rows[i].complaint))
            fail_msg("%s: %d %s", rows[i].pairs, result, err.text);
    }
}

/* What one answer a problem can be learned from with. */
TEST(single_samples)
{
    static const char *const rows[] = {
        "train.samples=1 train.filter=none",
        "train.samples=1 train.estimator=return",
        "train.samples=1 train.estimator=reinforce",
        "train.samples=1 train.estimator=reinforce_plus_plus",
        "train.samples=1 train.estimator=remax",
        "train.samples=1 train.estimator=erloo gym.turns=4",
        "train.samples=1 train.steps=0 train.sft_data=d.jsonl",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (read(rows[i]) < 0)
            fail_msg("%s: %s", rows[i], err.text);
    }
}

TEST(configs)
{
    glob_t found;
    assert_int_equal(glob("configs/*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 5);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stages stages;
        forget(NULL);
        if (settings_read_file(&settings, found.gl_pathv[i], &err) < 0 ||
            settings_check(&settings, &err) < 0 ||
            train_config_read(&config, &settings, &err) < 0 ||
            stages_open(&stages, train_settings(&settings)->stages, 3, &err) < 0)
            fail_msg("%s: %s", found.gl_pathv[i], err.text);
        stages_close(&stages);
    }
    globfree(&found);
}
