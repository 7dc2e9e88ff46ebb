/* From rollouts to rows, datums and calls of a training backend: what stands where, and what is
 * left out. */
#include "rl/train/train_step.h"

#include "../support/fake_train_backend.h"
#include "../support/test.h"

#define ROLLOUTS 4
#define TURNS 2
#define PROMPT 3

/* Two tasks, two samples each: a turn's answer has 1 + task + sample + turn tokens, 10 · (turn + 1)
 * and on. Rewards as given; NAN: excluded. */
static struct world {
    struct rl_rollout rollouts[ROLLOUTS];
    struct rl_turn turns[ROLLOUTS][TURNS];
    json_t *trajectory;
    struct train_backend backend;
    struct rl_method method;
    struct train_step step;
} world; /* of one test, or of a row */

static void fill_turn(struct rl_turn *turn, size_t tokens, size_t number, double reward)
{
    int32_t *ids = mem_alloc(PROMPT * sizeof *ids);
    for (size_t i = 0; i < PROMPT; i++)
        ids[i] = (int32_t)(100 + i);
    *turn = (struct rl_turn){.prompt = {.ids = ids, .count = PROMPT, .capacity = PROMPT},
                             .reward = isnan(reward) ? 0 : reward,
                             .excluded = isnan(reward),
                             .correct = reward > 0,
                             .speedup = NAN,
                             .coverage = NAN};
    turn->answer.count = tokens;
    turn->answer.tokens = mem_alloc((tokens + 1) * sizeof(int32_t));
    turn->answer.logprobs = mem_alloc((tokens + 1) * sizeof(float));
    for (size_t i = 0; i < tokens; i++) {
        turn->answer.tokens[i] = (int32_t)(10 * (number + 1) + i);
        turn->answer.logprobs[i] = -0.5F;
    }
}

FIXTURE(end)
{
    train_step_deinit(&world.step);
    for (size_t i = 0; i < ROLLOUTS; i++)
        for (size_t t = 0; t < TURNS; t++) {
            tokens_deinit(&world.turns[i][t].prompt);
            train_backend_answer_deinit(&world.turns[i][t].answer);
        }
    json_decref(world.trajectory);
    world = (struct world){0};
    return 0;
}
TEST_EACH(NULL, end);

static void begin(const double rewards[ROLLOUTS][TURNS], size_t substeps)
{
    struct err err = {0};
    end(NULL);
    world = (struct world){.trajectory = json_object(), .backend = {.norm = 2, .loss = -1}};
    assert_ok(rl_method_preset("trloo", &world.method, &err), &err);
    assert_ok(rl_method_check(&world.method, &err), &err);
    world.method.normalisation.aggregation = RL_SEQ_SUM;
    for (size_t i = 0; i < ROLLOUTS; i++) {
        world.rollouts[i] = (struct rl_rollout){.problem = "p",
                                                .task = i / 2,
                                                .sample = i % 2,
                                                .turns = world.turns[i],
                                                .count = TURNS,
                                                .trajectory = world.trajectory};
        for (size_t t = 0; t < TURNS; t++)
            fill_turn(&world.turns[i][t], 1 + i / 2 + i % 2 + t, t, rewards[i][t]);
    }
    const struct train_step_options options = {.method = &world.method,
                                               .loss = loss_find("importance_sampling"),
                                               .config = loss_config_defaults,
                                               .samples = 2,
                                               .substeps = substeps,
                                               .seed = 1};
    train_step_init(&world.step, &options);
}

static void weigh(size_t rollouts)
{
    struct err err = {0};
    struct train_step *step = &world.step;
    assert_ok(train_step_gather(step, world.rollouts, rollouts, &err), &err);
    assert_ok(train_step_score(step, &world.backend, &err), &err);
    train_step_reject(step);
    assert_ok(train_step_weigh(step, 0, &err), &err);
}

static const double mixed[ROLLOUTS][TURNS] = {{1, 0.5}, {0, 1}, {0.5, NAN}, {0, 0}};

