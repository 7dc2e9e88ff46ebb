/* Whole methods: the order of their parts, the originals' defects one by one, and what is refused.
 * */
#include "rl/method.h"

#include "../support/rl_batches.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 6
#define CLOSE 1e-9

static void preset(const char *name, struct rl_method *method)
{
    struct err err = {0};
    if (rl_method_preset(name, method, &err) < 0 || rl_method_check(method, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

/* Each changes one thing of `trloo`. */
static void unchanged(struct rl_method *method)
{
    (void)method;
}

static void void_masked(struct rl_method *method)
{
    method->mask_void = true;
}

static void failed_masked(struct rl_method *method)
{
    method->mask_failed = true;
}

static void paid_for_delay(struct rl_method *method)
{
    method->returns.rule = rl_return_rule("kernel_rl");
    method->returns.gamma = 0.4;
    method->estimator = rl_estimator("grpo_last");
}

static void rejected_in_groups(struct rl_method *method)
{
    method->band = (struct rl_band){RL_TURN_GEO, 0.9, 1.1, 0, false};
    method->advantage.out = RL_EXCLUDED | RL_VOID | RL_FAILED;
}

static void banded(struct rl_method *method)
{
    method->band = (struct rl_band){RL_TURN_GEO, 0.9, 1.1, 0, false};
}

static void covered(struct rl_method *method)
{
    method->coverage.enabled = true;
    method->coverage.factor = 0;
}

static void covered_and_paid(struct rl_method *method)
{
    covered(method);
    method->returns.without = RL_VOID;
}

static void last_turn_filter(struct rl_method *method)
{
    method->filter.kind = RL_FILTER_LAST_TURN;
    method->filter_rewards = true;
}

static void no_filter(struct rl_method *method)
{
    method->filter.kind = RL_FILTER_NONE;
}

static const struct row {
    const char *what;
    void (*change)(struct rl_method *method);
    size_t count;
    uint32_t turns[ROWS];
    double rewards[ROWS];
    double coverage[ROWS];  /* of correct turns; 0 is 1 */
    double log_ratio[ROWS]; /* one token each */
    uint8_t given[ROWS];
    uint8_t drop[ROWS];
    double advantages[ROWS];
} rows[] = {
    {"a regression is punished",
     unchanged,
     4,
     {0, 1, 0, 1},
     {1, 0, 1, 2},
     {0},
     {0},
     {0},
     {0},
     {-2, -2, 2, 2}},
    {"the original does not",
     void_masked,
     4,
     {0, 1, 0, 1},
     {1, 0, 1, 2},
     {0},
     {0},
     {0},
     {0, RL_VOID},
     {-2, 0, 2, 2}},
    {"an outage is nobody's",
     unchanged,
     4,
     {0, 1, 0, 1},
     {1, 0, 1, 2},
     {0},
     {0},
     {0, RL_EXCLUDED},
     {0, RL_EXCLUDED},
     {-2, 0, 2, 2}},
    {"the original masks its rollout",
     failed_masked,
     4,
     {0, 1, 0, 1},
     {1, 0, 1, 2},
     {0},
     {0},
     {0, RL_EXCLUDED},
     {RL_FAILED, RL_EXCLUDED, RL_CONSTANT, RL_CONSTANT},
     {0}},
    {"solved at once, and late",
     unchanged,
     3,
     {0, 0, 1},
     {1, 0, 1},
     {0},
     {0},
     {0},
     {RL_CONSTANT, RL_CONSTANT, RL_CONSTANT},
     {0}},
    {"the original pays for delay",
     paid_for_delay,
     3,
     {0, 0, 1},
     {1, 0, 1},
     {0},
     {0},
     {0},
     {0},
     {-0.2, 0.2, 0.2}},
    {"rejected turns leave the baseline",
     banded,
     3,
     {0, 0, 0},
     {3, 1, 5},
     {0},
     {0, 0, 0.5},
     {0},
     {0, 0, RL_MISMATCH},
     {2, -2, 0}},
    {"the original's stay",
     rejected_in_groups,
     3,
     {0, 0, 0},
     {3, 1, 5},
     {0},
     {0, 0, 0.5},
     {0},
     {0, 0, RL_MISMATCH},
     {0, -3, 0}},
    {"a lazy turn pays nobody",
     covered,
     4,
     {0, 1, 0, 1},
     {1, 4, 2, 1},
     {0, 0.1},
     {0},
     {0},
     {0, RL_COVERAGE},
     {-2, 0, 2, 1}},
    {"the original's pays those before",
     covered_and_paid,
     4,
     {0, 1, 0, 1},
     {1, 4, 2, 1},
     {0, 0.1},
     {0},
     {0},
     {0, RL_COVERAGE},
     {2, 0, -2, 1}},
    {"early turns tell",
     unchanged,
     4,
     {0, 1, 0, 1},
     {0, 1, 2, 1},
     {0},
     {0},
     {0},
     {0},
     {-2, 0, 2, 0}},
    {"the original does not look",
     last_turn_filter,
     4,
     {0, 1, 0, 1},
     {0, 1, 2, 1},
     {0},
     {0},
     {0},
     {RL_CONSTANT, RL_CONSTANT, RL_CONSTANT, RL_CONSTANT},
     {0}},
    {"all alike", unchanged, 2, {0, 0}, {1, 1}, {0}, {0}, {0}, {RL_CONSTANT, RL_CONSTANT}, {0}},
    {"the original trains on it", no_filter, 2, {0, 0}, {1, 1}, {0}, {0}, {0}, {0}, {0}},
};

static void fill(const struct row *row, struct rl_batch *batch, struct arena *arena)
{
    rl_test_rows(batch, arena, row->count, (const uint32_t[ROWS]){0}, row->turns, row->rewards);
    for (size_t i = 0; i < row->count; i++) {
        batch->coverage[i] = row->coverage[i] > 0 ? row->coverage[i] : 1;
        batch->trained[i] = (float)row->log_ratio[i];
        batch->drop[i] = row->given[i];
    }
}

static void test_defects(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rl_step_report report;
        struct rl_method method;
        struct arena arena = {0};
        struct rl_batch batch;
        struct err err = {0};
        double advantage[ROWS];
        preset("trloo", &method);
        rows[i].change(&method);
        fill(&rows[i], &batch, &arena);
        rl_method_reject(&batch, &method, 1, 2, &report);
        assert_int_equal(rl_method_weigh(&batch, &method, 0, 1, 2, advantage, &err), 0);
        double trained = 0;
        for (size_t row = 0; row < batch.rows; row++)
            trained += batch.drop[row] == 0;
        for (size_t row = 0; row < batch.rows; row++) {
            if (batch.drop[row] != rows[i].drop[row])
                fail_msg("%s, row %zu: bits %d", rows[i].what, row, batch.drop[row]);
            if (!(fabs(batch.advantage[row] - rows[i].advantages[row]) < CLOSE))
                fail_msg("%s, row %zu: %g", rows[i].what, row, batch.advantage[row]);
            assert_true(fabs(advantage[row] * fmax(trained, 1) - batch.advantage[row]) < CLOSE);
        }
        arena_deinit(&arena);
    }
}

/* Every preset, on batches of every kind: finite, 0 where dropped, the same again. */
static void test_presets(void **state)
{
    uint64_t seed = 77;
    (void)state;
    for (size_t m = 0; rl_method_name(m); m++)
        for (size_t trial = 0; trial < 10; trial++) {
            struct rl_step_report report;
            struct rl_method method;
            struct arena arena = {0};
            struct rl_batch batch;
            preset(rl_method_name(m), &method);
            rl_test_batch(&batch, &arena, &seed, 4, 4, 3, false);
            batch.drop[trial] = RL_EXCLUDED;
            double *first = arena_alloc(&arena, batch.tokens * sizeof *first);
            double *again = arena_alloc(&arena, batch.tokens * sizeof *again);
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
            arena_deinit(&arena);
        }
}

/* Dr. Kernel's release, worked out: MRS and the divisor of 1000. */
static void test_release(void **state)
{
    static const struct row row = {.count = 4,
                                   .rewards = {2, 0, 0, 1},
                                   .log_ratio = {0.0005, -0.0005, 0, 0.0011}};
    struct rl_step_report report;
    struct rl_method method;
    struct arena arena = {0};
    struct rl_batch batch;
    double advantage[ROWS];
    (void)state;
    preset("drkernel", &method);
    fill(&row, &batch, &arena);
    rl_method_reject(&batch, &method, 0, 0, &report);
    assert_int_equal(rl_method_weigh(&batch, &method, 0, 0, 0, advantage, NULL), 0);
    assert_int_equal(batch.drop[3], RL_MISMATCH);
    assert_true(fabs(report.mismatch.rollout_rs_seq_masked_fraction - 0.25) < CLOSE);
    assert_true(fabs(advantage[0] - 2. / 3000) < CLOSE); /* A 2, of three rows */
    assert_true(fabs(advantage[1] + 1. / 3000) < CLOSE && advantage[3] == 0);
    preset("drkernel_original", &method);
    method.filter.rollouts_least = 2;
    fill(&row, &batch, &arena);
    rl_method_reject(&batch, &method, 0, 0, &report);
    assert_int_equal(rl_method_weigh(&batch, &method, 0, 0, 0, advantage, NULL), 0);
    assert_true(fabs(advantage[0] - (2 - 1. / 3) / 768000) < CLOSE * 1e-6);
    arena_deinit(&arena);
}

/* What a preset makes of two prompts' rollouts; bits and token advantages. */
static void play(const struct rl_method *method, const struct row *row, const uint32_t *prompts,
                 size_t wanted, struct rl_batch *batch, struct arena *arena, double *advantage)
{
    struct rl_step_report report;
    fill(row, batch, arena);
    memcpy(batch->prompt, prompts, row->count * sizeof *prompts);
    rl_method_reject(batch, method, 0, 0, &report);
    assert_int_equal(rl_method_weigh(batch, method, wanted, 0, 0, advantage, NULL), 0);
}

static void test_weights_and_surplus(void **state)
{
    static const struct row row = {.count = 4,
                                   .rewards = {2, 0, 4, 3},
                                   .log_ratio = {0.5, 0, -0.25, 1}};
    static const uint32_t prompts[4] = {3, 3, 8, 8};
    static const double each[4] = {2, -2, 1, -1};
    struct rl_method method;
    struct arena arena = {0};
    struct rl_batch batch;
    double advantage[ROWS];
    (void)state;
    preset("trloo", &method);
    method.importance = RL_TURN;
    method.importance_upper = 2;
    play(&method, &row, prompts, 0, &batch, &arena, advantage);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(advantage[i] - each[i] / 4 * fmin(exp(row.log_ratio[i]), 2)) < CLOSE);
    method.importance = RL_NO_LEVEL;
    play(&method, &row, prompts, 1, &batch, &arena, advantage);
    size_t surplus = batch.drop[0] ? 0 : 1; /* which of the two prompts */
    for (size_t i = 0; i < 4; i++) {
        bool gone = i / 2 == surplus;
        assert_int_equal(batch.drop[i], gone ? RL_SURPLUS : 0);
        assert_true(fabs(advantage[i] - (gone ? 0 : each[i] / 2)) < CLOSE);
    }
    arena_deinit(&arena);
}

/* Two rollouts of two turns: what is constant, the estimator says. */
static void test_filter_follows_the_estimator(void **state)
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
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct row row = {.count = 4, .turns = {0, 1, 0, 1}};
        struct rl_method method;
        struct arena arena = {0};
        struct rl_batch batch;
        double advantage[ROWS];
        memcpy(row.rewards, cases[i].rewards, sizeof cases[i].rewards);
        preset("trloo", &method);
        method.estimator = rl_estimator(cases[i].estimator);
        play(&method, &row, (const uint32_t[4]){0}, 0, &batch, &arena, advantage);
        if ((batch.drop[0] == RL_CONSTANT) != cases[i].constant)
            fail_msg("case %zu (%s): bits %d", i, cases[i].estimator, batch.drop[0]);
        arena_deinit(&arena);
    }
}

