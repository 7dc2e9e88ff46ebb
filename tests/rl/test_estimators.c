/* Each estimator that a run can choose, from settings to the gradients of a real (tiny) model: two
 * problems, three episodes each, of one or two turns. */
#include "rl/train/config.h"
#include "rl/train/train_step.h"

#include "../support/learned.h"
#include "../support/scratch.h"
#include "../support/setting_pairs.h"
#include "../support/test.h"
#include "../support/tiny_lm.h"

#include <math.h>
#include <stdio.h>

#define ROLLOUTS 6
#define TURNS 2
#define CONTEXT 64
#define ANSWER 5

struct world {
    struct train_backend *backend;
    struct rl_rollout rollouts[ROLLOUTS + 2]; /* and each problem's greedy one */
    struct rl_turn turns[ROLLOUTS][TURNS];
    json_t *trajectory;
};

static void rl_turn(struct world *world, size_t rollout, size_t turn, double reward)
{
    struct rl_turn *to = &world->turns[rollout][turn];
    const struct train_backend_sampling sampling = {.max_tokens = ANSWER,
                                                    .temperature = 1,
                                                    .top_p = 1,
                                                    .seed = 10 * rollout + turn};
    json_t *messages = json_pack("[{s:s, s:s}]", "role", "user", "content", "the question");
    struct err err = {0};
    *to = (struct rl_turn){.reward = reward, .correct = reward > 0, .speedup = NAN, .coverage = 1};
    assert_ok(train_backend_prompt(world->backend, messages, true, &to->prompt, &err), &err);
    assert_ok(train_backend_sample(world->backend, &to->prompt, &sampling, &to->answer, &err),
              &err);
    json_decref(messages);
}

FIXTURE(begin)
{
    /* NAN: the episode was over. All three of a problem have a first turn, two a second one. */
    static const double rewards[ROLLOUTS][TURNS] = {{1, NAN},  {0, 2},   {0.5, 0},
                                                    {0, 0.25}, {0, NAN}, {1.5, 1}};
    struct world *world = mem_alloc(sizeof *world);
    struct err err = {0};
    if (learned_begin(state) < 0)
        return -1;
    tiny_lm_write(scratch_path(""), tokenizer_size(learned), CONTEXT);
    const struct train_backend_options options = {.kind = TRAIN_ENGINE,
                                                  .model = scratch_path(""),
                                                  .seed = 3,
                                                  .context = CONTEXT,
                                                  .at_once = 4,
                                                  .device = "reference",
                                                  .threads = 1};
    assert_ok(train_backend_open(&world->backend, &options, &err), &err);
    world->trajectory = json_object();
    for (size_t i = 0; i < ROLLOUTS; i++) {
        struct rl_rollout *rollout = &world->rollouts[i];
        *rollout = (struct rl_rollout){.problem = "p",
                                       .task = i / 3,
                                       .sample = i % 3,
                                       .turns = world->turns[i],
                                       .trajectory = world->trajectory};
        for (size_t t = 0; t < TURNS && !isnan(rewards[i][t]); t++, rollout->count++)
            rl_turn(world, i, t, rewards[i][t]);
    }
    for (size_t task = 0; task < 2; task++) {
        struct rl_rollout *greedy = &world->rollouts[ROLLOUTS + task];
        *greedy = world->rollouts[3 * task + 1 - task]; /* last rewards of 2 and 0.25 */
        greedy->greedy = true;
    }
    *state = world;
    return 0;
}

FIXTURE(end)
{
    struct world *world = *state;
    for (size_t i = 0; i < ROLLOUTS; i++)
        for (size_t t = 0; t < world->rollouts[i].count; t++) {
            tokens_deinit(&world->turns[i][t].prompt);
            train_backend_answer_deinit(&world->turns[i][t].answer);
        }
    train_backend_close(world->backend);
    json_decref(world->trajectory);
    mem_free(world);
    return learned_end(state);
}

TEST_GROUP(begin, end);

