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

static double tally_deviation(const struct spread *spread, double less)
{
    return spread->count > less ? sqrt(fmax(spread->squares, 0) / (spread->count - less)) : 0;
}

static double ratio_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* All sums over the batch but those of ratios. */
struct tally {
    struct spread token_kl, k3, chi2_token;
    struct spread training_ppl, training_log, rollout_ppl, rollout_log;
    struct spread difference, difference_abs, ppl_ratio, chi2_row;
    double rejected_tokens, rejected_rows, vetoed_rows, catastrophic_tokens;
};

static void tally_token(struct tally *tally, const struct rl_ratio_bounds *bounds,
                        double difference)
{
    double rho = rl_exp_clamped(difference);
    tally_add(&tally->token_kl, -difference);
    tally_add(&tally->k3, rho - fmin(fmax(difference, -RL_EXPONENT_MOST), RL_EXPONENT_MOST) - 1);
    tally_add(&tally->chi2_token, rho * rho - 1);
    tally->catastrophic_tokens += bounds->veto > 0 && difference < log(bounds->veto);
}

/* Σ over the tokens of one row that count. */
struct row_sums {
    double count, trained, sampled, rejected;
};

static void tally_row(struct tally *tally, const struct row_sums *sums)
{
    double trained = sums->trained / sums->count;
    double sampled = sums->sampled / sums->count;
    double rho = rl_exp_clamped(sums->trained - sums->sampled);
    tally_add(&tally->training_ppl, exp(-trained));
    tally_add(&tally->training_log, -trained);
    tally_add(&tally->rollout_ppl, exp(-sampled));
    tally_add(&tally->rollout_log, -sampled);
    tally_add(&tally->difference, sampled - trained);
    tally_add(&tally->difference_abs, fabs(sampled - trained));
    tally_add(&tally->ppl_ratio, exp(sampled - trained));
    tally_add(&tally->chi2_row, rho * rho - 1);
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
            tally_token(tally, bounds, rl_token_log_ratio(batch, i));
            sums.count++;
            sums.trained += (double)batch->trained[i];
            sums.sampled += (double)batch->sampled[i];
            sums.rejected += bounds->level != RL_NO_LEVEL && !rl_within_bounds(bounds, ratio[i]);
        }
        if (sums.count == 0)
            continue;
        tally->vetoed_rows += vetoed[row];
        tally_row(tally, &sums);
    }
    mem_free(vetoed);
}

/* Of one level's ratios. */
struct ratios {
    struct spread token, clamped, row;
    double token_high, token_low, unit_high, unit_low, row_high, row_low, deviation_most;
};

static void tally_ratios(struct ratios *ratios, const struct rl_batch *batch,
                         const struct rl_ratio_bounds *bounds, const double *ratio)
{
    for (size_t row = 0; row < batch->rows; row++) {
        double sum = 0, count = 0, unit = 1;
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++) {
            if (!rl_token_counts(batch, row, i))
                continue;
            sum += unit = ratio[i];
            count++;
            tally_add(&ratios->token, ratio[i]);
            tally_add(&ratios->clamped, fmin(fmax(ratio[i], bounds->lower), bounds->upper));
            ratios->token_high += ratio[i] > bounds->upper;
            ratios->token_low += ratio[i] < bounds->lower;
        }
        if (count == 0)
            continue;
        tally_add(&ratios->row, sum / count);
        ratios->unit_high += unit > bounds->upper;
        ratios->unit_low += unit < bounds->lower;
        ratios->row_high += sum / count > bounds->upper;
        ratios->row_low += sum / count < bounds->lower;
        ratios->deviation_most = fmax(ratios->deviation_most, fabs(sum / count - 1));
    }
}

/* Of the clamped ratios: (Σ w)² / (N Σ w²). */
static double effective_share(const struct spread *clamped)
{
    double square = clamped->mean * clamped->mean;
    return clamped->count > 0 ? ratio_of(square, square + clamped->squares / clamped->count) : 0;
}

