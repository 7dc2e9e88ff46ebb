/* What tokens weigh: each aggregation's loss written out, counted and nominal, and the KL penalty.
 * */
#include "rl/method/tokens.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>

TEST_EACH(NULL, rl_test_free);

#define CLOSE 1e-9
#define TOKENS 9

/* Four rows: 3 tokens, one of them masked; 4 tokens; 1, dropped; 1, masked. */
static void four_rows(struct rl_batch *batch)
{
    static const size_t first[5] = {0, 3, 7, 8, 9};
    rl_batch_alloc(batch, &rl_test_arena, 4, TOKENS);
    memcpy(batch->first, first, sizeof first);
    for (size_t row = 0; row < 4; row++) {
        batch->rollout[row] = (uint32_t)row;
        batch->advantage[row] = (double)row + 1;
    }
    batch->mask[1] = batch->mask[8] = false;
    batch->drop[2] = RL_COVERAGE;
}

static const struct {
    struct rl_normalisation normalisation;
    double weights[2]; /* of a token of the first row, and of the second */
} rows[] = {
    {{RL_TOKEN_MEAN, 0, 0, 1, 0}, {1. / 6, 1. / 6}},
    {{RL_SEQ_MEAN_TOKEN_SUM, 0, 0, 1, 0}, {1. / 2, 1. / 2}},
    {{RL_SEQ_MEAN_TOKEN_SUM, 0, 0, 1000, 0}, {1. / 2000, 1. / 2000}},
    {{RL_SEQ_MEAN_TOKEN_SUM, 4, 0, 1000, 0}, {1. / 4000, 1. / 4000}},
    {{RL_SEQ_MEAN_TOKEN_MEAN, 0, 0, 1, 0}, {1. / 4, 1. / 8}},
    {{RL_SEQ_MEAN_TOKEN_MEAN, 4, 0, 1, 0}, {1. / 8, 1. / 16}},
    {{RL_SEQ_MEAN_TOKEN_SUM_NORM, 0, 0, 1, 0}, {1. / 8, 1. / 8}},
    {{RL_SEQ_MEAN_TOKEN_SUM_NORM, 0, 100, 1, 0}, {1. / 200, 1. / 200}},
    {{RL_SEQ_SUM, 4, 100, 1, 0}, {1, 1}},
    {{RL_SEQ_SUM, 0, 0, 2, 0}, {0.5, 0.5}},
    /* Two rows: padded to three the first counts twice, to five it does three times. */
    {{RL_SEQ_MEAN_TOKEN_SUM, 0, 0, 1, 2}, {1. / 2, 1. / 2}},
    {{RL_SEQ_MEAN_TOKEN_SUM, 0, 0, 1, 3}, {2. / 3, 1. / 3}},
    {{RL_SEQ_MEAN_TOKEN_MEAN, 0, 0, 1, 5}, {3. / 10, 2. / 20}},
    {{RL_TOKEN_MEAN, 0, 0, 1, 3}, {2. / 8, 1. / 8}},
    {{RL_SEQ_MEAN_TOKEN_SUM, 4, 0, 1, 3}, {2. / 4, 1. / 4}},
};

TEST(weights)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_batch batch;
        double importance[TOKENS];
        double weight[TOKENS];
        double advantage[TOKENS];
        four_rows(&batch);
        for (size_t t = 0; t < TOKENS; t++)
            importance[t] = 1 + 0.1 * (double)t;
        rl_token_weights(&batch, &rows[i].normalisation, weight);
        rl_token_advantages(&batch, weight, importance, advantage);
        for (size_t t = 0; t < TOKENS; t++) {
            bool counts = t < 7 && t != 1;
            double wanted = counts ? rows[i].weights[t >= 3] : 0;
            double row = t >= 3 ? 2 : 1;
            if (!(fabs(weight[t] - wanted) < CLOSE))
                fail_msg("row %zu, token %zu: %g", i, t, weight[t]);
            assert_true(fabs(advantage[t] - wanted * row * importance[t]) < CLOSE);
        }
        rl_token_advantages(&batch, weight, NULL, advantage);
        assert_true(fabs(advantage[6] - 2 * weight[6]) < CLOSE);
    }
}

/* Weights of a mean add up to what the mean of ones is. */
TEST(means)
{
    uint64_t seed = 2;
    for (size_t trial = 0; trial < 20; trial++) {
        static const enum rl_aggregation means[] = {RL_TOKEN_MEAN, RL_SEQ_MEAN_TOKEN_MEAN};
        struct rl_batch batch;
        rl_test_batch(&batch, &seed, 3, 4, 3, true);
        double *weight = arena_alloc(&rl_test_arena, batch.tokens * sizeof *weight);
        for (size_t m = 0; m < 2; m++) {
            struct rl_normalisation normalisation = {.aggregation = means[m], .scale = 1};
            double sum = 0;
            rl_token_weights(&batch, &normalisation, weight);
            for (size_t i = 0; i < batch.tokens; i++)
                sum += weight[i];
            assert_true(fabs(sum - 1) < CLOSE);
        }
        memset(batch.drop, RL_VETO, batch.rows);
        rl_token_weights(&batch, &rl_normalisation_defaults, weight);
        for (size_t i = 0; i < batch.tokens; i++)
            assert_true(weight[i] == 0);
    }
}

/* d of the tokens that count: 1, 3 in the first row, 0, 0, 0, 2 in the second; their mean is 1. */
TEST(kl)
{
    static const float base[TOKENS] = {-1, 50, -3, 0, 0, 0, -2, 9, 9};
    static const struct {
        double discount, wanted[TOKENS];
    } penalties[] = {
        {0, {0, 0, -2, 1, 1, 1, -1, 0, 0}},
        {0.5, {-1, 0, -2, 1.625, 1.25, 0.5, -1, 0, 0}},
    };
    struct rl_batch batch;
    double weight[TOKENS];
    four_rows(&batch);
    rl_token_weights(&batch, &(struct rl_normalisation){.aggregation = RL_SEQ_SUM, .scale = 2},
                     weight);
    for (size_t i = 0; i < 2; i++) {
        double advantage[TOKENS];
        for (size_t t = 0; t < TOKENS; t++)
            advantage[t] = 10;
        double mean = rl_kl_penalty(&batch, base, 0.1, penalties[i].discount, weight, advantage);
        assert_true(fabs(mean - 1) < CLOSE);
        for (size_t t = 0; t < TOKENS; t++)
            if (!(fabs(advantage[t] - 10 - 0.05 * penalties[i].wanted[t]) < CLOSE))
                fail_msg("discount %g, token %zu: %g", penalties[i].discount, t, advantage[t]);
    }
}

TEST(adaptive_penalty)
{
    assert_true(fabs(rl_kl_adapt(0.1, 0.022, 0.02, 64, 1000) - 0.1 * (1 + 0.1 * 0.064)) < 1e-12);
    assert_true(fabs(rl_kl_adapt(0.1, 9, 0.02, 64, 1000) - 0.1 * (1 + 0.2 * 0.064)) < 1e-12);
    assert_true(fabs(rl_kl_adapt(0.1, -9, 0.02, 64, 1000) - 0.1 * (1 - 0.2 * 0.064)) < 1e-12);
    assert_true(rl_kl_adapt(0.1, 9, 0.02, 0, 1000) == 0.1);
    assert_true(rl_kl_adapt(0.1, NAN, 0.02, 64, 1000) > 0); /* an unknown distance is no reason */
}
