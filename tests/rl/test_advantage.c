/* Advantages against figures of the papers' pages, against their definitions written out for each
 * row without groups, and against what must not move them. */
#include "rl/method/advantage.h"
#include "rl/method/returns.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>
#include <stdio.h>

#define ROWS 6
#define CLOSE 1e-9

static const struct row {
    const char *name;
    bool singleton_zero;
    size_t count;
    uint32_t prompts[ROWS], turns[ROWS];
    double rewards[ROWS];
    double advantages[ROWS];
} rows[] = {
    {"trloo", false, 4, {0}, {0}, {2, 0, 0, 0}, {2, -2. / 3, -2. / 3, -2. / 3}},
    {"grpo", false, 4, {0}, {0}, {2, 0, 0, 0}, {1.5, -0.5, -0.5, -0.5}},
    {"rloo", false, 4, {0}, {0}, {2, 0, 0, 0}, {2, -2. / 3, -2. / 3, -2. / 3}},
    {"erloo", false, 4, {0}, {0}, {2, 0, 0, 0}, {2, -2. / 3, -2. / 3, -2. / 3}},
    {"grpo_std",
     false,
     4,
     {0},
     {0},
     {2, 0, 0, 0},
     {1.5 / (1 + 1e-6), -0.5 / (1 + 1e-6), -0.5 / (1 + 1e-6), -0.5 / (1 + 1e-6)}},
    {"trloo", false, 1, {0}, {0}, {1.3}, {1.3}},
    {"trloo", true, 1, {0}, {0}, {1.3}, {0}},
    {"grpo", false, 1, {0}, {0}, {1.3}, {1.3}},
    {"grpo", true, 1, {0}, {0}, {1.3}, {0}},
    {"erloo_norm", false, 1, {0}, {0}, {1.3}, {1.3}},
    {"erloo_norm", false, 2, {0}, {0}, {1, 4}, {-3, 3}}, /* deviation of one other: 1 */
    /* Others of the first: 2 and 4, mean 3, deviation √2. */
    {"erloo_norm",
     false,
     3,
     {0},
     {0},
     {0, 2, 4},
     {-3 / (1.4142135623730951 + 1e-8), 0, 3 / (1.4142135623730951 + 1e-8)}},
    /* Two rollouts, two turns and one: the second turn is alone. Returns 3, 2 and 1. */
    {"trloo", false, 3, {0}, {0, 1, 0}, {1, 2, 1}, {2, 2, -2}},
    {"trloo", true, 3, {0}, {0, 1, 0}, {1, 2, 1}, {2, 0, -2}},
    {"erloo", false, 3, {0}, {0, 1, 0}, {1, 2, 1}, {1.5, 0, -1.5}},
    {"turn_independent_grpo", false, 3, {0}, {0, 1, 0}, {1, 2, 0}, {0, 1, -1}},
    /* Last turns' returns 2 and 1, copied. */
    {"rloo", false, 3, {0}, {0, 1, 0}, {1, 2, 1}, {1, 1, -1}},
    {"grpo_last", false, 3, {0}, {0, 1, 0}, {1, 2, 1}, {0.5, 0.5, -0.5}},
    {"return", false, 3, {0}, {0, 1, 0}, {1, 2, 1}, {3, 2, 1}},
    /* Prompts are apart, but for `reinforce`. */
    {"trloo", false, 4, {5, 5, 2, 2}, {0}, {1, 0, 4, 2}, {1, -1, 2, -2}},
    {"reinforce",
     false,
     4,
     {5, 5, 2, 2},
     {0},
     {1, 1, 1, 3},
     {-0.5 / (1 + 1e-6), -0.5 / (1 + 1e-6), -0.5 / (1 + 1e-6), 1.5 / (1 + 1e-6)}},
};

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_advantage_options options = rl_advantage_defaults;
        struct arena arena = {0};
        struct rl_batch batch;
        struct err err = {0};
        rl_test_rows(&batch, &arena, rows[i].count, rows[i].prompts, rows[i].turns,
                     rows[i].rewards);
        rl_returns(&batch, &rl_return_defaults);
        options.singleton_zero = rows[i].singleton_zero;
        assert_int_equal(rl_advantages(&batch, rl_estimator(rows[i].name), &options, &err), 0);
        for (size_t t = 0; t < rows[i].count; t++)
            if (!(fabs(batch.advantage[t] - rows[i].advantages[t]) < CLOSE))
                fail_msg("row %zu (%s), %zu: %.12g", i, rows[i].name, t, batch.advantage[t]);
        arena_deinit(&arena);
    }
    assert_null(rl_estimator("gspo"));
}

struct asked {
    const struct rl_batch *batch;
    const double *given;
};

