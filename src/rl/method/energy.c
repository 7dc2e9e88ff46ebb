#include "rl/method/energy.h"

#include <math.h>

static double token_energy(const struct rl_batch *batch, const struct rl_advantage_options *options,
                           size_t row, size_t token)
{
    double energy = 1;
    if (options->energy == RL_ENERGY_SCORES) {
        energy = 1 - 2 * exp((double)batch->trained[token]) + (double)batch->collision[token];
        energy = energy < 0 ? 0 : energy; /* rounding: it is (1 - π)² at least; NAN stays */
    } else if (options->energy == RL_ENERGY_ROWS) {
        energy = 1 / (double)rl_row_tokens(batch, row);
    }
    return options->energy_importance ? energy * batch->weight[token] * batch->weight[token]
                                      : energy;
}

int rl_energies(const struct rl_batch *batch, enum rl_span span,
                const struct rl_advantage_options *options, const char *name, double *path,
                double *energy, struct err *err)
{
    double sum = 0;
    for (size_t row = 0, end = 0; row < batch->rows; row++) {
        if (row == end)
            end = rl_rollout_end(batch, row);
        else if (span != RL_SPAN_TURN)
            sum = energy[row - 1];
        bool counts = !(batch->drop[row] & options->out);
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++) {
            sum += counts && batch->mask[i] ? token_energy(batch, options, row, i) : 0;
            path[i] = sum;
        }
        energy[row] = sum;
        if (counts && isnan(sum))
            return err_set(err, ERR_INPUT,
                           "'%s' needs the whole distribution of each token, which this training "
                           "backend does not report; choose another, or weights of tokens or rows",
                           name);
        sum = 0;
    }
    for (size_t row = batch->rows; span == RL_SPAN_ROLLOUT && row-- > 1;)
        if (batch->rollout[row - 1] == batch->rollout[row])
            energy[row - 1] = energy[row];
    return 0;
}
