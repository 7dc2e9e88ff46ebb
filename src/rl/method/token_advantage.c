#include "rl/method/token_advantage.h"

#include <math.h>

void rl_advantage_settle(struct rl_batch *batch, size_t row, double otherwise)
{
    size_t from = batch->first[row], to = batch->first[row + 1];
    double shifted = 0, count = 0, first = 0;
    for (size_t i = from; i < to; i++) {
        if (!batch->mask[i])
            continue;
        first = count++ > 0 ? first : batch->offset[i];
        shifted += batch->offset[i] - first;
    }
    double mean = count > 0 ? first + shifted / count : otherwise;
    batch->advantage[row] = mean;
    for (size_t i = from; i < to; i++)
        batch->offset[i] = batch->mask[i] ? batch->offset[i] - mean : 0;
}

/* The baseline of position `at` as its difference from values[0]. */
static double position_baseline(const struct rl_batch *batch, const size_t *rows,
                                const double *values, size_t count, const double *path, size_t at)
{
    double energy = 0, weighed = 0;
    for (size_t i = 0; i < count; i++) {
        size_t token = batch->first[rows[i]] + at;
        if (token < batch->first[rows[i] + 1] && batch->mask[token]) {
            energy += path[token];
            weighed += path[token] * (values[i] - values[0]);
        }
    }
    return energy > 0 ? weighed / energy : 0;
}

void rl_advantage_positions(struct rl_batch *batch, const size_t *rows, const double *values,
                            size_t count, const double *path)
{
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t tokens = batch->first[rows[i] + 1] - batch->first[rows[i]];
        longest = tokens > longest ? tokens : longest;
    }
    for (size_t at = 0; at < longest; at++) {
        double baseline = position_baseline(batch, rows, values, count, path, at);
        for (size_t i = 0; i < count; i++)
            if (batch->first[rows[i]] + at < batch->first[rows[i] + 1])
                batch->offset[batch->first[rows[i]] + at] = values[i] - values[0] - baseline;
    }
    for (size_t i = 0; i < count; i++)
        rl_advantage_settle(batch, rows[i], 0);
}

void rl_advantage_critic(struct rl_batch *batch, size_t row, double value,
                         const struct rl_advantage_options *options)
{
    double next = 0, later = 0, reward = value;
    for (size_t i = batch->first[row + 1]; i-- > batch->first[row];) {
        double own = (double)batch->value[i];
        if (!batch->mask[i])
            continue;
        later = reward + options->gamma * next - own + options->gamma * options->lambda * later;
        batch->offset[i] = later;
        next = own;
        reward = 0;
    }
    rl_advantage_settle(batch, row, value);
}

void rl_advantage_whiten(struct rl_batch *batch, const size_t *rows, size_t count, double epsilon)
{
    double tokens = 0, mean = 0, squares = 0;
    for (size_t r = 0; r < count; r++)
        for (size_t i = batch->first[rows[r]]; i < batch->first[rows[r] + 1]; i++) {
            if (!batch->mask[i])
                continue;
            double value = batch->advantage[rows[r]] + batch->offset[i], off = value - mean;
            mean += off / ++tokens;
            squares += off * (value - mean);
        }
    if (tokens <= 1)
        return;
    double scale = sqrt(squares / (tokens - 1) + epsilon);
    for (size_t r = 0; r < count; r++) {
        batch->advantage[rows[r]] = (batch->advantage[rows[r]] - mean) / scale;
        for (size_t i = batch->first[rows[r]]; i < batch->first[rows[r] + 1]; i++)
            batch->offset[i] /= scale;
    }
}
