/* Advantages against figures of the papers' pages, against their definitions written out for each
 * row without groups, and against what must not move them; and the table of the page against the
 * code's. */
#include "rl/method/advantage.h"
#include "rl/method/returns.h"

#include "base/file.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>
#include <stdio.h>

TEST_EACH(NULL, rl_test_free);

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
    {"grpo_std", false, 4, .prompts = {0}, .turns = {0}, .rewards = {2, 0, 0, 0},
     .advantages = {1.5 / (1 + 1e-6), -0.5 / (1 + 1e-6), -0.5 / (1 + 1e-6), -0.5 / (1 + 1e-6)}},
    {"trloo", false, 1, {0}, {0}, {1.3}, {1.3}},
    {"trloo", true, 1, {0}, {0}, {1.3}, {0}},
    {"grpo", false, 1, {0}, {0}, {1.3}, {1.3}},
    {"grpo", true, 1, {0}, {0}, {1.3}, {0}},
    {"erloo_norm", false, 1, {0}, {0}, {1.3}, {1.3}},
    {"erloo_norm", false, 2, {0}, {0}, {1, 4}, {-3, 3}}, /* deviation of one other: 1 */
    /* Others of the first: 2 and 4, mean 3, deviation √2. */
    {"erloo_norm", false, 3, .prompts = {0}, .turns = {0}, .rewards = {0, 2, 4},
     .advantages = {-3 / (1.4142135623730951 + 1e-8), 0, 3 / (1.4142135623730951 + 1e-8)}},
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
    {"reinforce", false, 4, .prompts = {5, 5, 2, 2}, .turns = {0}, .rewards = {1, 1, 1, 3},
     .advantages = {-0.5 / (1 + 1e-6), -0.5 / (1 + 1e-6), -0.5 / (1 + 1e-6), 1.5 / (1 + 1e-6)}},
};

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_advantage_options options = rl_advantage_defaults;
        struct rl_batch batch;
        rl_test_rows(&batch, rows[i].count, rows[i].prompts, rows[i].turns, rows[i].rewards);
        rl_returns(&batch, &rl_return_defaults);
        options.singleton_zero = rows[i].singleton_zero;
        assert_int_equal(rl_advantages(&batch, rl_estimator(rows[i].name), &options, NULL), 0);
        for (size_t t = 0; t < rows[i].count; t++)
            if (!(fabs(batch.advantage[t] - rows[i].advantages[t]) < CLOSE))
                fail_msg("row %zu (%s), %zu: %.12g", i, rows[i].name, t, batch.advantage[t]);
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

static double score_square(const struct rl_batch *batch, size_t row)
{
    double sum = 0;
    for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
        sum += batch->mask[i] * (1 - 2 * exp((double)batch->trained[i]) + batch->collision[i]);
    return sum;
}

/* Of the rollout's rows that count: up to this one, or all. */
static double scores_of(const struct asked *asked, size_t row, bool all)
{
    const struct rl_batch *batch = asked->batch;
    double sum = 0;
    for (size_t i = 0; i < batch->rows; i++)
        if (batch->rollout[i] == batch->rollout[row] && counts(asked, i) && (all || i <= row))
            sum += score_square(batch, i);
    return sum;
}

static double value_of(const struct rl_batch *batch, size_t row, const char *scope)
{
    while (strchr(scope, 'F') && row > 0 && batch->rollout[row - 1] == batch->rollout[row])
        row--;
    return strchr(scope, 'R') ? batch->reward[row] : batch->returns[row];
}

/* Values of those that row is measured by, itself first, and their weights. */
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
        weights[count] = strchr(scope, 'N')   ? (double)rl_row_tokens(batch, i)
                         : strchr(scope, 'E') ? score_square(batch, i)
                         : strchr(scope, 'C') ? scores_of(asked, i, false)
                         : strchr(scope, 'W') ? scores_of(asked, i, true)
                                              : 1;
        values[count++] = value_of(batch, i, scope);
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

