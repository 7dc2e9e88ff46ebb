/* Advantages that differ between the tokens of a turn, and what is done with all of a step's: each
 * against its definition, written out for one token at a time. */
#include "rl/method/advantage.h"
#include "rl/method/mismatch.h"
#include "rl/method/returns.h"
#include "rl/method/tokens.h"
#include "rl/method/variance.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>
#include <string.h>

TEST_EACH(NULL, rl_test_free);

#define CLOSE 1e-6

static void make(struct rl_batch *batch, uint64_t *seed, bool dropped)
{
    rl_test_batch(batch, seed, 2, 4, 3, dropped);
    rl_returns(batch, &rl_return_defaults);
    for (size_t i = 0; i < batch->tokens; i++) {
        batch->collision[i] = 2 * expf(batch->trained[i]) - 0.9F + 0.1F * fabsf(batch->trained[i]);
        batch->value[i] = (float)rl_test_number(seed);
    }
}

static void estimate(struct rl_batch *batch, const char *name,
                     const struct rl_advantage_options *options)
{
    struct err err = {0};
    assert_ok(rl_advantages(batch, rl_estimator(name), options, &err), &err);
}

static bool counts(const struct rl_batch *batch, size_t row, size_t token)
{
    return batch->drop[row] == 0 && token < batch->first[row + 1] && batch->mask[token];
}

static double token_advantage(const struct rl_batch *batch, size_t row, size_t token)
{
    return batch->advantage[row] + batch->offset[token];
}

/* Σ e of the rollout up to the token; `turn`: of its turn alone. */
static double path_to(const struct rl_batch *batch, size_t row, size_t token, bool turn,
                      const struct rl_advantage_options *options)
{
    double sum = 0;
    for (size_t r = 0; r <= row; r++)
        for (size_t i = batch->first[r]; i < batch->first[r + 1] && i <= token; i++) {
            if (batch->rollout[r] != batch->rollout[row] || (turn && r != row) ||
                !counts(batch, r, i))
                continue;
            double each = options->energy == RL_ENERGY_TOKENS ? 1
                          : options->energy == RL_ENERGY_ROWS
                              ? 1 / (double)rl_row_tokens(batch, r)
                              : 1 - 2 * exp((double)batch->trained[i]) +
                                    (double)batch->collision[i];
            sum += options->energy_importance ? each * batch->weight[i] * batch->weight[i] : each;
        }
    return sum;
}

/* Each place of an answer has a baseline of its own. */
TEST(token_optimal_baseline)
{
    uint64_t seed = 21;
    for (size_t trial = 0; trial < 60; trial++) {
        struct rl_advantage_options options = rl_advantage_defaults;
        struct rl_batch batch;
        make(&batch, &seed, trial % 2);
        options.energy = trial % 3;
        options.energy_importance = trial % 4 == 3;
        rl_importance(&batch, RL_TOKEN, 2, batch.weight);
        estimate(&batch, "token_optimal_baseline", &options);
        for (size_t row = 0; row < batch.rows; row++)
            for (size_t i = batch.first[row]; i < batch.first[row + 1]; i++) {
                double energy = 0, weighed = 0, others = 0;
                for (size_t r = 0; r < batch.rows; r++) {
                    size_t other = batch.first[r] + i - batch.first[row];
                    if (batch.prompt[r] != batch.prompt[row] || batch.turn[r] != batch.turn[row] ||
                        batch.drop[r])
                        continue;
                    others += r != row;
                    if (!counts(&batch, r, other))
                        continue;
                    double path = path_to(&batch, r, other, false, &options);
                    energy += path;
                    weighed += path * batch.returns[r];
                }
                double wanted = batch.returns[row] - (others > 0 ? weighed / energy : 0);
                if (counts(&batch, row, i) &&
                    !(fabs(token_advantage(&batch, row, i) - wanted) < CLOSE))
                    fail_msg("trial %zu, row %zu, token %zu: %g, not %g", trial, row, i,
                             token_advantage(&batch, row, i), wanted);
                assert_true(batch.drop[row] == 0 || token_advantage(&batch, row, i) == 0);
            }
    }
}

