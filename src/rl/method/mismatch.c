#include "rl/method/mismatch.h"

#include "rl/method/internal.h"

#include <math.h>

const struct rl_ratio_bounds rl_ratio_bounds_defaults = {.level = RL_NO_LEVEL,
                                                         .lower = 0.5,
                                                         .upper = 2};

int rl_ratio_bounds_check(struct rl_ratio_bounds *bounds, struct err *err)
{
    if (bounds->level == RL_NO_LEVEL)
        bounds->lower = isnan(bounds->lower) ? rl_ratio_bounds_defaults.lower : bounds->lower;
    else if (!(bounds->upper > 0) || isinf(bounds->upper))
        return err_set(err, ERR_INPUT, "the ratio's upper bound must be above 0, not %g",
                       bounds->upper);
    else if (isnan(bounds->lower))
        bounds->lower = 1 / bounds->upper;
    if (bounds->level != RL_NO_LEVEL && !(bounds->lower >= 0 && bounds->lower <= bounds->upper))
        return err_set(err, ERR_INPUT,
                       "no ratio lies between %g and %g; give the lower bound first", bounds->lower,
                       bounds->upper);
    if (!(bounds->veto >= 0 && bounds->veto < 1))
        return err_set(err, ERR_INPUT, "the veto's ratio must be from 0 (none) to below 1, not %g",
                       bounds->veto);
    return 0;
}

double rl_exp_clamped(double exponent)
{
    if (exponent > RL_EXPONENT_MOST)
        exponent = RL_EXPONENT_MOST;
    if (exponent < -RL_EXPONENT_MOST)
        exponent = -RL_EXPONENT_MOST;
    return exp(exponent);
}

bool rl_token_counts(const struct rl_batch *batch, size_t row, size_t token)
{
    return batch->drop[row] == 0 && batch->mask[token];
}

double rl_token_log_ratio(const struct rl_batch *batch, size_t token)
{
    return (double)batch->trained[token] - (double)batch->sampled[token];
}

/* Σ l and the number of tokens in rows [from, to). */
static double sum_log_ratios(const struct rl_batch *batch, size_t from, size_t to, size_t *count)
{
    double sum = 0;
    *count = 0;
    for (size_t row = from; row < to; row++)
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
            if (rl_token_counts(batch, row, i)) {
                sum += rl_token_log_ratio(batch, i);
                ++*count;
            }
    return sum;
}

double rl_unit_ratio(const struct rl_batch *batch, enum rl_level level, size_t from, size_t to)
{
    size_t count;
    double sum = sum_log_ratios(batch, from, to, &count);
    if (count == 0)
        return 1;
    bool mean = level == RL_TURN_GEO || level == RL_GEOMETRIC;
    return rl_exp_clamped(mean ? sum / (double)count : sum);
}

size_t rl_unit_end(const struct rl_batch *batch, enum rl_level level, size_t row)
{
    return level == RL_SEQUENCE || level == RL_GEOMETRIC ? rl_rollout_end(batch, row) : row + 1;
}

void rl_ratios(const struct rl_batch *batch, enum rl_level level, double *ratio)
{
    for (size_t i = 0; i < batch->tokens; i++)
        ratio[i] = 1;
    if (level == RL_NO_LEVEL)
        return;
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        end = rl_unit_end(batch, level, row);
        double unit = level == RL_TOKEN ? 1 : rl_unit_ratio(batch, level, row, end);
        for (size_t member = row; member < end; member++)
            for (size_t i = batch->first[member]; i < batch->first[member + 1]; i++)
                if (rl_token_counts(batch, member, i))
                    ratio[i] = level == RL_TOKEN ? rl_exp_clamped(rl_token_log_ratio(batch, i))
                                                 : unit;
    }
}

/* NAN: unknown. */
static double below_top(const struct rl_batch *batch, size_t token)
{
    double top = batch->top ? (double)batch->top[token] : NAN;
    if (isnan(top))
        top = log((double)batch->collision[token]);
    return (double)batch->sampled[token] - top;
}

static bool passes_gates(const struct rl_batch *batch, const struct rl_gates *gates, size_t row)
{
    size_t count;
    double sum = sum_log_ratios(batch, row, row + 1, &count);
    if (gates->shift > 0 && count > 0 && !(fabs(sum / (double)count) < gates->shift))
        return false;
    for (size_t i = batch->first[row]; gates->instability > 0 && i < batch->first[row + 1]; i++)
        if (batch->mask[i] && below_top(batch, i) <= -gates->instability)
            return false;
    return true;
}

void rl_gate(struct rl_batch *batch, const struct rl_gates *gates)
{
    for (size_t row = 0; row < batch->rows; row++)
        if (batch->drop[row] == 0 && !passes_gates(batch, gates, row))
            batch->drop[row] |= RL_MISMATCH;
}

bool rl_within_bounds(const struct rl_ratio_bounds *bounds, double ratio)
{
    return ratio >= bounds->lower && ratio <= bounds->upper;
}

static bool has_extreme_token(const struct rl_batch *batch, const struct rl_ratio_bounds *bounds,
                              size_t row)
{
    for (size_t i = batch->first[row]; bounds->veto > 0 && i < batch->first[row + 1]; i++)
        if (rl_token_counts(batch, row, i) && rl_token_log_ratio(batch, i) < log(bounds->veto))
            return true;
    return false;
}

void rl_find_vetoes(const struct rl_batch *batch, const struct rl_ratio_bounds *bounds,
                    bool *vetoed)
{
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        bool any = false;
        end = rl_rollout_end(batch, row);
        for (size_t member = row; member < end; member++)
            any |= vetoed[member] = has_extreme_token(batch, bounds, member);
        for (size_t member = row; member < end && bounds->veto_rollout; member++)
            vetoed[member] = any;
    }
}

/* Rows that were dropped before stay unchanged. */
static void reject_tokens(struct rl_batch *batch, const struct rl_ratio_bounds *bounds, size_t row)
{
    for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
        if (rl_token_counts(batch, row, i) &&
            !rl_within_bounds(bounds, rl_exp_clamped(rl_token_log_ratio(batch, i))))
            batch->mask[i] = false;
}

void rl_mismatch_reject(struct rl_batch *batch, const struct rl_ratio_bounds *bounds)
{
    bool *vetoed = mem_alloc(batch->rows + 1), *outside = mem_alloc(batch->rows + 1);
    rl_find_vetoes(batch, bounds, vetoed);
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        end = rl_unit_end(batch, bounds->level, row);
        bool inside = bounds->level == RL_NO_LEVEL || bounds->level == RL_TOKEN ||
                      rl_within_bounds(bounds, rl_unit_ratio(batch, bounds->level, row, end));
        for (size_t member = row; member < end; member++)
            outside[member] = !inside;
    }
    for (size_t row = 0; row < batch->rows && bounds->level == RL_TOKEN; row++)
        reject_tokens(batch, bounds, row);
    for (size_t row = 0; row < batch->rows; row++)
        batch->drop[row] |= (uint8_t)((outside[row] ? RL_MISMATCH : 0) |
                                      (vetoed[row] ? RL_VETO : 0));
    mem_free(outside);
    mem_free(vetoed);
}

void rl_importance(const struct rl_batch *batch, enum rl_level level, double upper, double *weight)
{
    rl_ratios(batch, level, weight);
    for (size_t row = 0; row < batch->rows; row++)
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++) {
            if (upper > 0 && weight[i] > upper)
                weight[i] = upper;
            if (!rl_token_counts(batch, row, i))
                weight[i] = 0;
        }
}
