#include "rl/method/advantage.h"

#include "rl/method/energy.h"
#include "rl/method/token_advantage.h"

#include <math.h>
#include <string.h>

const struct rl_estimator rl_estimators[] = {
    {"trloo", RL_RETURN, RL_BY_TURN, RL_BASELINE_OTHERS, .scale = RL_SCALE_NONE},
    {"grpo", RL_RETURN, RL_BY_TURN, RL_BASELINE_MEAN, .scale = RL_SCALE_NONE},
    {"grpo_std", RL_RETURN, RL_BY_TURN, RL_BASELINE_MEAN, RL_SCALE_DEVIATION, .epsilon = 1e-6},
    {"turn_independent_grpo", RL_REWARD, RL_BY_PROMPT, RL_BASELINE_MEAN, .scale = RL_SCALE_NONE},
    {"erloo", RL_RETURN, RL_BY_PROMPT, RL_BASELINE_OTHERS, .scale = RL_SCALE_NONE},
    {"erloo_norm", RL_RETURN, RL_BY_PROMPT, RL_BASELINE_OTHERS, RL_SCALE_OTHERS, .epsilon = 1e-8},
    {"reinforce", RL_RETURN, RL_BY_BATCH, RL_BASELINE_MEAN, RL_SCALE_DEVIATION, .epsilon = 1e-6},
    {"egae", RL_RETURN, RL_BY_BATCH, RL_BASELINE_CRITIC, RL_SCALE_WHITEN, .epsilon = 1e-8},
    {"return", RL_RETURN, RL_BY_BATCH, RL_BASELINE_GIVEN, .scale = RL_SCALE_NONE},
    {"turn_optimal_baseline", RL_RETURN, RL_BY_TURN, RL_BASELINE_OPTIMAL, .span = RL_SPAN_SO_FAR},
    {"optimal_baseline", RL_FIRST_RETURN, RL_BY_PROMPT, RL_BASELINE_OPTIMAL,
     .span = RL_SPAN_ROLLOUT},
    {"token_optimal_baseline", RL_RETURN, RL_BY_TURN, RL_BASELINE_POSITIONS,
     .span = RL_SPAN_SO_FAR},
    {"optimal_baseline_step", RL_LAST_RETURN, RL_BY_PROMPT, RL_BASELINE_POSITIONS,
     .span = RL_SPAN_TURN},
    {"turn_score_baseline", RL_RETURN, RL_BY_TURN, RL_BASELINE_OPTIMAL, .span = RL_SPAN_TURN},
    {"score_baseline", RL_RETURN, RL_BY_PROMPT, RL_BASELINE_OPTIMAL, .span = RL_SPAN_TURN},
    {"rloo", RL_LAST_RETURN, RL_BY_PROMPT, RL_BASELINE_OTHERS, .scale = RL_SCALE_NONE},
    {"remax", RL_LAST_RETURN, RL_BY_BATCH, RL_BASELINE_GREEDY, .scale = RL_SCALE_NONE},
    {"grpo_last", RL_LAST_RETURN, RL_BY_PROMPT, RL_BASELINE_MEAN, .scale = RL_SCALE_NONE},
    {"grpo_std_last", RL_LAST_RETURN, RL_BY_PROMPT, RL_BASELINE_MEAN, RL_SCALE_DEVIATION,
     .epsilon = 1e-6},
    {"reinforce_plus_plus", RL_LAST_RETURN, RL_BY_BATCH, RL_BASELINE_ZERO, RL_SCALE_WHITEN,
     .epsilon = 1e-8},
    {"reinforce_plus_plus_baseline", RL_LAST_RETURN, RL_BY_PROMPT, RL_BASELINE_MEAN,
     RL_SCALE_WHITEN, .epsilon = 1e-8},
    {"gae", RL_LAST_RETURN, RL_BY_BATCH, RL_BASELINE_CRITIC, RL_SCALE_WHITEN, .epsilon = 1e-8},
    {.name = NULL},
};

const struct rl_advantage_options rl_advantage_defaults = {.out = RL_ANY, .gamma = 1, .lambda = 1};

const struct rl_estimator *rl_estimator(const char *name)
{
    for (const struct rl_estimator *estimator = rl_estimators; estimator->name; estimator++)
        if (strcmp(estimator->name, name) == 0)
            return estimator;
    return NULL;
}

bool rl_estimator_weighs(const struct rl_estimator *estimator)
{
    return estimator->baseline == RL_BASELINE_OPTIMAL ||
           estimator->baseline == RL_BASELINE_POSITIONS;
}

bool rl_estimator_once(const struct rl_estimator *estimator)
{
    return estimator->value == RL_LAST_RETURN || estimator->value == RL_FIRST_RETURN;
}

struct member {
    size_t row;
    double value, energy;
};

struct sums {
    double count;
    double mean;
    double squares; /* Σ (v - mean)² */
    double optimal; /* Σ e v / Σ e */
};

/* Sums of differences from the first: the mean of equal values is that value, to the bit. */
static struct sums sum_members(const struct member *members, size_t count)
{
    struct sums sums = {.count = (double)count,
                        .mean = members[0].value,
                        .optimal = members[0].value};
    double shifted = 0, energy = 0, energy_shifted = 0;
    for (size_t i = 0; i < count; i++) {
        double from_first = members[i].value - members[0].value;
        shifted += from_first;
        energy += members[i].energy;
        energy_shifted += members[i].energy * from_first;
    }
    sums.mean += shifted / sums.count;
    sums.optimal = energy > 0 ? sums.optimal + energy_shifted / energy : sums.mean;
    for (size_t i = 0; i < count; i++)
        sums.squares += pow(members[i].value - sums.mean, 2);
    return sums;
}