/* Three answers of one turn; a token of probability 1/2 of two has an energy of 1/2. */
TEST(optimal_baseline_step)
{
    static const size_t tokens[3] = {2, 1, 2};
    struct rl_batch batch;
    rl_batch_alloc(&batch, &rl_test_arena, 3, 5);
    for (size_t row = 0; row < 3; row++) {
        batch.rollout[row] = (uint32_t)row;
        batch.first[row + 1] = batch.first[row] + tokens[row];
        batch.returns[row] = 3 - (double)row; /* 3, 2, 1 */
    }
    for (size_t i = 0; i < 5; i++) {
        batch.trained[i] = i == 1 ? -0.10536051565782628F : -0.6931471805599453F; /* 0.9, 0.5 */
        batch.collision[i] = i == 1 ? 0.82F : 0.5F; /* energies 0.02, 0.5 */
    }
    estimate(&batch, "optimal_baseline_step", &rl_advantage_defaults);
    double second = (0.52 * 3 + 1 * 1) / 1.52; /* of the two answers that have a second token */
    const double wanted[5] = {1, 3 - second, 0, -1, 1 - second};
    for (size_t row = 0; row < 3; row++)
        for (size_t i = batch.first[row]; i < batch.first[row + 1]; i++)
            assert_true(fabs(token_advantage(&batch, row, i) - wanted[i]) < CLOSE);
    assert_true(fabs(batch.advantage[0] - (1 + 3 - second) / 2) < CLOSE); /* the mean */
}

/* Writes the numbers of the row's unmasked tokens; returns how many. */
static size_t list_tokens(const struct rl_batch *batch, size_t row, size_t *tokens)
{
    size_t count = 0;
    for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
        if (batch->mask[i])
            tokens[count++] = i;
    return count;
}

/* Σ over later tokens of (γ λ)^k δ, and then whitened. Masked tokens are as if not there: they may
 * be padding, or what a tool wrote. */
TEST(critic)
{
    uint64_t seed = 23;
    for (size_t trial = 0; trial < 30; trial++) {
        struct rl_advantage_options options = rl_advantage_defaults;
        struct rl_batch batch;
        double mean = 0, squares = 0, count = 0;
        make(&batch, &seed, true);
        options.gamma = trial % 3 == 0 ? 1 : 0.9;
        options.lambda = trial % 2 == 0 ? 1 : 0.7;
        estimate(&batch, "egae", &options);
        double *wanted = arena_alloc(&rl_test_arena, batch.tokens * sizeof *wanted);
        size_t *tokens = arena_alloc(&rl_test_arena, batch.tokens * sizeof *tokens);
        for (size_t row = 0; row < batch.rows; row++)
            for (size_t i = 0, end = list_tokens(&batch, row, tokens); i < end; i++) {
                for (size_t k = i; k < end; k++) {
                    double delta = (k + 1 < end ? options.gamma * (double)batch.value[tokens[k + 1]]
                                                : batch.returns[row]) -
                                   (double)batch.value[tokens[k]];
                    wanted[tokens[i]] += pow(options.gamma * options.lambda, (double)(k - i)) *
                                         delta;
                }
                mean += counts(&batch, row, tokens[i]) ? wanted[tokens[i]] : 0;
                count += counts(&batch, row, tokens[i]);
            }
        mean /= count;
        for (size_t row = 0; row < batch.rows; row++)
            for (size_t i = batch.first[row]; i < batch.first[row + 1]; i++)
                squares += counts(&batch, row, i) ? pow(wanted[i] - mean, 2) : 0;
        for (size_t row = 0; row < batch.rows; row++)
            for (size_t i = batch.first[row]; i < batch.first[row + 1]; i++)
                if (counts(&batch, row, i))
                    assert_true(fabs(token_advantage(&batch, row, i) -
                                     (wanted[i] - mean) / sqrt(squares / (count - 1) + 1e-8)) <
                                CLOSE);
    }
}

/* Differences from each problem's mean, whitened: five tokens, of which the first row has three. */
TEST(reinforce_plus_plus_baseline)
{
    static const uint32_t prompts[3] = {0, 0, 1};
    struct rl_batch batch;
    rl_batch_alloc(&batch, &rl_test_arena, 3, 5);
    for (size_t row = 0; row < 3; row++) {
        batch.prompt[row] = prompts[row];
        batch.rollout[row] = (uint32_t)row;
        batch.first[row + 1] = 3 + row;
        batch.returns[row] = row == 0 ? 2 : 0.5; /* 0.75, -0.75, and 0.5 alone */
    }
    estimate(&batch, "reinforce_plus_plus_baseline", &rl_advantage_defaults);
    double mean = (3 * 0.75 - 0.75 + 0.5) / 5;
    double squares = 3 * pow(0.75 - mean, 2) + pow(-0.75 - mean, 2) + pow(0.5 - mean, 2);
    assert_true(fabs(batch.advantage[0] - (0.75 - mean) / sqrt(squares / 4 + 1e-8)) < CLOSE);
    assert_true(fabs(batch.advantage[2] - (0.5 - mean) / sqrt(squares / 4 + 1e-8)) < CLOSE);
}

