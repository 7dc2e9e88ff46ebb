/* Losses with a turn's ratio and with a KL: values by hand, and slopes against differences. */
#include "rl/method/overlong.h"
#include "rl/method/token_loss.h"

#include "../support/test.h"

#include <math.h>

#define CLOSE 1e-5

/* Two tokens that count, of ratios 1.2 and 1, and one that does not. Their turn has √1.2. */
static const float trained[3] = {-0.8176784F, -0.5F, -3};
static const float sampled[3] = {-1, -0.5F, NAN};

static struct loss_sums turn_loss(const char *name, const float *advantages, double low,
                                  double high, float *slope)
{
    const struct loss *loss = loss_find(name);
    struct loss_config config = loss_config_defaults;
    struct loss_sums sums;
    struct err err = {0};
    if (high > 0) {
        config.clip_low = low;
        config.clip_high = high;
    }
    assert_ok(loss_config_check(loss, &config, &err), &err);
    const struct loss_input input = {.count = 3,
                                     .targets_per_row = 1,
                                     .logprob = trained,
                                     .sampled = sampled,
                                     .advantages = advantages};
    rl_turn_loss(loss, &config, &input, slope, &sums);
    return sums;
}

TEST(ratio_of_a_turn)
{
    static const float good[3] = {2, 1, 0}, bad[3] = {-2, -1, 0};
    float slope[3];
    double ratio = sqrt(1.2);
    struct loss_sums sums = turn_loss("importance_sampling", good, 0, 0, slope);
    assert_true(fabs(sums.loss + 3 * ratio) < CLOSE && sums.tokens == 2);
    assert_true(fabs((double)slope[0] + 2 * ratio) < CLOSE);
    assert_true(fabs((double)slope[1] + ratio) < CLOSE && slope[2] == 0);
    sums = turn_loss("ppo", good, 0.9, 1.05, slope); /* above the bound: both tokens */
    assert_true(fabs(sums.loss + 3 * 1.05) < CLOSE && sums.clipped == 2);
    assert_true(slope[0] == 0 && slope[1] == 0);
    sums = turn_loss("ppo", bad, 0.9, 1.05, slope); /* it may still fall */
    assert_true(fabs(sums.loss - 3 * ratio) < CLOSE && sums.clipped == 0);
    assert_true(fabs((double)slope[0] - 2 * ratio) < CLOSE);
    sums = turn_loss("ppo", good, 0.9, 1.1, slope); /* token 0 alone would be beyond */
    assert_true(fabs(sums.loss + 3 * ratio) < CLOSE && sums.clipped == 0);
}

static double kl_of(enum rl_kl_estimator estimator, float p, float base, float *slope)
{
    const float weight = 0.5F;
    const struct loss_input input = {.count = 1,
                                     .targets_per_row = 1,
                                     .logprob = &p,
                                     .weights = &weight};
    struct loss_sums sums = {.loss = 1};
    *slope = 3;
    rl_kl_loss(estimator, 0.1, &input, &base, slope, &sums);
    *slope -= 3;
    return (sums.loss - 1) / 0.05;
}

TEST(kl_in_the_loss)
{
    float slope, ignored;
    double x = -0.25; /* base - p */
    assert_true(fabs(kl_of(RL_K1, -0.5F, -0.75F, &slope) - 0.25) < CLOSE);
    assert_true(fabs(kl_of(RL_K2, -0.5F, -0.75F, &slope) - 0.03125) < CLOSE);
    assert_true(fabs(kl_of(RL_K3, -0.5F, -0.75F, &slope) - (exp(x) - x - 1)) < CLOSE);
    assert_true(fabs(kl_of(RL_K3, -40, -0.5F, &slope) - 10) < CLOSE && slope == 0);
    assert_true(kl_of(RL_K3, -0.5F, NAN, &slope) == 0 && slope == 0);
    for (int estimator = RL_K1; estimator <= RL_K3; estimator++) {
        double above = kl_of((enum rl_kl_estimator)estimator, -0.499F, -0.75F, &ignored);
        double below = kl_of((enum rl_kl_estimator)estimator, -0.501F, -0.75F, &ignored);
        kl_of((enum rl_kl_estimator)estimator, -0.5F, -0.75F, &slope);
        assert_true(fabs((double)slope / 0.05 - (above - below) / 0.002) < 1e-3);
    }
}

TEST(overlong)
{
    static const struct {
        size_t tokens;
        double penalty;
    } rows[] = {{1, 0}, {80, 0}, {85, 0.5}, {90, 1}, {100, 2}, {105, 2.5}};
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_true(fabs(rl_overlong_penalty(rows[i].tokens, 100, 20, 2) - rows[i].penalty) <
                    1e-12);
    assert_true(rl_overlong_penalty(1000, 100, 0, 2) == 0);
}
