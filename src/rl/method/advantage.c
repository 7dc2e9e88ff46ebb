#include "rl/method/advantage.h"

#include <math.h>
#include <string.h>

const struct rl_estimator rl_estimators[] = {
    {"trloo", RL_RETURN, RL_BY_TURN, RL_BASELINE_OTHERS, .scale = RL_SCALE_NONE},
    {"grpo", RL_RETURN, RL_BY_TURN, RL_BASELINE_MEAN, .scale = RL_SCALE_NONE},
    {"grpo_std", RL_RETURN, RL_BY_TURN, RL_BASELINE_MEAN, RL_SCALE_DEVIATION, 1e-6},
    {"turn_independent_grpo", RL_REWARD, RL_BY_PROMPT, RL_BASELINE_MEAN, .scale = RL_SCALE_NONE},
    {"erloo", RL_RETURN, RL_BY_PROMPT, RL_BASELINE_OTHERS, .scale = RL_SCALE_NONE},
    {"erloo_norm", RL_RETURN, RL_BY_PROMPT, RL_BASELINE_OTHERS, RL_SCALE_OTHERS, 1e-8},
    {"reinforce", RL_RETURN, RL_BY_BATCH, RL_BASELINE_MEAN, RL_SCALE_DEVIATION, 1e-6},
    {"egae", RL_RETURN, RL_BY_BATCH, RL_BASELINE_TOKENS, RL_SCALE_WHITEN, 1e-8},
    {"return", RL_RETURN, RL_BY_BATCH, RL_BASELINE_GIVEN, .scale = RL_SCALE_NONE},
    {"turn_optimal_baseline", RL_RETURN, RL_BY_TURN, RL_BASELINE_OPTIMAL, .scale = RL_SCALE_NONE},
    {"optimal_baseline", RL_RETURN, RL_BY_PROMPT, RL_BASELINE_OPTIMAL, .scale = RL_SCALE_NONE},
    {"rloo", RL_LAST_RETURN, RL_BY_PROMPT, RL_BASELINE_OTHERS, .scale = RL_SCALE_NONE},
    {"grpo_last", RL_LAST_RETURN, RL_BY_PROMPT, RL_BASELINE_MEAN, .scale = RL_SCALE_NONE},
    {"grpo_std_last", RL_LAST_RETURN, RL_BY_PROMPT, RL_BASELINE_MEAN, RL_SCALE_DEVIATION, 1e-6},
    {"reinforce_plus_plus", RL_LAST_RETURN, RL_BY_BATCH, RL_BASELINE_TOKENS, RL_SCALE_WHITEN, 1e-8},
    {.name = NULL},
};

const struct rl_advantage_options rl_advantage_defaults = {.out = RL_ANY};

const struct rl_estimator *rl_estimator(const char *name)
{
    for (const struct rl_estimator *estimator = rl_estimators; estimator->name; estimator++)
        if (strcmp(estimator->name, name) == 0)
            return estimator;
    return NULL;
}

struct member {
    size_t row;
    double value, weight, energy;
};

struct sums {
    double weight;  /* Σ w: the number of members */
    double mean;    /* Σ w v / Σ w */
    double squares; /* Σ w (v - mean)² */
    double optimal; /* Σ w e v / Σ w e */
};

/* Sums of differences from the first: the mean of equal values is that value, to the bit. */
static struct sums sum_members(const struct member *members, size_t count)
{
    struct sums sums = {.mean = members[0].value, .optimal = members[0].value};
    double shifted = 0;
    double energy = 0;
    double energy_shifted = 0;
    for (size_t i = 0; i < count; i++) {
        double from_first = members[i].value - members[0].value;
        sums.weight += members[i].weight;
        shifted += members[i].weight * from_first;
        energy += members[i].weight * members[i].energy;
        energy_shifted += members[i].weight * members[i].energy * from_first;
    }
    sums.mean += sums.weight > 0 ? shifted / sums.weight : 0;
    sums.optimal = energy > 0 ? sums.optimal + energy_shifted / energy : sums.mean;
    for (size_t i = 0; i < count; i++)
        sums.squares += members[i].weight * pow(members[i].value - sums.mean, 2);
    return sums;
}

static double centred_value(const struct rl_estimator *estimator, const struct sums *sums,
                            double value)
{
    switch (estimator->baseline) {
    case RL_BASELINE_OTHERS:
        return sums->weight / (sums->weight - 1) * (value - sums->mean);
    case RL_BASELINE_OPTIMAL:
        return value - sums->optimal;
    default:
        return value - sums->mean;
    }
}

/* Sample deviation of all but member `self`; 1 for a single one. Two passes: the rounding error of
 * a difference of sums would be divided by almost 0. */