TEST(advantages_of_tokens_reach_the_loss)
{
    struct rl_batch batch;
    uint64_t seed = 25;
    make(&batch, &seed, false);
    double *weight = arena_alloc(&rl_test_arena, 2 * batch.tokens * sizeof *weight);
    double *advantage = weight + batch.tokens;
    estimate(&batch, "token_optimal_baseline", &rl_advantage_defaults);
    rl_token_weights(&batch, &rl_normalisation_defaults, weight);
    rl_token_advantages(&batch, weight, NULL, advantage);
    bool apart = false;
    for (size_t row = 0; row < batch.rows; row++)
        for (size_t i = batch.first[row]; i < batch.first[row + 1]; i++) {
            double wanted = counts(&batch, row, i) ? token_advantage(&batch, row, i) * weight[i]
                                                   : 0;
            assert_true(fabs(advantage[i] - wanted) < 1e-12);
            apart |= fabs(batch.offset[i]) > 0.01;
        }
    assert_true(apart);
    estimate(&batch, "trloo", &rl_advantage_defaults);
    for (size_t i = 0; i < batch.tokens; i++)
        assert_true(batch.offset[i] == 0);
}

/* Two problems of two answers with A = ±1 and ±3, e = 1 for each, and a lonely one. */
static void five_rows(struct rl_batch *batch)
{
    static const double advantages[5] = {1, -1, 3, -3, 7};
    rl_batch_alloc(batch, &rl_test_arena, 5, 5);
    for (size_t row = 0; row < 5; row++) {
        batch->prompt[row] = (uint32_t)(row / 2);
        batch->rollout[row] = (uint32_t)row;
        batch->first[row + 1] = row + 1;
        batch->advantage[row] = advantages[row];
    }
}

TEST(reweighing)
{
    struct rl_advantage_options options = rl_advantage_defaults;
    struct rl_batch batch;
    struct err err = {0};
    five_rows(&batch);
    assert_int_equal(rl_reweigh(&batch, RL_REWEIGH_PROMPTS, &options, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "whole distribution"));
    options.energy = RL_ENERGY_ROWS;
    assert_ok(rl_reweigh(&batch, RL_REWEIGH_PROMPTS, &options, &err), &err);
    /* Variances 1 and 9, so factors 2 · 0.9 and 2 · 0.1; none for a problem of one answer. */
    const double prompts[5] = {1.8, -1.8, 0.6, -0.6, 0};
    for (size_t row = 0; row < 5; row++)
        assert_true(fabs(batch.advantage[row] - prompts[row]) < CLOSE);
    five_rows(&batch);
    batch.drop[4] = RL_VOID; /* it counts nowhere */
    batch.advantage[4] = 0;
    assert_ok(rl_reweigh(&batch, RL_REWEIGH_BATCH, &options, &err), &err);
    for (size_t row = 0; row < 4; row++) /* E = V = 5 */
        assert_true(fabs(batch.advantage[row] - (row % 2 ? -0.5 : 0.5) * (row < 2 ? 1 : 3)) <
                    CLOSE);
    five_rows(&batch);
    batch.drop[4] = RL_VOID;
    assert_ok(rl_reweigh(&batch, RL_REWEIGH_BOTH, &options, &err), &err);
    assert_true(fabs(batch.advantage[2] - 0.3) < CLOSE);
}

TEST(standardising)
{
    struct rl_batch batch;
    five_rows(&batch);
    batch.drop[4] = RL_VOID;
    rl_standardise(&batch);
    for (size_t row = 0; row < 4; row++)
        assert_true(fabs(batch.advantage[row] -
                         (row % 2 ? -1 : 1) * (row < 2 ? 1 : 3) / sqrt(20. / 3)) < CLOSE);
    for (size_t row = 0; row < 5; row++)
        batch.advantage[row] = 2;
    rl_standardise(&batch); /* all alike: unchanged */
    assert_true(batch.advantage[0] == 2);
    /* Tokens of one row that differ: 0, 2 and 4 of two rows. */
    rl_batch_alloc(&batch, &rl_test_arena, 2, 3);
    batch.rollout[1] = 1;
    batch.first[1] = 2;
    batch.first[2] = 3;
    batch.advantage[0] = 1;
    batch.advantage[1] = 4;
    batch.offset[0] = -1;
    batch.offset[1] = 1;
    rl_standardise(&batch);
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(token_advantage(&batch, i == 2, i) - ((double)i - 1)) < CLOSE);
}