/* Scope: T turn, B batch, L last turn, R reward, F return of the first turn, N by tokens; E, C and
 * W by the scores' squares of the turn, of those so far, of the rollout; that of the value, its
 * peers, and the weights of a mean. NULL: tests/rl/test_token_advantage.c has it. */
static const struct definition {
    const char *name, *scope;
    enum { MEAN, OTHERS, GIVEN } baseline;
    enum { NONE, DEVIATION, WHITEN } scale; /* of those that make the baseline */
    double epsilon;
} definitions[] = {
    {"trloo", "T", OTHERS, NONE, 0},
    {"grpo", "T", MEAN, NONE, 0},
    {"grpo_std", "T", MEAN, DEVIATION, 1e-6},
    {"turn_independent_grpo", "R", MEAN, NONE, 0},
    {"erloo", "", OTHERS, NONE, 0},
    {"erloo_norm", "", OTHERS, DEVIATION, 1e-8},
    {"reinforce", "B", MEAN, DEVIATION, 1e-6},
    {"egae", "BN", MEAN, WHITEN, 1e-8},
    {"return", "", GIVEN, NONE, 0},
    {"turn_optimal_baseline", "TC", MEAN, NONE, 0},
    {"optimal_baseline", "LFW", MEAN, NONE, 0},
    {"token_optimal_baseline", NULL, MEAN, NONE, 0},
    {"optimal_baseline_step", NULL, MEAN, NONE, 0},
    {"turn_score_baseline", "TE", MEAN, NONE, 0},
    {"score_baseline", "E", MEAN, NONE, 0},
    {"remax", "L", GIVEN, NONE, 0},
    {"rloo", "L", OTHERS, NONE, 0},
    {"grpo_last", "L", MEAN, NONE, 0},
    {"grpo_std_last", "L", MEAN, DEVIATION, 1e-6},
    {"reinforce_plus_plus", "BLN", MEAN, WHITEN, 1e-8},
    {"reinforce_plus_plus_baseline", NULL, MEAN, WHITEN, 1e-8},
    {"gae", "BLN", MEAN, WHITEN, 1e-8}, /* without a critic */
};

static const struct definition *definition_of(const char *name)
{
    for (size_t i = 0; i < COUNT(definitions); i++)
        if (strcmp(definitions[i].name, name) == 0)
            return &definitions[i];
    fail_msg("estimator '%s' has no definition in this test", name);
    return NULL;
}

static double defined_at(const struct asked *asked, size_t row, const struct definition *definition)
{
    double values[256] = {0};
    double weights[256] = {0};
    size_t count = peers(asked, row, definition->scope, values, weights);
    size_t first = definition->baseline == OTHERS; /* without the row itself */
    double epsilon = definition->epsilon, scale = 1;
    double tokens = 0;
    for (size_t i = 0; i < count; i++)
        tokens += strchr(definition->scope, 'N') ? weights[i] : 1;
    if (definition->baseline == GIVEN)
        return values[0] - asked->given[row];
    if (tokens <= 1)
        return values[0];
    if (definition->scale == WHITEN)
        scale = deviation_of(values + first, weights + first, count - first, epsilon);
    else if (definition->scale == DEVIATION && count - first > 1)
        scale = deviation_of(values + first, weights + first, count - first, 0) + epsilon;
    return (values[0] - mean_of(values + first, weights + first, count - first)) / scale;
}

static double defined(const struct asked *asked, size_t row, const struct definition *definition)
{
    const struct rl_batch *batch = asked->batch;
    if (!counts(asked, row))
        return 0;
    if (!strchr(definition->scope, 'L'))
        return defined_at(asked, row, definition);
    for (size_t i = 0; i < batch->rows; i++)
        if (batch->rollout[i] == batch->rollout[row] && counts_last(asked, i))
            return defined_at(asked, i, definition);
    return 0;
}

/* Some distribution for each token, for the optimal baselines: a score of 0.1 and more. */
static void fill_collisions(struct rl_batch *batch)
{
    for (size_t i = 0; i < batch->tokens; i++)
        batch->collision[i] = 2 * expf(batch->trained[i]) - 0.9F + 0.1F * fabsf(batch->trained[i]);
}