TEST(rows)
{
    begin(mixed, 1);
    world.rollouts[1].trajectory = NULL; /* was not played to its end */
    weigh(ROLLOUTS);
    const struct rl_batch *batch = &world.step.batch;
    assert_int_equal(batch->rows, 6);
    const struct {
        uint32_t prompt, rollout, turn;
        size_t tokens;
        double reward;
        bool excluded;
    } rows[6] = {{0, 0, 0, 1, 1, false}, {0, 0, 1, 2, 0.5, false}, {1, 2, 0, 2, 0.5, false},
                 {1, 2, 1, 3, 0, true},  {1, 3, 0, 3, 0, false},   {1, 3, 1, 4, 0, false}};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(batch->prompt[i], rows[i].prompt);
        assert_int_equal(batch->rollout[i], rows[i].rollout);
        assert_int_equal(batch->turn[i], rows[i].turn);
        assert_int_equal(batch->first[i + 1] - batch->first[i], rows[i].tokens);
        assert_true(batch->reward[i] == rows[i].reward);
        assert_int_equal(!!(batch->drop[i] & RL_EXCLUDED), rows[i].excluded);
    }
    /* The trainer's log-probabilities are those of the answer's own tokens. */
    for (size_t row = 0; row < 6; row++)
        for (size_t k = batch->first[row]; k < batch->first[row + 1]; k++) {
            double token = 10 * (batch->turn[row] + 1) + (double)(k - batch->first[row]);
            assert_true(fabs((double)batch->trained[k] + token / 100) < 1e-6);
            assert_true(batch->sampled[k] == -0.5F);
        }
}

TEST(datum)
{
    begin(mixed, 1);
    weigh(ROLLOUTS);
    const struct train_step *step = &world.step;
    size_t with = 0;
    for (size_t row = 0; row < step->batch.rows; row++)
        with += step->batch.advantage[row] != 0;
    assert_true(with > 0 && with < step->batch.rows);
    assert_int_equal(step->datum_count, with);
    /* The first: prompt 100 101 102, answer 10: two rows see the prompt, the third says 10. */
    const struct lm_datum *datum = &step->datums[0];
    assert_int_equal(datum->count, PROMPT + 1 - 1);
    const int32_t tokens[PROMPT] = {100, 101, 102}, targets[PROMPT] = {101, 102, 10};
    for (size_t i = 0; i < PROMPT; i++) {
        assert_int_equal(datum->tokens[i], tokens[i]);
        assert_int_equal(datum->targets[i], targets[i]);
        assert_true(i == 2 ? datum->sampled[i] == -0.5F : isnan(datum->sampled[i]));
        assert_true(i == 2 ? (double)datum->advantages[i] == step->batch.advantage[0]
                           : datum->advantages[i] == 0);
    }
}

TEST(ratio_against_the_trainer)
{
    begin(mixed, 1);
    world.step.options.ratio_trained = true;
    weigh(ROLLOUTS);
    assert_true(fabs((double)world.step.datums[0].sampled[2] + 0.1) < 1e-6);
}

/* What comes in a second round is scored alone; what was there keeps its place. */
TEST(rounds)
{
    begin(mixed, 1);
    weigh(2);
    size_t tokens = world.step.batch.tokens;
    assert_int_equal(train_step_gather(&world.step, world.rollouts + 2, 2, NULL), 0);
    assert_int_equal(train_step_score(&world.step, &world.backend, NULL), 0);
    assert_int_equal(world.backend.forward_count, 2);
    assert_int_equal(world.backend.forwarded[0], 4);
    assert_int_equal(world.backend.forwarded[1], 4);
    assert_true(world.step.batch.tokens > tokens);
    for (size_t k = 0; k < world.step.batch.tokens; k++)
        assert_true(world.step.batch.trained[k] < 0);
}

TEST(without_scores)
{
    begin(mixed, 1);
    assert_int_equal(train_step_gather(&world.step, world.rollouts, ROLLOUTS, NULL), 0);
    assert_int_equal(train_step_score(&world.step, NULL, NULL), 0);
    for (size_t k = 0; k < world.step.batch.tokens; k++)
        assert_true(world.step.batch.trained[k] == -0.5F);
}

