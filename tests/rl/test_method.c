/* Whole methods: presets, the release worked out, and what is refused. The originals' defects, one
 * by one: test_defects.c. */
#include "rl/method/method.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>

TEST_EACH(NULL, rl_test_free);

#define ROWS 6
#define CLOSE 1e-9

static void preset(const char *name, struct rl_method *method)
{
    struct err err = {0};
    if (rl_method_preset(name, method, &err) < 0 || rl_method_check(method, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

struct row {
    size_t count;
    uint32_t turns[ROWS];
    double rewards[ROWS];
    double coverage[ROWS];  /* 0 is 1 */
    double log_ratio[ROWS]; /* one token each */
};

static void fill(const struct row *row, struct rl_batch *batch)
{
    rl_test_rows(batch, row->count, (const uint32_t[ROWS]){0}, row->turns, row->rewards);
    for (size_t i = 0; i < row->count; i++) {
        batch->coverage[i] = row->coverage[i] > 0 ? row->coverage[i] : 1;
        batch->trained[i] = (float)row->log_ratio[i];
    }
}

/* Every preset, on batches of every kind: finite, 0 where dropped, the same again. */
TEST(presets)
{
    uint64_t seed = 77;
    for (size_t m = 0; word_at(&rl_method_words, m); m++)
        for (size_t trial = 0; trial < 10; trial++) {
            struct rl_step_report report;
            struct rl_method method;
            struct rl_batch batch;
            preset(word_at(&rl_method_words, m), &method);
            rl_test_batch(&batch, &seed, 4, 4, 3, false);
            batch.drop[trial] = RL_EXCLUDED;
            double *first = arena_alloc(&rl_test_arena, batch.tokens * sizeof *first);
            double *again = arena_alloc(&rl_test_arena, batch.tokens * sizeof *again);
            method.importance = trial % 2 ? RL_SEQUENCE : RL_NO_LEVEL;
            rl_method_reject(&batch, &method, 3, trial, &report);
            assert_int_equal(rl_method_weigh(&batch, &method, 2, 3, trial, first, NULL), 0);
            for (size_t row = 0; row < batch.rows; row++)
                for (size_t i = batch.first[row]; i < batch.first[row + 1]; i++)
                    assert_true(isfinite(first[i]) && (!batch.drop[row] || first[i] == 0));
            memset(batch.drop, 0, batch.rows);
            batch.drop[trial] = RL_EXCLUDED;
            rl_method_reject(&batch, &method, 3, trial, &report);
            assert_int_equal(rl_method_weigh(&batch, &method, 2, 3, trial, again, NULL), 0);
            assert_memory_equal(first, again, batch.tokens * sizeof *first);
        }
}

/* Dr. Kernel's release, worked out: MRS and the divisor of 1000. */
TEST(release)
{
    static const struct row row = {.count = 4,
                                   .rewards = {2, 0, 0, 1},
                                   .log_ratio = {0.0005, -0.0005, 0, 0.0011}};
    struct rl_step_report report;
    struct rl_method method;
    struct rl_batch batch;
    double advantage[ROWS];
    preset("drkernel", &method);
    fill(&row, &batch);
    rl_method_reject(&batch, &method, 0, 0, &report);
    assert_int_equal(rl_method_weigh(&batch, &method, 0, 0, 0, advantage, NULL), 0);
    assert_int_equal(batch.drop[3], RL_MISMATCH);
    assert_true(fabs(report.mismatch.rollout_rs_seq_masked_fraction - 0.25) < CLOSE);
    assert_true(fabs(advantage[0] - 2. / 3000) < CLOSE); /* A 2, of three rows */
    assert_true(fabs(advantage[1] + 1. / 3000) < CLOSE && advantage[3] == 0);
    preset("drkernel_original", &method);
    method.filter.rollouts_least = 2;
    fill(&row, &batch);
    rl_method_reject(&batch, &method, 0, 0, &report);
    assert_int_equal(rl_method_weigh(&batch, &method, 0, 0, 0, advantage, NULL), 0);
    assert_true(fabs(advantage[0] - (2 - 1. / 3) / 768000) < CLOSE * 1e-6);
}

/* What a preset makes of two prompts' rollouts; bits and token advantages. */
static void play(const struct rl_method *method, const struct row *row, const uint32_t *prompts,
                 size_t wanted, struct rl_batch *batch, double *advantage)
{
    struct rl_step_report report;
    fill(row, batch);
    memcpy(batch->prompt, prompts, row->count * sizeof *prompts);
    rl_method_reject(batch, method, 0, 0, &report);
    assert_int_equal(rl_method_weigh(batch, method, wanted, 0, 0, advantage, NULL), 0);
}

TEST(weights_and_surplus)
{
    static const struct row row = {.count = 4,
                                   .rewards = {2, 0, 4, 3},
                                   .log_ratio = {0.5, 0, -0.25, 1}};
    static const uint32_t prompts[4] = {3, 3, 8, 8};
    static const double each[4] = {2, -2, 1, -1};
    struct rl_method method;
    struct rl_batch batch;
    double advantage[ROWS];
    preset("trloo", &method);
    method.importance = RL_TURN;
    method.importance_upper = 2;
    play(&method, &row, prompts, 0, &batch, advantage);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(advantage[i] - each[i] / 4 * fmin(exp(row.log_ratio[i]), 2)) < CLOSE);
    method.importance = RL_NO_LEVEL;
    play(&method, &row, prompts, 1, &batch, advantage);
    size_t surplus = batch.drop[0] ? 0 : 1; /* which of the two prompts */
    for (size_t i = 0; i < 4; i++) {
        bool gone = i / 2 == surplus;
        assert_int_equal(batch.drop[i], gone ? RL_SURPLUS : 0);
        assert_true(fabs(advantage[i] - (gone ? 0 : each[i] / 2)) < CLOSE);
    }
}

/* Two rollouts of two turns: what is constant, the estimator says. */
TEST(filter_follows_the_estimator)
{
    static const struct {
        const char *estimator;
        double rewards[4];
        bool constant;
    } cases[] = {
        {"trloo", {0, 1, 2, 1}, false},
        {"rloo", {0, 1, 2, 1}, true},
        {"rloo", {0, 1, 0, 2}, false},
        {"trloo", {0, 1, 0, 1}, true},
        {"turn_independent_grpo", {0, 1, 0, 1}, false},
        {"erloo", {0, 1, 0, 1}, true}, /* all returns are 1 */
        {"erloo", {1, 1, 1, 1}, false},
        {"reinforce", {0, 1, 0, 1}, false},
        {"reinforce_plus_plus", {0, 1, 0, 1}, false},
        {"egae", {0, 1, 0, 1}, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct row row = {.count = 4, .turns = {0, 1, 0, 1}};
        struct rl_method method;
        struct rl_batch batch;
        double advantage[ROWS];
        memcpy(row.rewards, cases[i].rewards, sizeof cases[i].rewards);
        preset("trloo", &method);
        method.estimator = rl_estimator(cases[i].estimator);
        play(&method, &row, (const uint32_t[4]){0}, 0, &batch, advantage);
        if ((batch.drop[0] == RL_CONSTANT) != cases[i].constant)
            fail_msg("case %zu (%s): bits %d", i, cases[i].estimator, batch.drop[0]);
    }
}

/* The release and its original on the same rollouts: what the lazy turn's reward does. */
TEST(original_release)
{
    static const struct row row = {.count = 4,
                                   .turns = {0, 1, 0, 1},
                                   .rewards = {1, 4, 2, 1},
                                   .coverage = {0, 0.1}};
    static const double wanted[2][4] = {{-2, 0, 2, 1}, {2, 0, -2, -3}};
    for (size_t original = 0; original < 2; original++) {
        struct rl_method method;
        struct rl_batch batch;
        double advantage[ROWS];
        preset(original ? "drkernel_original" : "drkernel", &method);
        method.filter.rollouts_least = 0;
        method.filter.kind = RL_FILTER_NONE;
        play(&method, &row, (const uint32_t[4]){0}, 0, &batch, advantage);
        for (size_t i = 0; i < 4; i++)
            if (!(fabs(batch.advantage[i] - wanted[original][i]) < CLOSE))
                fail_msg("%s, row %zu: %g", method.name, i, batch.advantage[i]);
    }
}

/* Weights are of what was sampled: that a turn is lazy, or a token too far off, changes no ratio of
 * the others. Two turns of one rollout, and another rollout. */
TEST(weights_are_of_all)
{
    static const struct row row = {.count = 3,
                                   .turns = {0, 1, 0},
                                   .rewards = {2, 1, 0},
                                   .coverage = {0, 0.1},
                                   .log_ratio = {0.5, 0.25, 0}};
    static const struct {
        enum rl_level bounds;
        bool coverage;
        uint8_t drop; /* of the second turn */
        bool counts;  /* whether its token does */
    } cases[] = {{RL_NO_LEVEL, false, 0, true},
                 {RL_NO_LEVEL, true, RL_COVERAGE, false},
                 {RL_TURN, false, RL_MISMATCH, false},
                 {RL_TOKEN, false, 0, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rl_method method;
        struct rl_batch batch;
        double advantage[ROWS];
        preset("trloo", &method);
        method.normalisation.aggregation = RL_SEQ_SUM;
        method.importance = RL_SEQUENCE;
        method.lazy_paid = true;
        method.coverage.enabled = cases[i].coverage;
        method.bounds = (struct rl_ratio_bounds){cases[i].bounds, 0.9, 2, 0, false};
        struct row changed = row;
        changed.log_ratio[1] = cases[i].bounds == RL_NO_LEVEL ? 0.25 : -0.25;
        play(&method, &changed, (const uint32_t[3]){0}, 0, &batch, advantage);
        assert_int_equal(batch.drop[1], cases[i].drop);
        double weight = exp(0.5 + changed.log_ratio[1]);
        assert_true(fabs(advantage[0] - 3 * weight) < 1e-6); /* 3 to nothing */
        assert_true(fabs(advantage[1] - (cases[i].counts ? 1 * weight : 0)) < 1e-6);
    }
}

TEST(settings_are_checked)
{
    struct rl_method method;
    struct err err = {0};
    assert_int_equal(rl_method_preset("drkernle", &method, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "did you mean 'drkernel'"));
    preset("trloo", &method);
    method.returns.gamma = 1.5;
    assert_int_equal(rl_method_check(&method, &err), ERR_INPUT);
    preset("trloo", &method);
    method.returns.shaping = RL_RESIDUAL_UNBIASED;
    assert_int_equal(rl_method_check(&method, &err), ERR_INPUT);
    preset("trloo", &method);
    method.coverage.factor = -1;
    assert_int_equal(rl_method_check(&method, &err), ERR_INPUT);
    preset("trloo", &method);
    method.importance = RL_GEOMETRIC;
    assert_int_equal(rl_method_check(&method, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "geometric"));
    preset("trloo", &method);
    method.importance_upper = NAN;
    assert_int_equal(rl_method_check(&method, &err), ERR_INPUT);
    preset("trloo", &method);
    method.normalisation.scale = 0;
    assert_int_equal(rl_method_check(&method, &err), ERR_INPUT);
    preset("drkernel", &method);
    method.bounds.lower = 1.01;
    assert_int_equal(rl_method_check(&method, &err), ERR_INPUT);
}
