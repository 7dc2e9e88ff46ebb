#include "rl/method/tokens.h"

#include <math.h>

const struct rl_normalisation rl_normalisation_defaults = {
    .aggregation = RL_SEQ_MEAN_TOKEN_MEAN,
    .scale = 1,
};

struct counts {
    size_t rows, padding;
    double tokens, longest;
};

static size_t row_tokens(const struct rl_batch *batch, size_t row)
{
    return batch->drop[row] ? 0 : rl_row_tokens(batch, row);
}

/* How often row `index` of the rows that count is counted. */
static double row_copies(const struct counts *counts, size_t index)
{
    size_t rows = counts->rows > 0 ? counts->rows : 1;
    size_t copies = 1 + counts->padding / rows + (index < counts->padding % rows);
    return (double)copies;
}

static struct counts count_all(const struct rl_batch *batch, size_t pad_rows)
{
    struct counts counts = {0};
    size_t index = 0;
    for (size_t row = 0; row < batch->rows; row++)
        counts.rows += row_tokens(batch, row) > 0;
    if (pad_rows > 0)
        counts.padding = (pad_rows - counts.rows % pad_rows) % pad_rows;
    for (size_t row = 0; row < batch->rows; row++) {
        double tokens = (double)row_tokens(batch, row);
        if (tokens > 0)
            counts.tokens += tokens * row_copies(&counts, index++);
        counts.longest = fmax(counts.longest, tokens);
    }
    return counts;
}

static double aggregation_divisor(const struct rl_normalisation *normalisation,
                                  const struct counts *counts, double row_tokens)
{
    double rows = normalisation->nominal_rows ? (double)normalisation->nominal_rows
                                              : (double)(counts->rows + counts->padding);
    double length = normalisation->nominal_tokens ? (double)normalisation->nominal_tokens
                                                  : counts->longest;
    switch (normalisation->aggregation) {
    case RL_TOKEN_MEAN:
        return counts->tokens;
    case RL_SEQ_MEAN_TOKEN_SUM:
        return rows;
    case RL_SEQ_MEAN_TOKEN_MEAN:
        return rows * row_tokens;
    case RL_SEQ_MEAN_TOKEN_SUM_NORM:
        return rows * length;
    default:
        return 1;
    }
}

void rl_token_weights(const struct rl_batch *batch, const struct rl_normalisation *normalisation,
                      double *weight)
{
    struct counts counts = count_all(batch, normalisation->pad_rows);
    size_t index = 0;
    for (size_t row = 0; row < batch->rows; row++) {
        double tokens = (double)row_tokens(batch, row);
        double each = 0;
        if (tokens > 0)
            each = row_copies(&counts, index++) /
                   (normalisation->scale * aggregation_divisor(normalisation, &counts, tokens));
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
            weight[i] = batch->mask[i] ? each : 0;
    }
}

void rl_token_advantages(const struct rl_batch *batch, const double *weight,
                         const double *importance, double *advantage)
{
    for (size_t row = 0; row < batch->rows; row++)
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
            advantage[i] = batch->drop[row] || !batch->mask[i]
                               ? 0
                               : (batch->advantage[row] + batch->offset[i]) * weight[i] *
                                     (importance ? importance[i] : 1);
}

static double mean_difference(const struct rl_batch *batch, const float *base)
{
    double sum = 0;
    double count = 0;
    for (size_t row = 0; row < batch->rows; row++)
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
            if (batch->drop[row] == 0 && batch->mask[i]) {
                sum += (double)batch->sampled[i] - (double)base[i];
                count++;
            }
    return count > 0 ? sum / count : 0;
}

double rl_kl_penalty(const struct rl_batch *batch, const float *base, double coefficient,
                     double discount, const double *weight, double *advantage)
{
    double mean = mean_difference(batch, base);
    for (size_t row = 0; row < batch->rows; row++) {
        double next = 0;
        for (size_t i = batch->first[row + 1]; i-- > batch->first[row];) {
            if (batch->drop[row] || !batch->mask[i])
                continue;
            double own = mean - ((double)batch->sampled[i] - (double)base[i]);
            next = own + discount * next;
            advantage[i] += coefficient * next * weight[i];
        }
    }
    return mean;
}

double rl_kl_adapt(double coefficient, double kl, double target, double rows, double horizon)
{
    double error = fmin(fmax(kl / target - 1, -0.2), 0.2);
    return isfinite(error) ? fmax(coefficient * (1 + error * rows / horizon), 0) : coefficient;
}