static double centred_value(const struct rl_estimator *estimator, const struct sums *sums,
                            double value)
{
    switch (estimator->baseline) {
    case RL_BASELINE_OTHERS:
        return sums->count / (sums->count - 1) * (value - sums->mean);
    case RL_BASELINE_OPTIMAL:
        return value - sums->optimal;
    case RL_BASELINE_ZERO:
        return value;
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
        return sqrt(sums->squares / (sums->count - 1)) + estimator->epsilon;
    case RL_SCALE_OTHERS:
        return others_deviation(members, count, self, estimator->epsilon);
    default:
        return 1;
    }
}

/* What all rows of a step share. */
struct estimate {
    struct rl_batch *batch;
    const struct rl_estimator *estimator;
    const struct rl_advantage_options *options;
    double *path, *energy; /* of rl_energies; zero where nothing is weighed */
    struct member *members;
    double *values; /* of the members */
};

static void estimate_given(const struct estimate *estimate, size_t count)
{
    const double *baseline = estimate->options->baseline;
    for (size_t i = 0; i < count; i++) {
        size_t row = estimate->members[i].row;
        double given = baseline ? baseline[row] : 0;
        estimate->batch->advantage[row] = isnan(given) ? 0 : estimate->values[i] - given;
    }
}

static void estimate_members(const struct estimate *estimate, size_t count)
{
    const struct member *members = estimate->members;
    struct sums sums = sum_members(members, count);
    for (size_t i = 0; i < count; i++) {
        double value = members[i].value, alone = estimate->options->singleton_zero ? 0 : value;
        estimate->batch->advantage[members[i].row] =
            count == 1 ? alone
                       : centred_value(estimate->estimator, &sums, value) /
                             group_scale(estimate->estimator, &sums, members, count, i);
    }
}

static void estimate_group(const struct estimate *estimate, const size_t *rows, size_t count)
{
    const enum rl_baseline baseline = estimate->estimator->baseline;
    if (baseline == RL_BASELINE_GIVEN || baseline == RL_BASELINE_GREEDY)
        estimate_given(estimate, count);
    else if (baseline == RL_BASELINE_CRITIC)
        for (size_t i = 0; i < count; i++)
            rl_advantage_critic(estimate->batch, rows[i], estimate->values[i], estimate->options);
    else if (baseline == RL_BASELINE_POSITIONS && count > 1)
        rl_advantage_positions(estimate->batch, rows, estimate->values, count, estimate->path);
    else
        estimate_members(estimate, count);
}

static void read_members(const struct estimate *estimate, const size_t *rows, size_t count)
{
    const struct rl_batch *batch = estimate->batch;
    const enum rl_value kind = estimate->estimator->value;
    for (size_t i = 0; i < count; i++) {
        size_t from = rows[i];
        while (kind == RL_FIRST_RETURN && from > 0 &&
               batch->rollout[from - 1] == batch->rollout[from])
            from--;
        estimate->values[i] = (kind == RL_REWARD ? batch->reward : batch->returns)[from];
        estimate->members[i] = (struct member){.row = rows[i],
                                               .value = estimate->values[i],
                                               .energy = estimate->energy[rows[i]]};
    }
}

/* Copies the value of the row that counted to all rows of its rollout. */
static void copy_to_rollout(struct rl_batch *batch)
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

static void estimate_all(const struct estimate *estimate)
{
    const struct rl_estimator *estimator = estimate->estimator;
    struct rl_batch *batch = estimate->batch;
    struct rl_groups groups;
    bool once = rl_estimator_once(estimator);
    rl_groups_init(&groups, batch, estimator->by, estimate->options->out, once);
    for (size_t g = 0; g < groups.count; g++) {
        const size_t *rows = groups.rows + groups.start[g];
        size_t count = groups.start[g + 1] - groups.start[g];
        read_members(estimate, rows, count);
        estimate_group(estimate, rows, count);
    }
    if (estimator->scale == RL_SCALE_WHITEN)
        rl_advantage_whiten(batch, groups.rows, groups.rows_count, estimator->epsilon);
    if (once)
        copy_to_rollout(batch);
    rl_groups_deinit(&groups);
}

static void clear_dropped(struct rl_batch *batch)
{
    for (size_t row = 0; row < batch->rows; row++) {
        if (!batch->drop[row])
            continue;
        batch->advantage[row] = 0;
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
            batch->offset[i] = 0;
    }
}

int rl_advantages(struct rl_batch *batch, const struct rl_estimator *estimator,
                  const struct rl_advantage_options *options, struct err *err)
{
    const struct estimate estimate = {
        .batch = batch,
        .estimator = estimator,
        .options = options,
        .path = mem_alloc((batch->tokens + 1) * sizeof(double)),
        .energy = mem_alloc((batch->rows + 1) * sizeof(double)),
        .members = mem_alloc((batch->rows + 1) * sizeof(struct member)),
        .values = mem_alloc((batch->rows + 1) * sizeof(double)),
    };
    int result = rl_estimator_weighs(estimator)
                     ? rl_energies(batch, estimator->span, options, estimator->name, estimate.path,
                                   estimate.energy, err)
                     : 0;
    if (result == 0) {
        memset(batch->advantage, 0, batch->rows * sizeof *batch->advantage);
        memset(batch->offset, 0, batch->tokens * sizeof *batch->offset);
        estimate_all(&estimate);
        clear_dropped(batch);
    }
    mem_free(estimate.values);
    mem_free(estimate.members);
    mem_free(estimate.energy);
    mem_free(estimate.path);
    return result;
}