/* Of a whole step, at a rate of 0: the next one meets the same weights. */
static struct train_step_result train(struct world *world, const char *pair)
{
    struct settings settings;
    struct train_config config;
    struct train_step step;
    struct train_step_result trained;
    struct err err = {0};
    settings_init(&settings);
    assert_ok(setting_pairs_assign(&settings,
                                   "train.model=m train.problems=p train.samples=3 train.rate=0",
                                   &err),
              &err);
    assert_ok(settings_assign(&settings, pair, &err), &err);
    assert_ok(train_config_read(&config, &settings, &err), &err);
    const struct train_step_options options = {.method = &config.method,
                                               .loss = config.loss,
                                               .config = config.loss_config,
                                               .ratio_trained = train_settings(&settings)->ratio ==
                                                                TRAIN_RATIO_TRAINED,
                                               .samples = 3,
                                               .substeps = 1};
    train_step_init(&step, &options);
    assert_ok(train_step_gather(&step, world->rollouts, ROLLOUTS + 2, &err), &err);
    assert_ok(train_step_score(&step, world->backend, &err), &err);
    train_step_reject(&step);
    assert_ok(train_step_weigh(&step, 0, &err), &err);
    assert_ok(train_step_update(&step, world->backend, &config.adam, NULL, &trained, &err), &err);
    assert_true(step.datum_count > 0);
    train_step_deinit(&step);
    settings_deinit(&settings);
    return trained;
}

static double norm_of(struct world *world, const char *pair)
{
    struct train_step_result trained = train(world, pair);
    if (trained.not_finite || trained.changes != 1 || !isfinite(trained.sums.loss) ||
        !isfinite(trained.norm) || !(trained.norm > 0))
        fail_msg("%s: loss %g, norm %g", pair, trained.sums.loss, trained.norm);
    return trained.norm;
}

TEST(every_estimator_trains)
{
    for (const struct rl_estimator *estimator = rl_estimators; estimator->name; estimator++) {
        char pair[64];
        snprintf(pair, sizeof pair, "train.estimator=%s", estimator->name);
        norm_of(*state, pair);
    }
}

TEST(every_method_and_rule_trains)
{
    for (size_t i = 0; word_at(&rl_method_words, i); i++) {
        char pair[64];
        snprintf(pair, sizeof pair, "train.method=%s", word_at(&rl_method_words, i));
        norm_of(*state, pair);
    }
    for (const struct rl_return_rule *rule = rl_return_rules; rule->name; rule++) {
        char pair[64];
        snprintf(pair, sizeof pair, "train.returns=%s", rule->name);
        norm_of(*state, pair);
    }
}

/* What turns of the first problem get: their last reward without the greedy one's. */
TEST(remax)
{
    const struct world *world = *state;
    struct rl_method method;
    struct train_step step;
    struct err err = {0};
    assert_ok(rl_method_preset("trloo", &method, &err), &err);
    method.estimator = rl_estimator("remax");
    const struct train_step_options options = {.method = &method,
                                               .loss = loss_find("importance_sampling"),
                                               .config = loss_config_defaults,
                                               .samples = 3,
                                               .substeps = 1};
    train_step_init(&step, &options);
    assert_ok(train_step_gather(&step, world->rollouts, ROLLOUTS + 2, &err), &err);
    assert_int_equal(step.rollout_count, ROLLOUTS);
    assert_ok(train_step_score(&step, NULL, &err), &err);
    train_step_reject(&step);
    assert_ok(train_step_weigh(&step, 0, &err), &err);
    const double wanted[] = {-1, 0, 0, -2, -2, 0, 0, -0.25, 0.75, 0.75};
    assert_int_equal(step.batch.rows, COUNT(wanted));
    for (size_t row = 0; row < step.batch.rows; row++)
        assert_true(fabs(step.batch.advantage[row] - wanted[row]) < 1e-9);
    train_step_deinit(&step);
}

/* Of first turns alone, where all groups have three members: N/(N-1) in the gradient itself. */
TEST(factor)
{
    double factor = norm_of(*state, "train.estimator=rloo") /
                    norm_of(*state, "train.estimator=grpo_last");
    assert_true(fabs(factor - 1.5) < 1e-4);
}
