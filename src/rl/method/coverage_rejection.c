#include "rl/method/coverage_rejection.h"

#include "rl/method/counter_random.h"

#include <math.h>

const struct rl_coverage_options rl_coverage_defaults = {
    .threshold = 0.3,
    .factor = 0.1,
    .speedup_threshold = NAN,
};

double rl_keep_probability(const struct rl_coverage_options *options, double v, bool correct,
                           double speedup)
{
    if ((!correct && !options->every_turn) || isnan(v) || speedup >= options->speedup_threshold)
        return 1;
    if (!(options->factor > 0))
        return v >= options->threshold ? 1 : 0;
    return fmin(fmax((v - options->threshold) / options->factor, 0), 1);
}

/* NAN: unknown, which is no reason to reject. */
static double turn_coverage(const struct rl_batch *batch, const struct rl_coverage_options *options,
                            size_t row)
{
    double v = batch->coverage[row];
    return isnan(v) && options->unknown_zero ? 0 : v;
}

/* Geometric mean over the turns that count and have a value. */
static double rollout_coverage(const struct rl_batch *batch,
                               const struct rl_coverage_options *options, size_t from, size_t to)
{
    double sum = 0;
    double count = 0;
    for (size_t row = from; row < to; row++) {
        double v = turn_coverage(batch, options, row);
        if (batch->drop[row] == 0 && !isnan(v)) {
            sum += log(fmax(v, 1e-8));
            count++;
        }
    }
    return count > 0 ? exp(sum / count) : NAN;
}

struct tally {
    double rollouts, masked_rollouts;
    double tokens, masked_tokens, correct_tokens, masked_correct_tokens;
    double known, sum, min, max;
};

static void count_row(struct tally *tally, const struct rl_batch *batch, size_t row, bool masked)
{
    double tokens = (double)rl_row_tokens(batch, row);
    tally->tokens += tokens;
    tally->masked_tokens += masked ? tokens : 0;
    tally->correct_tokens += batch->correct[row] ? tokens : 0;
    tally->masked_correct_tokens += masked && batch->correct[row] ? tokens : 0;
}

static void count_coverage(struct tally *tally, double v)
{
    if (isnan(v))
        return;
    tally->min = tally->known > 0 ? fmin(tally->min, v) : v;
    tally->max = tally->known > 0 ? fmax(tally->max, v) : v;
    tally->known++;
    tally->sum += v;
}

static double ratio_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

void rl_coverage_reject(struct rl_batch *batch, const struct rl_coverage_options *options,
                        uint64_t seed, uint64_t step, struct rl_coverage_metrics *metrics)
{
    struct tally tally = {0};
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        end = rl_rollout_end(batch, row);
        double whole = rollout_coverage(batch, options, row, end);
        bool counts = false, any = false;
        for (size_t i = row; i < end; i++) {
            double v = options->rollout ? whole : turn_coverage(batch, options, i);
            count_coverage(&tally, v);
            if (batch->drop[i])
                continue;
            double keep = rl_keep_probability(options, v, batch->correct[i], batch->speedup[i]);
            uint64_t index = (uint64_t)batch->rollout[i] << 32 | batch->turn[i];
            bool masked = options->enabled &&
                          rl_uniform(seed, step, RL_STREAM_COVERAGE, index) >= keep;
            count_row(&tally, batch, i, masked);
            counts = true;
            any |= masked;
            if (masked)
                batch->drop[i] |= RL_COVERAGE;
        }
        tally.rollouts += counts;
        tally.masked_rollouts += any;
    }
    *metrics = (struct rl_coverage_metrics){
        .coverage_rs_masked_fraction = ratio_of(tally.masked_tokens, tally.tokens),
        .coverage_rs_seq_masked_fraction = ratio_of(tally.masked_rollouts, tally.rollouts),
        .coverage_rs_correct_only_masked_fraction = ratio_of(tally.masked_correct_tokens,
                                                             tally.correct_tokens),
        .coverage_rs_mean_coverage = ratio_of(tally.sum, tally.known),
        .coverage_rs_min_coverage = tally.min,
        .coverage_rs_max_coverage = tally.max,
    };
}

void rl_coverage_put(const struct rl_coverage_metrics *metrics, rl_put put, void *context)
{
#define X(name) put(context, "coverage/" #name, metrics->name);
    RL_COVERAGE_METRICS(X)
#undef X
}
