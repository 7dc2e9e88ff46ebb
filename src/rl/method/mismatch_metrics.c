#include "rl/method/internal.h"

#include <math.h>

/* Mean, extremes and spread of a stream of numbers (Welford). */
struct spread {
    double count, mean, squares, min, max;
};

static void tally_add(struct spread *spread, double value)
{
    double off = value - spread->mean;
    spread->min = spread->count > 0 ? fmin(spread->min, value) : value;
    spread->max = spread->count > 0 ? fmax(spread->max, value) : value;
    spread->count++;
    spread->mean += off / spread->count;
    spread->squares += off * (value - spread->mean);
}

static double tally_deviation(const struct spread *spread)
{
    return spread->count > 0 ? sqrt(fmax(spread->squares, 0) / spread->count) : 0;
}

static double ratio_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* All sums over the batch. */
struct tally {
    struct spread token_kl, k3, chi2_token, ratio;
    struct spread training_ppl, training_log, rollout_ppl, rollout_log;
    struct spread difference, difference_abs, ppl_ratio, chi2_row, row_ratio;
    double clamped, clamped_squares; /* Σ w, Σ w² of ratios clamped to the bounds */
    double token_high, token_low, row_high, row_low;
    double rejected_tokens, rejected_rows, vetoed_rows, catastrophic_tokens;
    double deviation_most;
};

static void tally_token(struct tally *tally, const struct rl_ratio_bounds *bounds,
                        double difference, double ratio)
{
    double rho = rl_exp_clamped(difference);
    double clamped = fmin(fmax(ratio, bounds->lower), bounds->upper);
    tally_add(&tally->token_kl, -difference);
    tally_add(&tally->k3, rho - fmin(fmax(difference, -RL_EXPONENT_MOST), RL_EXPONENT_MOST) - 1);
    tally_add(&tally->chi2_token, rho * rho - 1);
    tally_add(&tally->ratio, ratio);
    tally->clamped += clamped;
    tally->clamped_squares += clamped * clamped;
    tally->token_high += ratio > bounds->upper;
    tally->token_low += ratio < bounds->lower;
    tally->catastrophic_tokens += bounds->veto > 0 && difference < log(bounds->veto);
}

/* Σ over the tokens of one row that count. */
struct row_sums {
    double count, trained, sampled, ratio, rejected;
};

static void tally_row(struct tally *tally, const struct rl_ratio_bounds *bounds,
                      const struct row_sums *sums)
{
    double trained = sums->trained / sums->count;
    double sampled = sums->sampled / sums->count;
    double ratio = sums->ratio / sums->count;
    double rho = rl_exp_clamped(sums->trained - sums->sampled);
    tally_add(&tally->training_ppl, exp(-trained));
    tally_add(&tally->training_log, -trained);
    tally_add(&tally->rollout_ppl, exp(-sampled));
    tally_add(&tally->rollout_log, -sampled);
    tally_add(&tally->difference, sampled - trained);
    tally_add(&tally->difference_abs, fabs(sampled - trained));
    tally_add(&tally->ppl_ratio, exp(sampled - trained));
    tally_add(&tally->chi2_row, rho * rho - 1);
    tally_add(&tally->row_ratio, ratio);
    tally->row_high += ratio > bounds->upper;
    tally->row_low += ratio < bounds->lower;
    tally->deviation_most = fmax(tally->deviation_most, fabs(ratio - 1));
    tally->rejected_tokens += sums->rejected;
    tally->rejected_rows += sums->rejected > 0;
}

static void tally_batch(struct tally *tally, const struct rl_batch *batch,
                        const struct rl_ratio_bounds *bounds, const double *ratio)
{
    bool *vetoed = mem_alloc(batch->rows + 1);
    rl_find_vetoes(batch, bounds, vetoed);
    for (size_t row = 0; row < batch->rows; row++) {
        struct row_sums sums = {0};
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++) {
            if (!rl_token_counts(batch, row, i))
                continue;
            bool outside = bounds->level != RL_NO_LEVEL && !rl_within_bounds(bounds, ratio[i]);
            tally_token(tally, bounds, rl_token_log_ratio(batch, i), ratio[i]);
            sums.count++;
            sums.trained += (double)batch->trained[i];
            sums.sampled += (double)batch->sampled[i];
            sums.ratio += ratio[i];
            sums.rejected += vetoed[row] || outside;
        }
        if (sums.count == 0)
            continue;
        tally->vetoed_rows += vetoed[row];
        tally_row(tally, bounds, &sums);
    }
    mem_free(vetoed);
}