static bool counts(const struct asked *asked, size_t row)
{
    return asked->batch->drop[row] == 0;
}

static bool counts_last(const struct asked *asked, size_t row)
{
    const struct rl_batch *batch = asked->batch;
    if (!counts(asked, row))
        return false;
    for (size_t i = row + 1; i < batch->rows; i++)
        if (batch->rollout[i] == batch->rollout[row] && counts(asked, i))
            return false;
    return true;
}

/* Values of those that row is measured by, itself first; weights in tokens where asked for. */
static size_t peers(const struct asked *asked, size_t row, const char *scope, double *values,
                    double *weights)
{
    const struct rl_batch *batch = asked->batch;
    bool last = strchr(scope, 'L') != NULL;
    size_t count = 0;
    for (size_t k = 0; k < batch->rows; k++) {
        size_t i = k == 0 ? row : k <= row ? k - 1 : k;
        bool prompt = batch->prompt[i] == batch->prompt[row] || strchr(scope, 'B');
        bool turn = batch->turn[i] == batch->turn[row] || !strchr(scope, 'T');
        if (!prompt || !turn || !(last ? counts_last(asked, i) : counts(asked, i)))
            continue;
        weights[count] = strchr(scope, 'N') ? (double)rl_row_tokens(batch, i) : 1;
        values[count++] = strchr(scope, 'R') ? batch->reward[i] : batch->returns[i];
    }
    return count;
}

static double mean_of(const double *values, const double *weights, size_t count)
{
    double sum = 0;
    double weight = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weights[i] * values[i];
        weight += weights[i];
    }
    return sum / weight;
}

static double deviation_of(const double *values, const double *weights, size_t count, double more)
{
    double mean = mean_of(values, weights, count);
    double squares = 0;
    double weight = 0;
    for (size_t i = 0; i < count; i++) {
        squares += weights[i] * (values[i] - mean) * (values[i] - mean);
        weight += weights[i];
    }
    return sqrt(squares / (weight - 1) + more);
}

/* scope: T turn, B batch, L last turn, R reward, N by tokens. kind: m mean, d mean and deviation, w
 * whitened, o others, s others and their deviation. */
static const struct {
    const char *name, *scope;
    char kind;
} definitions[] = {
    {"trloo", "T", 'o'},     {"grpo", "T", 'm'},
    {"grpo_std", "T", 'd'},  {"turn_independent_grpo", "R", 'm'},
    {"erloo", "", 'o'},      {"erloo_norm", "", 's'},
    {"reinforce", "B", 'd'}, {"rloo", "L", 'o'},
    {"grpo_last", "L", 'm'}, {"grpo_std_last", "L", 'd'},
    {"return", "", 'g'},     {"reinforce_plus_plus", "BLN", 'w'},
    {"egae", "BN", 'w'},
};

static double defined_at(const struct asked *asked, size_t row, const char *scope, char kind)
{
    double values[256] = {0};
    double weights[256] = {0};
    size_t count = peers(asked, row, scope, values, weights);
    double value = values[0];
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += weights[i];
    if (kind == 'g')
        return value - asked->given[row];
    if (total <= 1)
        return value;
    switch (kind) {
    case 'm':
        return value - mean_of(values, weights, count);
    case 'd':
        return (value - mean_of(values, weights, count)) /
               (deviation_of(values, weights, count, 0) + 1e-6);
    case 'w':
        return (value - mean_of(values, weights, count)) /
               deviation_of(values, weights, count, 1e-8);
    case 'o':
        return value - mean_of(values + 1, weights + 1, count - 1);
    default:
        return (value - mean_of(values + 1, weights + 1, count - 1)) /
               (count > 2 ? deviation_of(values + 1, weights + 1, count - 1, 0) + 1e-8 : 1);
    }
}

static double defined(const struct asked *asked, size_t row, const char *scope, char kind)
{
    const struct rl_batch *batch = asked->batch;
    if (!counts(asked, row))
        return 0;
    if (!strchr(scope, 'L'))
        return defined_at(asked, row, scope, kind);
    for (size_t i = 0; i < batch->rows; i++)
        if (batch->rollout[i] == batch->rollout[row] && counts_last(asked, i))
            return defined_at(asked, i, scope, kind);
    return 0;
}

