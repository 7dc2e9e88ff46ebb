/* Returns against figures of the papers' pages, and against their definitions written out. */
#include "rl/method/returns.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>

TEST_EACH(NULL, rl_test_free);

#define TURNS 4
#define CLOSE 1e-12

static const struct row {
    const char *rule;
    double gamma;
    enum rl_shaping shaping;
    size_t count;
    double rewards[TURNS];
    uint8_t drop[TURNS];
    double returns[TURNS];
} rows[] = {
    {"sum", 1, RL_UNSHAPED, 3, {0.5, 0, 1.25}, {0}, {1.75, 1.25, 1.25}},
    {"sum", 0.4, RL_UNSHAPED, 4, {0.2, 0.3, 0.8, 1}, {0}, {0.512, 0.78, 1.2, 1}},
    {"sum", 0, RL_UNSHAPED, 3, {0.5, 0, 1.25}, {0}, {0.5, 0, 1.25}},
    {"max", 0.5, RL_UNSHAPED, 4, .rewards = {0.2, 1, 0.1, 4}, .drop = {0},
     .returns = {0.5, 1, 2, 4}}, /* of 0.2, 0.5, 0.025, 0.5 */
    {"max", 1, RL_UNSHAPED, 3, {-2, -1, -3}, {0}, {-1, -1, -3}},
    {"max", 0.5, RL_UNSHAPED, 3, {0.5, 9, -1}, {0, RL_EXCLUDED}, {0.5, -1, -1}},
    {"max", 0.5, RL_UNSHAPED, 2, {-1, 0}, {0, RL_EXCLUDED}, {-1, 0}},
    {"final", 1, RL_UNSHAPED, 3, {0.5, 7, 1.25}, {0}, {1.25, 1.25, 1.25}},
    {"final", 0.5, RL_UNSHAPED, 3, {0.5, 7, 1.25}, {0}, {0.3125, 0.625, 1.25}},
    {"final", 0.5, RL_UNSHAPED, 3, {0.5, 7, 0}, {0, 0, RL_EXCLUDED}, {3.5, 7, 0}},
    {"turn", 0.4, RL_UNSHAPED, 3, {0.5, 7, 1.25}, {0}, {0.5, 7, 1.25}},
    {"episode", 1, RL_UNSHAPED, 3, {0.5, -0.25, 1.25}, {0}, {1.5, 1.5, 1.5}},
    {"episode", 0.5, RL_UNSHAPED, 3, {1, 2, 4}, {0}, {3, 3, 3}},
    {"episode", 0.5, RL_UNSHAPED, 3, {9, 2, 4}, {RL_EXCLUDED}, {4, 4, 4}},
    /* Solving at once, or at the fourth turn: 0.3 and 0.3 · 1.624. */
    {"kernel_rl", 0.4, RL_UNSHAPED, 1, {0.3}, {0}, {0.3}},
    {"kernel_rl", 0.4, RL_UNSHAPED, 4, {0, 0, 0, 0.3}, {0}, {0.4872, 0.4872, 0.4872, 0.4872}},
    {"kernel_rl", 0.4, RL_UNSHAPED, 3, {0, 9, 0.3}, {0, RL_EXCLUDED}, {0.42, 0.42, 0.42}},
    {"sum", 1, RL_RESIDUAL, 3, {0.5, 0, 1.25}, {0}, {1.25, 0.75, 1.25}},
    {"sum", 1, RL_RESIDUAL, 3, {0.5, 9, 1.25}, {0, RL_EXCLUDED}, {1.25, 0.75, 0.75}},
    {"sum", 0.5, RL_RESIDUAL_UNBIASED, 2, {0.5, 1}, {0}, {0.5, 0}},
    {"sum", 0.4, RL_RESIDUAL_UNBIASED, 2, {0.5, 1}, {0}, {0.54, 0.1}}, /* of 0.5 and 0.6 - 0.5 */
    /* A void turn's reward is no more than 0 either way; a lazy one's is not passed on. */
    {"sum", 1, RL_UNSHAPED, 3, {1, -1, 2}, {0, RL_VOID}, {3, 2, 2}},
    {"sum", 1, RL_UNSHAPED, 3, {1, 1, 2}, {0, 0, RL_COVERAGE}, {2, 1, 0}},
    {"sum", 1, RL_UNSHAPED, 3, {1, 1, 2}, {0, 0, RL_MISMATCH}, {4, 3, 2}},
    {"sum", 0.5, RL_UNSHAPED, 3, {1, 9, 2}, {0, RL_EXCLUDED}, {2, 2, 2}},
};

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        static const uint32_t prompts[TURNS] = {0};
        static const uint32_t turns[TURNS] = {0, 1, 2, 3};
        struct rl_return_options options = rl_return_defaults;
        struct rl_batch batch;
        rl_test_rows(&batch, rows[i].count, prompts, turns, rows[i].rewards);
        for (size_t t = 0; t < rows[i].count; t++)
            batch.drop[t] = rows[i].drop[t];
        options.rule = rl_return_rule(rows[i].rule);
        options.gamma = rows[i].gamma;
        options.shaping = rows[i].shaping;
        rl_returns(&batch, &options);
        for (size_t t = 0; t < rows[i].count; t++)
            if (!(fabs(batch.returns[t] - rows[i].returns[t]) < CLOSE))
                fail_msg("row %zu (%s), turn %zu: %.12g", i, rows[i].rule, t, batch.returns[t]);
    }
    assert_null(rl_return_rule("mean"));
}