static double others_deviation(const struct member *members, size_t count, size_t self,
                               double epsilon)
{
    const struct member *first = &members[self == 0 ? 1 : 0];
    double mean = 0;
    double squares = 0;
    if (count <= 2)
        return 1;
    for (size_t i = 0; i < count; i++)
        mean += i == self ? 0 : (members[i].value - first->value) / (double)(count - 1);
    for (size_t i = 0; i < count; i++)
        squares += i == self ? 0 : pow(members[i].value - first->value - mean, 2);
    return sqrt(squares / (double)(count - 2)) + epsilon;
}

static double group_scale(const struct rl_estimator *estimator, const struct sums *sums,
                          const struct member *members, size_t count, size_t self)
{
    switch (estimator->scale) {
    case RL_SCALE_DEVIATION:
        return sqrt(sums->squares / (sums->weight - 1)) + estimator->epsilon;
    case RL_SCALE_WHITEN:
        return sqrt(sums->squares / (sums->weight - 1) + estimator->epsilon);
    case RL_SCALE_OTHERS:
        return others_deviation(members, count, self, estimator->epsilon);
    default:
        return 1;
    }
}

static void estimate_group(struct rl_batch *batch, const struct rl_estimator *estimator,
                           const struct rl_advantage_options *options, const struct member *members,
                           size_t count)
{
    if (estimator->baseline == RL_BASELINE_GIVEN) {
        for (size_t i = 0; i < count; i++)
            batch->advantage[members[i].row] =
                members[i].value - (options->baseline ? options->baseline[members[i].row] : 0);
        return;
    }
    struct sums sums = sum_members(members, count);
    for (size_t i = 0; i < count; i++) {
        double value = members[i].value;
        double alone = options->singleton_zero ? 0 : value;
        batch->advantage[members[i].row] = sums.weight <= 1
                                               ? alone
                                               : centred_value(estimator, &sums, value) /
                                                     group_scale(estimator, &sums, members, count,
                                                                 i);
    }
}

/* NAN: unknown. */
static double score_energy(const struct rl_batch *batch, size_t row)
{
    double energy = 0;
    for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
        if (batch->mask[i])
            energy += 1 - 2 * exp((double)batch->trained[i]) + (double)batch->collision[i];
    return energy;
}

static void read_members(const struct rl_batch *batch, const struct rl_estimator *estimator,
                         const size_t *rows, size_t count, struct member *members)
{
    const double *values = estimator->value == RL_REWARD ? batch->reward : batch->returns;
    for (size_t i = 0; i < count; i++) {
        size_t row = rows[i];
        members[i] = (struct member){
            .row = row,
            .value = values[row],
            .weight = estimator->baseline == RL_BASELINE_TOKENS ? (double)rl_row_tokens(batch, row)
                                                                : 1,
            .energy = estimator->baseline == RL_BASELINE_OPTIMAL ? score_energy(batch, row) : 0,
        };
    }
}

/* Copies the value of the row that counted to all rows of its rollout. */
static void copy_last_turn(struct rl_batch *batch)
{
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        double value = 0;
        end = rl_rollout_end(batch, row);
        for (size_t i = row; i < end; i++)
            value = batch->advantage[i] != 0 ? batch->advantage[i] : value;
        for (size_t i = row; i < end; i++)
            batch->advantage[i] = value;
    }
}

int rl_advantages(struct rl_batch *batch, const struct rl_estimator *estimator,
                  const struct rl_advantage_options *options, struct err *err)
{
    struct rl_groups groups;
    for (size_t row = 0; row < batch->rows && estimator->baseline == RL_BASELINE_OPTIMAL; row++)
        if (!(batch->drop[row] & options->out) && isnan(score_energy(batch, row)))
            return err_set(err, ERR_INPUT,
                           "'%s' needs the whole distribution of each token, which this training "
                           "backend does not report; choose another estimator",
                           estimator->name);
    struct member *members = mem_alloc((batch->rows + 1) * sizeof *members);
    memset(batch->advantage, 0, batch->rows * sizeof *batch->advantage);
    rl_groups_init(&groups, batch, estimator->by, options->out, estimator->value == RL_LAST_RETURN);
    for (size_t g = 0; g < groups.count; g++) {
        const size_t *rows = groups.rows + groups.start[g];
        size_t count = groups.start[g + 1] - groups.start[g];
        read_members(batch, estimator, rows, count, members);
        estimate_group(batch, estimator, options, members, count);
    }
    if (estimator->value == RL_LAST_RETURN)
        copy_last_turn(batch);
    for (size_t row = 0; row < batch->rows; row++)
        if (batch->drop[row])
            batch->advantage[row] = 0;
    rl_groups_deinit(&groups);
    mem_free(members);
    return 0;
}