TEST(definitions)
{
    uint64_t seed = 3;
    for (size_t trial = 0; trial < 60; trial++) {
        struct rl_advantage_options options = rl_advantage_defaults;
        struct rl_batch batch;
        rl_test_batch(&batch, &seed, 1 + rl_test_below(&seed, 3), 1 + rl_test_below(&seed, 6), 4,
                      trial % 2);
        rl_returns(&batch, &rl_return_defaults);
        double *given = arena_alloc(&rl_test_arena, batch.rows * sizeof *given);
        for (size_t row = 0; row < batch.rows; row++)
            given[row] = rl_test_number(&seed);
        struct asked asked = {&batch, given};
        options.baseline = given;
        fill_collisions(&batch);
        for (const struct rl_estimator *e = rl_estimators; e->name; e++) {
            const struct definition *definition = definition_of(e->name);
            assert_int_equal(rl_advantages(&batch, e, &options, NULL), 0);
            for (size_t row = 0; definition->scope && row < batch.rows; row++) {
                double wanted = defined(&asked, row, definition);
                double close = 1e-6 * fmax(1, fabs(wanted));
                bool masked = batch.drop[row] || rl_row_tokens(&batch, row) == 0;
                if (!masked && !(fabs(batch.advantage[row] - wanted) < close))
                    fail_msg("trial %zu, %s, row %zu: %.12g, not %.12g", trial, e->name, row,
                             batch.advantage[row], wanted);
                assert_true(!batch.drop[row] || batch.advantage[row] == 0);
            }
        }
    }
}

static void compute(struct rl_batch *batch, const struct rl_estimator *estimator)
{
    fill_collisions(batch);
    rl_returns(batch, &rl_return_defaults);
    assert_int_equal(rl_advantages(batch, estimator, &rl_advantage_defaults, NULL), 0);
}

TEST(order_of_rollouts_is_nothing)
{
    uint64_t seed = 5;
    for (size_t trial = 0; trial < 20; trial++) {
        struct rl_batch batch;
        struct rl_batch other;
        rl_test_batch(&batch, &seed, 3, 5, 3, true);
        size_t *place = arena_alloc(&rl_test_arena, batch.rows * sizeof *place);
        rl_test_permute(&batch, &other, &seed, place);
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
    }
}

TEST(dropped_rows_are_nothing)
{
    uint64_t seed = 6;
    for (size_t trial = 0; trial < 20; trial++) {
        struct rl_batch batch;
        rl_test_batch(&batch, &seed, 2, 5, 3, true);
        double *before = arena_alloc(&rl_test_arena, batch.rows * sizeof *before);
        double *rewards = arena_alloc(&rl_test_arena, batch.rows * sizeof *rewards);
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
    }
}

/* The original keeps what was rejected in its groups. */
TEST(rejected_rows_in_baselines)
{
    static const uint32_t turns[4] = {0};
    static const double rewards[4] = {2, 0, 0, 4};
    struct rl_advantage_options original = rl_advantage_defaults;
    struct rl_batch batch;
    original.out = RL_EXCLUDED | RL_VOID | RL_FAILED;
    rl_test_rows(&batch, 4, (const uint32_t[4]){0}, turns, rewards);
    batch.drop[3] = RL_MISMATCH;
    rl_returns(&batch, &rl_return_defaults);
    assert_int_equal(rl_advantages(&batch, rl_estimator("trloo"), &rl_advantage_defaults, NULL), 0);
    assert_true(fabs(batch.advantage[0] - 2) < CLOSE && batch.advantage[3] == 0);
    assert_int_equal(rl_advantages(&batch, rl_estimator("trloo"), &original, NULL), 0);
    assert_true(fabs(batch.advantage[0] - 2. / 3) < CLOSE && batch.advantage[3] == 0);
}