TEST(definitions)
{
    uint64_t seed = 3;
    for (size_t trial = 0; trial < 60; trial++) {
        struct rl_advantage_options options = rl_advantage_defaults;
        struct arena arena = {0};
        struct rl_batch batch;
        struct err err = {0};
        rl_test_batch(&batch, &arena, &seed, 1 + rl_test_below(&seed, 3),
                      1 + rl_test_below(&seed, 6), 4, trial % 2);
        rl_returns(&batch, &rl_return_defaults);
        double *given = arena_alloc(&arena, batch.rows * sizeof *given);
        for (size_t row = 0; row < batch.rows; row++)
            given[row] = rl_test_number(&seed);
        struct asked asked = {&batch, given};
        options.baseline = given;
        for (size_t e = 0; e < COUNT(definitions); e++) {
            const char *name = definitions[e].name;
            assert_int_equal(rl_advantages(&batch, rl_estimator(name), &options, &err), 0);
            for (size_t row = 0; row < batch.rows; row++) {
                double wanted = defined(&asked, row, definitions[e].scope, definitions[e].kind);
                double close = 1e-6 * fmax(1, fabs(wanted));
                bool masked = batch.drop[row] || rl_row_tokens(&batch, row) == 0;
                if (!masked && !(fabs(batch.advantage[row] - wanted) < close))
                    fail_msg("trial %zu, %s, row %zu: %.12g, not %.12g", trial, name, row,
                             batch.advantage[row], wanted);
                assert_true(!batch.drop[row] || batch.advantage[row] == 0);
            }
        }
        arena_deinit(&arena);
    }
}

/* Some distribution for each token, for the optimal baselines: a score of 0.1 and more. */
static void fill_collisions(struct rl_batch *batch)
{
    for (size_t i = 0; i < batch->tokens; i++)
        batch->collision[i] = 2 * expf(batch->trained[i]) - 0.9F + 0.1F * fabsf(batch->trained[i]);
}

static void compute(struct rl_batch *batch, const struct rl_estimator *estimator)
{
    struct err err = {0};
    fill_collisions(batch);
    rl_returns(batch, &rl_return_defaults);
    assert_int_equal(rl_advantages(batch, estimator, &rl_advantage_defaults, &err), 0);
}

TEST(order_of_rollouts_is_nothing)
{
    uint64_t seed = 5;
    for (size_t trial = 0; trial < 20; trial++) {
        struct arena arena = {0};
        struct rl_batch batch;
        struct rl_batch other;
        rl_test_batch(&batch, &arena, &seed, 3, 5, 3, true);
        size_t *place = arena_alloc(&arena, batch.rows * sizeof *place);
        rl_test_permute(&batch, &other, &arena, &seed, place);
        for (const struct rl_estimator *estimator = rl_estimators; estimator->name; estimator++) {
            compute(&batch, estimator);
            compute(&other, estimator);
            for (size_t row = 0; row < batch.rows; row++) {
                double wanted = batch.advantage[row];
                double got = other.advantage[place[row]];
                if (!(fabs(got - wanted) <= 1e-6 * fmax(1, fabs(wanted))))
                    fail_msg("%s, row %zu: %.12g, %.12g", estimator->name, row, wanted, got);
            }
        }
        arena_deinit(&arena);
    }
}

TEST(dropped_rows_are_nothing)
{
    uint64_t seed = 6;
    for (size_t trial = 0; trial < 20; trial++) {
        struct arena arena = {0};
        struct rl_batch batch;
        rl_test_batch(&batch, &arena, &seed, 2, 5, 3, true);
        double *before = arena_alloc(&arena, batch.rows * sizeof *before);
        double *rewards = arena_alloc(&arena, batch.rows * sizeof *rewards);
        memcpy(rewards, batch.reward, batch.rows * sizeof *rewards);
        const struct rl_advantage_options options = rl_advantage_defaults;
        struct rl_return_options returns = rl_return_defaults;
        /* Some rejected turns' rewards reach the turns before them: not here. */
        returns.without = RL_ANY;
        fill_collisions(&batch);
        for (const struct rl_estimator *estimator = rl_estimators; estimator->name; estimator++) {
            rl_returns(&batch, &returns);
            assert_int_equal(rl_advantages(&batch, estimator, &options, NULL), 0);
            memcpy(before, batch.advantage, batch.rows * sizeof *before);
            for (size_t row = 0; row < batch.rows; row++)
                if (batch.drop[row])
                    batch.reward[row] += 100;
            rl_returns(&batch, &returns);
            assert_int_equal(rl_advantages(&batch, estimator, &options, NULL), 0);
            assert_memory_equal(batch.advantage, before, batch.rows * sizeof *before);
            memcpy(batch.reward, rewards, batch.rows * sizeof *rewards);
        }
        arena_deinit(&arena);
    }
}