TEST(penalty)
{
    static const double alike[ROLLOUTS][TURNS] = {{1, 1}, {0, 0}, {1, 0}, {0, 1}};
    const struct train_step *step = &world.step;
    struct err err = {0};
    double plain[ROLLOUTS * TURNS * (ROLLOUTS + TURNS)], sum = 0, most = 0;
    begin(alike, 1);
    weigh(ROLLOUTS);
    assert_true(isnan(step->kl) && step->batch.tokens <= COUNT(plain));
    memcpy(plain, step->advantage, step->batch.tokens * sizeof *plain);
    begin(alike, 1);
    world.step.options.kl = 0.1;
    assert_ok(train_step_gather(&world.step, world.rollouts, ROLLOUTS, &err), &err);
    assert_ok(train_step_score(&world.step, &world.backend, &err), &err);
    assert_ok(train_step_score_base(&world.step, &world.backend, &err), &err);
    train_step_reject(&world.step);
    assert_ok(train_step_weigh(&world.step, 0, &err), &err);
    for (size_t k = 0; k < step->batch.tokens; k++) {
        double more = step->advantage[k] - plain[k];
        sum += more;
        most = fmax(most, fabs(more));
    }
    assert_true(most > 1e-6 && fabs(sum) < 1e-9); /* mean d - d, over all tokens */
    assert_true(isfinite(step->kl));
}

TEST(substeps)
{
    static const struct {
        size_t substeps, calls;
        size_t counts[4];
    } rows[] = {{1, 1, {8}}, {2, 2, {4, 4}}, {3, 3, {2, 3, 3}}, {100, 8, {1, 1, 1, 1}}};
    static const double different[ROLLOUTS][TURNS] = {{1, 0}, {0, 2}, {2, 0}, {0, 0.5}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct train_step_result trained;
        begin(different, rows[i].substeps);
        weigh(ROLLOUTS);
        assert_int_equal(world.step.datum_count, 8);
        assert_int_equal(train_step_update(&world.step, &world.backend, &lm_adam_defaults, NULL,
                                           &trained, NULL),
                         0);
        assert_int_equal(world.backend.backward_count, rows[i].calls);
        assert_int_equal(world.backend.steps, rows[i].calls);
        assert_int_equal(trained.changes, rows[i].calls);
        for (size_t k = 0; k < rows[i].calls && k < 4; k++)
            assert_int_equal(world.backend.backwarded[k], rows[i].counts[k]);
        assert_true(trained.sums.loss == -(double)rows[i].calls && trained.norm == 2);
    }
}

/* Each part of a mean is a mean; parts of a sum are parts of it. */
TEST(scale_of_parts)
{
    static const struct {
        enum rl_aggregation aggregation;
        size_t substeps;
        double scale;
    } rows[] = {{RL_SEQ_SUM, 2, 1},
                {RL_TOKEN_MEAN, 1, 1},
                {RL_TOKEN_MEAN, 2, 2},
                {RL_TOKEN_MEAN, 100, 8},
                {RL_SEQ_MEAN_TOKEN_SUM, 4, 4}};
    static const double different[ROLLOUTS][TURNS] = {{1, 0}, {0, 2}, {2, 0}, {0, 0.5}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct train_step_result trained;
        const struct train_step *step = &world.step;
        double all = 0, sum = 0, weights = 0, weight = 0;
        begin(different, rows[i].substeps);
        world.method.normalisation.aggregation = rows[i].aggregation;
        weigh(ROLLOUTS);
        for (size_t k = 0; k < step->batch.tokens; k++)
            sum += fabs(step->advantage[k]), weight += step->weight[k];
        for (size_t d = 0; d < step->datum_count; d++)
            for (size_t k = 0; k < step->datums[d].count; k++)
                all += fabs((double)step->datums[d].advantages[k]),
                    weights += (double)step->datums[d].weights[k];
        assert_true(sum > 0 && fabs(all / sum - rows[i].scale) < 1e-6);
        assert_true(weight > 0 && fabs(weights / weight - rows[i].scale) < 1e-6);
        assert_int_equal(train_step_update(&world.step, &world.backend, &lm_adam_defaults, NULL,
                                           &trained, NULL),
                         0);
        assert_true(trained.begun && trained.sums.loss == -(double)trained.changes / rows[i].scale);
    }
}