TEST(original_pays_for_lazy_turns)
{
    static const uint32_t turns[] = {0, 1};
    static const double rewards[] = {1, 2};
    struct rl_return_options options = rl_return_defaults;
    struct rl_batch batch;
    rl_test_rows(&batch, 2, (const uint32_t[]){0, 0}, turns, rewards);
    batch.drop[1] = RL_COVERAGE;
    options.without = RL_VOID;
    rl_returns(&batch, &options);
    assert_true(batch.returns[0] == 3);
}

/* The definition, with the power of γ counted over turns that are there. */
static double defined(const struct rl_batch *batch, size_t row, const char *rule, double gamma)
{
    size_t end = rl_rollout_end(batch, row);
    double weight = 1;
    double sum = 0;
    double most = -INFINITY;
    for (size_t i = row; i < end; i++) {
        if (batch->drop[i] & RL_EXCLUDED)
            continue;
        double reward = batch->drop[i] & rl_return_defaults.without ? 0 : batch->reward[i];
        sum += weight * reward;
        most = fmax(most, weight * reward);
        weight *= gamma;
    }
    return rule[0] == 's' ? sum : isinf(most) ? 0 : most;
}

TEST(definitions)
{
    uint64_t seed = 11;
    for (size_t trial = 0; trial < 200; trial++) {
        struct rl_return_options options = rl_return_defaults;
        const char *rule = trial % 2 ? "sum" : "max";
        struct rl_batch batch;
        struct err err = {0};
        rl_test_batch(&batch, &seed, 2, 3, 5, true);
        assert_ok(rl_batch_check(&batch, &err), &err);
        options.rule = rl_return_rule(rule);
        options.gamma = rl_test_number(&seed);
        rl_returns(&batch, &options);
        for (size_t row = 0; row < batch.rows; row++)
            if (fabs(batch.returns[row] - defined(&batch, row, rule, options.gamma)) > CLOSE)
                fail_msg("trial %zu, row %zu", trial, row);
    }
}

TEST(batches_are_checked)
{
    static const struct {
        uint32_t prompts[3], rollouts[3], turns[3];
        double reward;
        size_t tokens;
        const char *what;
    } bad[] = {
        {{0, 1, 1}, {0, 0, 1}, {0, 1, 0}, 1, 3, "two prompts"},
        {{0, 0, 0}, {0, 0, 1}, {1, 1, 0}, 1, 3, "not in order"},
        {{0, 0, 0}, {0, 1, 0}, {0, 0, 1}, 1, 3, "not contiguous"},
        {{0, 0, 0}, {0, 1, 2}, {0, 0, 0}, NAN, 3, "not finite"},
        {{0, 0, 0}, {0, 1, 2}, {0, 0, 0}, 1, 4, "4 tokens"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct rl_batch batch;
        struct err err = {0};
        rl_test_rows(&batch, 3, bad[i].prompts, bad[i].turns, (const double[]){1, 1, 1});
        for (size_t row = 0; row < 3; row++)
            batch.rollout[row] = bad[i].rollouts[row];
        batch.reward[2] = bad[i].reward;
        batch.tokens = bad[i].tokens;
        assert_int_equal(rl_batch_check(&batch, &err), ERR_INTERNAL);
        if (!strstr(err.text, bad[i].what))
            fail_msg("%s", err.text);
    }
}

/* Returns of 0.5, 1 and 2 of one rollout, by γ = 0.5; then what the outcome adds. */
TEST(outcomes)
{
    static const uint32_t turns[3] = {0, 1, 2};
    static const double rewards[3] = {0, 0, 2};
    struct rl_return_options options = rl_return_defaults;
    struct rl_batch batch;
    options.gamma = 0.5;
    options.bonus = 0.25;
    options.penalty = 0.75;
    rl_test_rows(&batch, 3, (const uint32_t[3]){0}, turns, rewards);
    memset(batch.correct, 0, 3);
    rl_returns(&batch, &options);
    assert_true(batch.returns[0] == 0.5 && batch.returns[1] == 1 && batch.returns[2] == 1.25);
    batch.correct[1] = true;
    batch.drop[2] = RL_EXCLUDED; /* the second turn is the last one then */
    batch.reward[1] = 1;
    rl_returns(&batch, &options);
    assert_true(batch.returns[0] == 0.5 && batch.returns[1] == 1.25);
    batch.drop[1] = RL_EXCLUDED; /* nor does it solve anything */
    rl_returns(&batch, &options);
    assert_true(batch.returns[0] == -0.75);
}

TEST(normalising)
{
    static const uint32_t turns[4] = {0, 1, 2, 0};
    static const double rewards[4] = {1, 1, 1, 5};
    struct rl_return_options options = rl_return_defaults;
    struct rl_batch batch;
    options.normalise = true;
    rl_test_rows(&batch, 4, (const uint32_t[4]){0}, turns, rewards);
    rl_returns(&batch, &options); /* 3, 2, 1: mean 2, deviation √(2/3); and a lonely one */
    assert_true(fabs(batch.returns[0] - sqrt(1.5)) < 1e-12 && fabs(batch.returns[1]) < 1e-12);
    assert_true(fabs(batch.returns[2] + sqrt(1.5)) < 1e-12 && batch.returns[3] == 5);
}