/* The original keeps what was rejected in its groups. */
TEST(rejected_rows_in_baselines)
{
    static const uint32_t turns[4] = {0};
    static const double rewards[4] = {2, 0, 0, 4};
    struct rl_advantage_options original = rl_advantage_defaults;
    struct arena arena = {0};
    struct rl_batch batch;
    original.out = RL_EXCLUDED | RL_VOID | RL_FAILED;
    rl_test_rows(&batch, &arena, 4, (const uint32_t[4]){0}, turns, rewards);
    batch.drop[3] = RL_MISMATCH;
    rl_returns(&batch, &rl_return_defaults);
    assert_int_equal(rl_advantages(&batch, rl_estimator("trloo"), &rl_advantage_defaults, NULL), 0);
    assert_true(fabs(batch.advantage[0] - 2) < CLOSE && batch.advantage[3] == 0);
    assert_int_equal(rl_advantages(&batch, rl_estimator("trloo"), &original, NULL), 0);
    assert_true(fabs(batch.advantage[0] - 2. / 3) < CLOSE && batch.advantage[3] == 0);
    arena_deinit(&arena);
}

TEST(equal_rewards_teach_nothing)
{
    static const uint32_t turns[5] = {0};
    double rewards[5];
    for (size_t i = 0; i < 5; i++)
        rewards[i] = 0.1 + 0.2;
    for (const struct rl_estimator *estimator = rl_estimators; estimator->name; estimator++) {
        struct arena arena = {0};
        struct rl_batch batch;
        rl_test_rows(&batch, &arena, 5, (const uint32_t[5]){0}, turns, rewards);
        if (strcmp(estimator->name, "return") != 0) {
            compute(&batch, estimator);
            for (size_t i = 0; i < 5; i++)
                assert_true(batch.advantage[i] == 0);
        }
        arena_deinit(&arena);
    }
}

TEST(optimal_baseline)
{
    static const uint32_t turns[3] = {0};
    static const double rewards[3] = {3, 0, 1};
    /* A token of probability 1/2 of two: 1 - 2/2 + (1/4 + 1/4) = 1/2. */
    static const float collision[3] = {0.5F, 0.5F, 0.82F};
    static const float trained[3] = {-0.6931471805599453F, -0.6931471805599453F,
                                     -0.10536051565782628F};
    const struct rl_advantage_options options = rl_advantage_defaults;
    struct arena arena = {0};
    struct rl_batch batch;
    struct err err = {0};
    rl_test_rows(&batch, &arena, 3, (const uint32_t[3]){0}, turns, rewards);
    memcpy(batch.trained, trained, sizeof trained);
    rl_returns(&batch, &rl_return_defaults);
    const struct rl_estimator *estimator = rl_estimator("turn_optimal_baseline");
    assert_int_equal(rl_advantages(&batch, estimator, &options, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "turn_optimal_baseline"));
    memcpy(batch.collision, collision, sizeof collision);
    batch.drop[2] = RL_VETO; /* what is not trained on needs none */
    batch.collision[2] = NAN;
    assert_int_equal(rl_advantages(&batch, estimator, &options, &err), 0);
    batch.drop[2] = 0;
    batch.collision[2] = collision[2];
    assert_int_equal(rl_advantages(&batch, estimator, &options, &err), 0);
    double baseline = (0.5 * 3 + 0.5 * 0 + 0.02 * 1) / 1.02;
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(batch.advantage[i] - (rewards[i] - baseline)) < 1e-6);
    arena_deinit(&arena);
}

/* egae by its own recursion: the return on a row's last token, GAE with γ = λ = 1 and a critic of
 * 0, whitened over the tokens of the batch. */
TEST(egae)
{
    uint64_t seed = 13;
    for (size_t trial = 0; trial < 20; trial++) {
        struct arena arena = {0};
        struct rl_batch batch;
        double count = 0, mean = 0, squares = 0;
        rl_test_batch(&batch, &arena, &seed, 2, 3, 3, true);
        double *gae = arena_alloc(&arena, batch.tokens * sizeof *gae);
        compute(&batch, rl_estimator("egae"));
        for (size_t row = 0; row < batch.rows; row++) {
            double reward = batch.returns[row], next = 0;
            for (size_t i = batch.first[row + 1]; i-- > batch.first[row];) {
                if (batch.drop[row] || !batch.mask[i])
                    continue;
                gae[i] = next = reward + next; /* δ = r + 0 - 0 */
                reward = 0;
                mean += gae[i];
                count++;
            }
        }
        mean /= count;
        for (size_t row = 0; row < batch.rows; row++)
            for (size_t i = batch.first[row]; i < batch.first[row + 1]; i++)
                squares += batch.drop[row] || !batch.mask[i] ? 0 : pow(gae[i] - mean, 2);
        for (size_t row = 0; row < batch.rows; row++)
            for (size_t i = batch.first[row]; i < batch.first[row + 1]; i++)
                if (!batch.drop[row] && batch.mask[i])
                    assert_true(fabs(batch.advantage[row] -
                                     (gae[i] - mean) / sqrt(squares / (count - 1) + 1e-8)) < 1e-6);
        arena_deinit(&arena);
    }
}