TEST(what_ends_it)
{
    static const struct {
        enum train_backend_kind kind;
        double loss, norm;
        int step_result, result;
        bool cancelled, not_finite;
        size_t changes;
    } rows[] = {
        {TRAIN_ENGINE, -1, 1, 0, 0, false, false, 2},
        {TRAIN_ENGINE, -1, 1, 0, ERR_CANCELLED, true, false, 0},
        {TRAIN_ENGINE, NAN, NAN, ERR_INPUT, 0, false, true, 0},
        {TRAIN_ENGINE, INFINITY, 1, 0, 0, false, true, 0},
        {TRAIN_ENGINE, -1, INFINITY, ERR_INPUT, 0, false, true, 0},
        {TRAIN_ENGINE, -1, 1, ERR_INPUT, ERR_INPUT, false, false, 0},
        {TRAIN_ENGINE, -1, 1, ERR_IO, ERR_IO, false, false, 0},
        {TRAIN_TINKER, NAN, NAN, 0, ERR_INPUT, false, true, 0},
        {TRAIN_TINKER, -1, NAN, 0, 0, false, false, 2},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct train_step_result trained;
        const _Atomic int cancelled = rows[i].cancelled;
        begin(mixed, 2);
        world.backend.kind = rows[i].kind;
        world.backend.loss = rows[i].loss;
        world.backend.norm = rows[i].norm;
        world.backend.step_result = rows[i].step_result;
        weigh(ROLLOUTS);
        assert_int_equal(train_step_update(&world.step, &world.backend, &lm_adam_defaults,
                                           &cancelled, &trained, NULL),
                         rows[i].result);
        assert_int_equal(trained.not_finite, rows[i].not_finite);
        assert_int_equal(trained.changes, rows[i].changes);
        assert_int_equal(trained.begun, !rows[i].cancelled);
    }
}

static double metric(const json_t *metrics, const char *name)
{
    const json_t *value = json_object_get(metrics, name);
    if (!json_is_number(value))
        fail_msg("%s is missing", name);
    return json_number_value(value);
}

TEST(metrics)
{
    static const struct {
        const char *name;
        double value;
    } rows[] = {
        {"reward/mean", 3. / 7},         {"reward/max", 1},
        {"kernel/correct_rate", 4. / 7}, {"count/correct", 4},
        {"batch/total_steps", 8},        {"batch/excluded", 1},
        {"batch/num_trajectories", 4},   {"multiturn/success_rate", 0.75},
        {"multiturn/avg_turns", 2},      {"multiturn/turn_1/correct_rate", 0.5},
        {"batch/num_groups", 2},         {"policy/entropy", 0.5},
        {"batch/answer_tokens_max", 4},  {"level/3/correct_rate", 1. / 3},
        {"level/3/compile_rate", 0},     {"level/3/reward_mean", 0.5 / 3},
    };
    begin(mixed, 1);
    world.rollouts[0].problem = "level10/1"; /* none of a level that is known */
    world.rollouts[2].problem = "level3/17";
    world.rollouts[3].problem = "level3/18";
    weigh(ROLLOUTS);
    json_t *metrics = json_object();
    train_step_measure(&world.step, metrics);
    for (size_t i = 0; i < COUNT(rows); i++)
        if (fabs(metric(metrics, rows[i].name) - rows[i].value) > 1e-9)
            fail_msg("%s is %g", rows[i].name, metric(metrics, rows[i].name));
    assert_null(json_object_get(metrics, "level/1/correct_rate"));
    assert_true(metric(metrics, "mismatch/mismatch_kl") < 0); /* trained ones are likelier */
    json_decref(metrics);
}