static void write_rejection(const struct tally *tally, struct rl_mismatch_metrics *metrics)
{
    double tokens = tally->ratio.count;
    double rows = tally->row_ratio.count;
    metrics->rollout_rs_mean = tally->ratio.mean;
    metrics->rollout_rs_max = tally->ratio.max;
    metrics->rollout_rs_min = tally->ratio.min;
    metrics->rollout_rs_std = tally_deviation(&tally->ratio);
    metrics->rollout_rs_eff_sample_size = ratio_of(tally->clamped * tally->clamped,
                                                   tokens * tally->clamped_squares);
    metrics->rollout_rs_ratio_fraction_high = ratio_of(tally->token_high, tokens);
    metrics->rollout_rs_ratio_fraction_low = ratio_of(tally->token_low, tokens);
    metrics->rollout_rs_masked_fraction = ratio_of(tally->rejected_tokens, tokens);
    metrics->rollout_rs_seq_masked_fraction = ratio_of(tally->rejected_rows, rows);
    metrics->rollout_rs_seq_mean = tally->row_ratio.mean;
    metrics->rollout_rs_seq_std = tally_deviation(&tally->row_ratio);
    metrics->rollout_rs_seq_max = tally->row_ratio.max;
    metrics->rollout_rs_seq_min = tally->row_ratio.min;
    metrics->rollout_rs_seq_max_deviation = tally->deviation_most;
    metrics->rollout_rs_seq_fraction_high = ratio_of(tally->row_high, rows);
    metrics->rollout_rs_seq_fraction_low = ratio_of(tally->row_low, rows);
    metrics->rollout_is_veto_fraction = ratio_of(tally->vetoed_rows, rows);
    metrics->rollout_is_catastrophic_token_fraction = ratio_of(tally->catastrophic_tokens, tokens);
}

void rl_mismatch_measure(const struct rl_batch *batch, const struct rl_ratio_bounds *bounds,
                         struct rl_mismatch_metrics *metrics)
{
    struct tally tally = {0};
    double *ratio = mem_alloc((batch->tokens + 1) * sizeof *ratio);
    *metrics = (struct rl_mismatch_metrics){0};
    rl_ratios(batch, bounds->level, ratio);
    tally_batch(&tally, batch, bounds, ratio);
    mem_free(ratio);
    metrics->mismatch_kl = tally.token_kl.mean;
    metrics->mismatch_k3_kl = tally.k3.mean;
    metrics->mismatch_training_ppl = tally.training_ppl.mean;
    metrics->mismatch_training_log_ppl = tally.training_log.mean;
    metrics->mismatch_rollout_ppl = tally.rollout_ppl.mean;
    metrics->mismatch_rollout_log_ppl = tally.rollout_log.mean;
    metrics->mismatch_log_ppl_diff = tally.difference.mean;
    metrics->mismatch_log_ppl_abs_diff = tally.difference_abs.mean;
    metrics->mismatch_log_ppl_diff_max = tally.difference.max;
    metrics->mismatch_log_ppl_diff_min = tally.difference.min;
    metrics->mismatch_ppl_ratio = tally.ppl_ratio.mean;
    metrics->mismatch_chi2_token = tally.chi2_token.mean;
    metrics->mismatch_chi2_seq = tally.chi2_row.mean;
    write_rejection(&tally, metrics);
}

void rl_mismatch_put(const struct rl_mismatch_metrics *metrics, rl_put put, void *context)
{
#define X(name) put(context, "mismatch/" #name, metrics->name);
    RL_MISMATCH_METRICS(X)
#undef X
}

const struct rl_fast rl_fast[RL_FAST_RUNGS] = {
    {"fast_1", 1}, {"fast_1.2", 1.2}, {"fast_1.5", 1.5}, {"fast_2", 2}, {"fast_3", 3}};

void rl_quality_measure(const struct rl_batch *batch, struct rl_quality *quality)
{
    *quality = (struct rl_quality){0};
    for (size_t row = 0; row < batch->rows; row++) {
        bool masked = batch->drop[row] & (RL_MISMATCH | RL_VETO);
        struct rl_quality_class *class = masked ? &quality->masked : &quality->kept;
        if (batch->drop[row] & RL_EXCLUDED)
            continue;
        class->count++;
        if (!batch->correct[row])
            continue;
        class->correct++;
        if (!(batch->speedup[row] > 0))
            continue;
        class->timed++;
        class->speedup_sum += batch->speedup[row];
        for (size_t i = 0; i < RL_FAST_RUNGS; i++)
            class->fast[i] += batch->speedup[row] >= rl_fast[i].speedup;
    }
}

struct sink {
    rl_put put;
    void *context;
};

static void put_share(const struct sink *sink, const char *kind, const char *name, double part,
                      double whole)
{
    char *full = mem_printf("mismatch_quality/%s_%s", kind, name);
    if (whole > 0)
        sink->put(sink->context, full, part / whole);
    mem_free(full);
}

static void put_class(const struct sink *sink, const char *kind,
                      const struct rl_quality_class *class)
{
    double count = (double)class->count;
    put_share(sink, kind, "count", count, 1);
    put_share(sink, kind, "correct_rate", (double)class->correct, count);
    put_share(sink, kind, "mean_speedup", class->speedup_sum, (double)class->timed);
    for (size_t i = 0; i < RL_FAST_RUNGS; i++)
        put_share(sink, kind, rl_fast[i].name, (double)class->fast[i], count);
}

void rl_quality_put(const struct rl_quality *quality, rl_put put, void *context)
{
    const struct rl_quality_class *masked = &quality->masked;
    const struct rl_quality_class *kept = &quality->kept;
    struct sink sink = {put, context};
    put_class(&sink, "masked", masked);
    put_class(&sink, "kept", kept);
    double wrong = (double)(masked->count - masked->correct);
    put_share(&sink, "mask_rate", "incorrect", wrong,
              wrong + (double)(kept->count - kept->correct));
    put_share(&sink, "mask_rate", "correct", (double)masked->correct,
              (double)(masked->correct + kept->correct));
    for (size_t i = 0; i < RL_FAST_RUNGS; i++)
        put_share(&sink, "mask_rate", rl_fast[i].name, (double)masked->fast[i],
                  (double)(masked->fast[i] + kept->fast[i]));
}
