#include "rl/method/returns.h"

#include "gym/reward/reward.h"

#include <math.h>
#include <string.h>

static void return_max(const double *rewards, const bool *excluded, size_t count, double gamma,
                       double *returns)
{
    bool none = true; /* no turn counts so far */
    double next = 0;
    for (size_t i = count; i-- > 0;) {
        if (!excluded[i]) {
            next = none || rewards[i] > gamma * next ? rewards[i] : gamma * next;
            none = false;
        }
        returns[i] = next;
    }
}

static void return_final(const double *rewards, const bool *excluded, size_t count, double gamma,
                         double *returns)
{
    double *only = mem_alloc((count + 1) * sizeof *only);
    size_t last = count;
    while (last > 0 && excluded[last - 1])
        last--;
    if (last > 0)
        only[last - 1] = rewards[last - 1];
    reward_returns(only, excluded, count, gamma, returns);
    mem_free(only);
}

static void return_turn(const double *rewards, const bool *excluded, size_t count, double gamma,
                        double *returns)
{
    for (size_t i = 0; i < count; i++)
        returns[i] = excluded[i] ? 0 : rewards[i];
}

static void return_episode(const double *rewards, const bool *excluded, size_t count, double gamma,
                           double *returns)
{
    reward_returns(rewards, excluded, count, gamma, returns);
    for (size_t i = 1; i < count; i++)
        returns[i] = returns[0];
}

static void return_kernel_rl(const double *rewards, const bool *excluded, size_t count,
                             double gamma, double *returns)
{
    double total = 0;
    reward_returns(rewards, excluded, count, gamma, returns);
    for (size_t i = 0; i < count; i++)
        total += excluded[i] ? 0 : returns[i];
    for (size_t i = 0; i < count; i++)
        returns[i] = total;
}

const struct rl_return_rule rl_return_rules[] = {
    {"sum", reward_returns},
    {"max", return_max},
    {"final", return_final},
    {"turn", return_turn},
    {"episode", return_episode},
    {"kernel_rl", return_kernel_rl},
    {NULL, NULL},
};

const struct rl_return_options rl_return_defaults = {
    .rule = &rl_return_rules[0],
    .gamma = 1,
    .without = RL_VOID | RL_COVERAGE,
};

const struct rl_return_rule *rl_return_rule(const char *name)
{
    for (const struct rl_return_rule *rule = rl_return_rules; rule->name; rule++)
        if (strcmp(rule->name, name) == 0)
            return rule;
    return NULL;
}

static void shape_rewards(double *rewards, const bool *excluded, size_t count,
                          const struct rl_return_options *options)
{
    double before = 0;
    size_t last = count;
    while (last > 0 && excluded[last - 1])
        last--;
    if (options->shaping == RL_RESIDUAL_UNBIASED && last > 0)
        rewards[last - 1] *= 1 - options->gamma;
    for (size_t i = 0; i < count; i++) {
        double reward = rewards[i];
        if (excluded[i])
            continue;
        rewards[i] -= before;
        before = reward;
    }
}

/* The returns of rows [from, to), which are one rollout. */
static void reward_outcome(struct rl_batch *batch, const struct rl_return_options *options,
                           size_t from, size_t to)
{
    bool solved = false;
    size_t last = to;
    for (size_t row = from; row < to; row++) {
        bool counts = !(batch->drop[row] & RL_EXCLUDED);
        solved |= counts && batch->correct[row];
        last = counts ? row : last;
    }
    if (last < to)
        batch->returns[last] += solved ? options->bonus : -options->penalty;
}

static void normalise_returns(struct rl_batch *batch, size_t from, size_t to)
{
    double count = 0, mean = 0, squares = 0;
    for (size_t row = from; row < to; row++) {
        if (batch->drop[row] & RL_EXCLUDED)
            continue;
        double off = batch->returns[row] - mean;
        mean += off / ++count;
        squares += off * (batch->returns[row] - mean);
    }
    double deviation = count > 1 ? sqrt(squares / count) : 0;
    for (size_t row = from; deviation > 1e-8 && row < to; row++)
        batch->returns[row] = (batch->returns[row] - mean) / deviation;
}

void rl_returns(struct rl_batch *batch, const struct rl_return_options *options)
{
    double *rewards = mem_alloc((batch->rows + 1) * sizeof *rewards);
    bool *excluded = mem_alloc((batch->rows + 1) * sizeof *excluded);
    for (size_t row = 0; row < batch->rows; row++) {
        excluded[row] = batch->drop[row] & RL_EXCLUDED;
        rewards[row] = batch->drop[row] & options->without ? 0 : batch->reward[row];
    }
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        end = rl_rollout_end(batch, row);
        if (options->shaping != RL_UNSHAPED)
            shape_rewards(rewards + row, excluded + row, end - row, options);
        options->rule->compute(rewards + row, excluded + row, end - row, options->gamma,
                               batch->returns + row);
        reward_outcome(batch, options, row, end);
        if (options->normalise)
            normalise_returns(batch, row, end);
    }
    mem_free(rewards);
    mem_free(excluded);
}