/* The release and its original on the same rollouts: what the lazy turn's reward does. */
static void test_original_release(void **state)
{
    static const struct row row = {.count = 4,
                                   .turns = {0, 1, 0, 1},
                                   .rewards = {1, 4, 2, 1},
                                   .coverage = {0, 0.1}};
    static const double wanted[2][4] = {{-2, 0, 2, 1}, {2, 0, -2, -3}};
    (void)state;
    for (size_t original = 0; original < 2; original++) {
        struct rl_method method;
        struct arena arena = {0};
        struct rl_batch batch;
        double advantage[ROWS];
        preset(original ? "drkernel_original" : "drkernel", &method);
        method.filter.rollouts_least = 0;
        method.filter.kind = RL_FILTER_NONE;
        play(&method, &row, (const uint32_t[4]){0}, 0, &batch, &arena, advantage);
        for (size_t i = 0; i < 4; i++)
            if (!(fabs(batch.advantage[i] - wanted[original][i]) < CLOSE))
                fail_msg("%s, row %zu: %g", method.name, i, batch.advantage[i]);
        arena_deinit(&arena);
    }
}

static void test_settings_are_checked(void **state)
{
    struct rl_method method;
    struct err err = {0};
    (void)state;
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
    method.band.lower = 1.01;
    assert_int_equal(rl_method_check(&method, &err), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defects),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_release),
        cmocka_unit_test(test_weights_and_surplus),
        cmocka_unit_test(test_filter_follows_the_estimator),
        cmocka_unit_test(test_original_release),
        cmocka_unit_test(test_settings_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