/* A row's tokens have one ratio at the level of turns and of rollouts. */
static bool has_units(enum rl_level level)
{
    return level == RL_TURN || level == RL_SEQUENCE;
}

#define WRITE_RATIOS(metrics, of, ratios, units)                                                   \
    do {                                                                                           \
        double tokens_ = (ratios)->token.count, rows_ = (ratios)->row.count;                       \
        (metrics)->of##_mean = (ratios)->token.mean;                                               \
        (metrics)->of##_max = (ratios)->token.max;                                                 \
        (metrics)->of##_min = (ratios)->token.min;                                                 \
        (metrics)->of##_std = tally_deviation(&(ratios)->clamped, 0);                              \
        (metrics)->of##_eff_sample_size = effective_share(&(ratios)->clamped);                     \
        (metrics)->of##_ratio_fraction_high = (units) ? ratio_of((ratios)->unit_high, rows_)       \
                                                      : ratio_of((ratios)->token_high, tokens_);   \
        (metrics)->of##_ratio_fraction_low = (units) ? ratio_of((ratios)->unit_low, rows_)         \
                                                     : ratio_of((ratios)->token_low, tokens_);     \
        (metrics)->of##_seq_mean = (ratios)->row.mean;                                             \
        (metrics)->of##_seq_std = tally_deviation(&(ratios)->row, 1);                              \
        (metrics)->of##_seq_max = (ratios)->row.max;                                               \
        (metrics)->of##_seq_min = (ratios)->row.min;                                               \
        (metrics)->of##_seq_max_deviation = (ratios)->deviation_most;                              \
        (metrics)->of##_seq_fraction_high = ratio_of((ratios)->row_high, rows_);                   \
        (metrics)->of##_seq_fraction_low = ratio_of((ratios)->row_low, rows_);                     \
    } while (0)

static void measure_rejection(const struct rl_batch *batch, const struct rl_ratio_bounds *bounds,
                              const double *ratio, struct rl_mismatch_metrics *metrics)
{
    struct ratios ratios = {0};
    tally_ratios(&ratios, batch, bounds, ratio);
    WRITE_RATIOS(metrics, rollout_rs, &ratios, has_units(bounds->level));
}

static void measure_importance(const struct rl_batch *batch, enum rl_level level, double upper,
                               double *ratio, struct rl_mismatch_metrics *metrics)
{
    const struct rl_ratio_bounds bounds = {.lower = upper > 0 ? 1 / upper : 0,
                                           .upper = upper > 0 ? upper : INFINITY};
    struct ratios ratios = {0};
    rl_ratios(batch, level, ratio);
    tally_ratios(&ratios, batch, &bounds, ratio);
    WRITE_RATIOS(metrics, rollout_is, &ratios, has_units(level));
}

void rl_mismatch_measure(const struct rl_batch *batch, const struct rl_ratio_bounds *bounds,
                         enum rl_level importance, double upper,
                         struct rl_mismatch_metrics *metrics)
{
    struct tally tally = {0};
    double *ratio = mem_alloc((batch->tokens + 1) * sizeof *ratio);
    *metrics = (struct rl_mismatch_metrics){0};
    rl_ratios(batch, bounds->level, ratio);
    tally_batch(&tally, batch, bounds, ratio);
    measure_rejection(batch, bounds, ratio, metrics);
    measure_importance(batch, importance, upper, ratio, metrics);
    mem_free(ratio);
    double rows = tally.training_ppl.count, tokens = tally.token_kl.count;
    metrics->rollout_rs_masked_fraction = ratio_of(tally.rejected_tokens, tokens);
    metrics->rollout_rs_seq_masked_fraction = ratio_of(tally.rejected_rows, rows);
    metrics->rollout_is_veto_fraction = ratio_of(tally.vetoed_rows, rows);
    metrics->rollout_is_catastrophic_token_fraction = ratio_of(tally.catastrophic_tokens, tokens);
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