TEST(equal_rewards_teach_nothing)
{
    static const uint32_t turns[5] = {0};
    double rewards[5];
    for (size_t i = 0; i < 5; i++)
        rewards[i] = 0.1 + 0.2;
    for (const struct rl_estimator *estimator = rl_estimators; estimator->name; estimator++) {
        struct rl_batch batch;
        rl_test_rows(&batch, 5, (const uint32_t[5]){0}, turns, rewards);
        if (strcmp(estimator->name, "return") != 0 && strcmp(estimator->name, "remax") != 0) {
            compute(&batch, estimator);
            for (size_t i = 0; i < 5; i++)
                assert_true(batch.advantage[i] == 0);
        }
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
    struct rl_batch batch;
    struct err err = {0};
    rl_test_rows(&batch, 3, (const uint32_t[3]){0}, turns, rewards);
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
}

/* egae by its own recursion: the return on a row's last token, GAE with γ = λ = 1 and a critic of
 * 0, whitened over the tokens of the batch. */
TEST(egae)
{
    uint64_t seed = 13;
    for (size_t trial = 0; trial < 20; trial++) {
        struct rl_batch batch;
        double count = 0, mean = 0, squares = 0;
        rl_test_batch(&batch, &seed, 2, 3, 3, true);
        double *gae = arena_alloc(&rl_test_arena, batch.tokens * sizeof *gae);
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
    }
}

/* A new estimator needs its row on the page: v, group, b and s as in the code, then a remark. */
TEST(page_has_the_table)
{
    static const char *const values[] = {[RL_RETURN] = "G",
                                         [RL_REWARD] = "R",
                                         [RL_LAST_RETURN] = "G of the last turn",
                                         [RL_FIRST_RETURN] = "G of the first turn"};
    static const char *const spans[] = {
        [RL_SPAN_TURN] = "turn", [RL_SPAN_SO_FAR] = "turns so far", [RL_SPAN_ROLLOUT] = "rollout"};
    static const char *const groups[] = {"prompt and turn", "prompt", "batch"};
    static const char *const baselines[] = {
        [RL_BASELINE_GIVEN] = "given for each row, or 0",
        [RL_BASELINE_MEAN] = "mean",
        [RL_BASELINE_OTHERS] = "mean of the others",
        [RL_BASELINE_OPTIMAL] = "Σ e v / Σ e, e of the ",
        [RL_BASELINE_POSITIONS] = "for each place of a token Σ e v / Σ e, e up to it of the ",
        [RL_BASELINE_GREEDY] = "of the likeliest answers",
        [RL_BASELINE_ZERO] = "0",
        [RL_BASELINE_CRITIC] = "a critic's",
    };
    static const char *const scales[] = {
        [RL_SCALE_NONE] = "1",
        [RL_SCALE_DEVIATION] = "σ + 1e%d",
        [RL_SCALE_OTHERS] = "σ of the others + 1e%d",
        [RL_SCALE_WHITEN] = "then whitened, 1e%d",
    };
    struct err err = {0};
    char *page = NULL;
    size_t count;
    assert_ok(file_read("docs/reference/methods.md", 1 << 20, &page, &count, &err), &err);
    for (const struct rl_estimator *e = rl_estimators; e->name; e++) {
        char scale[64], baseline[128], row[320];
        bool alone = e->baseline == RL_BASELINE_GIVEN || e->baseline == RL_BASELINE_GREEDY ||
                     e->baseline == RL_BASELINE_ZERO || e->baseline == RL_BASELINE_CRITIC;
        assert_true(e->value < COUNT(values) && e->by < COUNT(groups) &&
                    e->baseline < COUNT(baselines) && e->scale < COUNT(scales));
        snprintf(scale, sizeof scale, scales[e->scale],
                 e->epsilon > 0 ? (int)lround(log10(e->epsilon)) : 0);
        snprintf(baseline, sizeof baseline, "%s%s", baselines[e->baseline],
                 rl_estimator_weighs(e) ? spans[e->span] : "");
        snprintf(row, sizeof row, "\n| `%s` | %s | %s | %s | %s | ", e->name, values[e->value],
                 alone ? "–" : groups[e->by], baseline, scale);
        if (!strstr(page, row))
            fail_msg("docs/reference/methods.md lacks the row%s", row);
    }
    mem_free(page);
}
