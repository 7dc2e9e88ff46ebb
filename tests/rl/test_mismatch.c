/* Ratio bounds, vetoes, weights and metrics against figures of the papers' pages and against sums
 * written out for each token. */
#include "rl/method/mismatch.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>

TEST_EACH(NULL, rl_test_free);

#define TOKENS 4
#define CLOSE 1e-6 /* log-probabilities are floats */

/* One rollout of two turns, with a letter for each token: + counts, - is masked; of a turn that is
 * dropped m (by the bounds), v (by the veto), b (by both). */
static const struct row {
    const char *what;
    struct rl_ratio_bounds bounds;
    const char *outcome;
    double log_ratio[TOKENS];
} rows[] = {
    {"geometric, inside", .bounds = {RL_GEOMETRIC, 0.999, 1.001, 1e-4, false}, "++|+",
     .log_ratio = {0.002, -0.001, 0.0005}},
    {"geometric, outside", .bounds = {RL_GEOMETRIC, 0.999, 1.001, 1e-4, false}, "mm|m",
     .log_ratio = {0.0011, 0.0011, 0.0011}},
    {"turn_geo: each for itself", .bounds = {RL_TURN_GEO, 0.999, 1.001, 0, false}, "mm|+",
     .log_ratio = {0.0018, 0.0018, 0.0005}},
    {"turn_geo: a mean", {RL_TURN_GEO, 0.999, 1.001, 0, false}, "++|m", {0.0006, 0.0006, 0.0018}},
    {"geometric: a mean of tokens, not of turns", .bounds = {RL_GEOMETRIC, 0.999, 1.001, 0, false},
     "+|++", .log_ratio = {0.0027, 0, 0}},
    {"turn: a sum", {RL_TURN, 0.9, 1.1, 0, false}, "mm|++", {0.06, 0.06, 0.06, -0.06}},
    {"sequence: it comes out even", .bounds = {RL_SEQUENCE, 0.9, 1.1, 0, false}, "++|++",
     .log_ratio = {0.3, 0.3, -0.3, -0.3}},
    {"token", {RL_TOKEN, 0.5, 2, 0, false}, "+-|+-", {0.6, 0.8, -0.6, -0.8}},
    {"token, bounds that are one number", {RL_TOKEN, 1, 1, 0, false}, "+-|-", {0, 0.001, -0.001}},
    {"none", {RL_NO_LEVEL, 0.5, 2, 0, false}, "++|++", {9, 9, 9, 9}},
    {"veto of a turn, the code", {RL_NO_LEVEL, 0.5, 2, 1e-4, false}, "vv|+", {0, -9.3, 0}},
    {"veto of a rollout, the paper", {RL_NO_LEVEL, 0.5, 2, 1e-4, true}, "vv|v", {0, -9.3, 0}},
    {"no veto", {RL_NO_LEVEL, 0.5, 2, 1e-4, true}, "++|+", {0, -9.2, 0}},
    {"both", {RL_TURN, 0.5, 2, 1e-4, true}, "vv|b", {0, 0, -9.3}},
    {"what is no number", {RL_GEOMETRIC, 0.5, 2, 0, false}, "mm|m", {0, NAN, 0}},
    {"a clamp, not an infinity", {RL_SEQUENCE, 0, 1e9, 0, false}, "++|+", {100, 1000, 0}},
};

static size_t first_tokens(const struct row *row)
{
    return strcspn(row->outcome, "|");
}

static char letter_of(const struct row *row, size_t token)
{
    return row->outcome[token + (token >= first_tokens(row))];
}

static void two_turns(const struct row *row, struct rl_batch *batch)
{
    size_t tokens = strlen(row->outcome) - 1;
    rl_batch_alloc(batch, &rl_test_arena, 2, tokens);
    batch->turn[1] = 1;
    batch->first[1] = first_tokens(row);
    batch->first[2] = tokens;
    for (size_t i = 0; i < tokens; i++)
        batch->trained[i] = (float)row->log_ratio[i];
}

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_mismatch_metrics metrics;
        struct rl_ratio_bounds bounds = rows[i].bounds;
        struct rl_batch batch;
        struct err err = {0};
        double rejected = 0;
        two_turns(&rows[i], &batch);
        if (rl_ratio_bounds_check(&bounds, &err) < 0)
            fail_msg("%s: %s", rows[i].what, err.text);
        rl_mismatch_measure(&batch, &bounds, RL_NO_LEVEL, 0, &metrics);
        rl_mismatch_reject(&batch, &bounds);
        for (size_t t = 0; t < batch.tokens; t++) {
            uint8_t drop = batch.drop[t >= batch.first[1]];
            char letter = drop == (RL_MISMATCH | RL_VETO) ? 'b'
                          : drop == RL_MISMATCH           ? 'm'
                          : drop == RL_VETO               ? 'v'
                          : drop                          ? '?'
                          : batch.mask[t]                 ? '+'
                                                          : '-';
            if (letter != letter_of(&rows[i], t) || (drop && !batch.mask[t]))
                fail_msg("%s: token %zu: %c, bits %d", rows[i].what, t, letter, drop);
            rejected += letter == 'm' || letter == 'b' || letter == '-';
        }
        if (fabs(metrics.rollout_rs_masked_fraction - rejected / (double)batch.tokens) > CLOSE)
            fail_msg("%s: %g", rows[i].what, metrics.rollout_rs_masked_fraction);
    }
}

TEST(page_ratios)
{
    double ratio[TOKENS];
    for (size_t i = 0; i < 2; i++) {
        static const double wanted[] = {1.0005001, 1.0011006};
        struct rl_batch batch;
        two_turns(&rows[i], &batch);
        rl_ratios(&batch, RL_GEOMETRIC, ratio);
        for (size_t t = 0; t < 3; t++)
            assert_true(fabs(ratio[t] - wanted[i]) < 1e-7);
    }
}

TEST(bounds)
{
    static const struct {
        struct rl_ratio_bounds bounds;
        double lower; /* NAN: refused */
    } cases[] = {
        {{RL_TOKEN, NAN, 1.25, 0, false}, 0.8}, {{RL_TOKEN, NAN, 2, 0, false}, 0.5},
        {{RL_TOKEN, 0, 2, 0, false}, 0},        {{RL_TOKEN, 1, 1, 0, false}, 1},
        {{RL_TOKEN, 2, 1, 0, false}, NAN},      {{RL_TOKEN, -1, 1, 0, false}, NAN},
        {{RL_TOKEN, NAN, 0, 0, false}, NAN},    {{RL_TOKEN, NAN, INFINITY, 0, false}, NAN},
        {{RL_TOKEN, NAN, NAN, 0, false}, NAN},  {{RL_TOKEN, 0.5, 2, 1, false}, NAN},
        {{RL_TOKEN, 0.5, 2, -0.1, false}, NAN}, {{RL_TOKEN, 0.5, 2, NAN, false}, NAN},
        {{RL_NO_LEVEL, NAN, 2, 0, false}, 0.5},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rl_ratio_bounds bounds = cases[i].bounds;
        int result = rl_ratio_bounds_check(&bounds, NULL);
        if (isnan(cases[i].lower) ? result != ERR_INPUT
                                  : result != 0 || bounds.lower != cases[i].lower)
            fail_msg("bounds %zu: %d, %g", i, result, bounds.lower);
    }
}

TEST(importance)
{
    static const struct row row = {.outcome = "++|++", .log_ratio = {0.5, 0.25, 1, -0.5}};
    static const struct {
        enum rl_level level;
        double upper;
        double exponent[TOKENS]; /* of the weights; NAN: at the upper bound */
    } weights[] = {
        {RL_TOKEN, 0, {0.5, 0.25, 1, -0.5}},        {RL_TOKEN, 2, {0.5, 0.25, NAN, -0.5}},
        {RL_TURN, 0, {0.75, 0.75, 0.5, 0.5}},       {RL_TURN, 2, {NAN, NAN, 0.5, 0.5}},
        {RL_SEQUENCE, 0, {1.25, 1.25, 1.25, 1.25}},
    };
    double got[TOKENS];
    for (size_t i = 0; i < COUNT(weights); i++) {
        struct rl_batch batch;
        two_turns(&row, &batch);
        rl_importance(&batch, weights[i].level, weights[i].upper, got);
        for (size_t t = 0; t < TOKENS; t++) {
            double exponent = weights[i].exponent[t];
            double wanted = isnan(exponent) ? weights[i].upper : exp(exponent);
            assert_true(fabs(got[t] - wanted) < CLOSE);
        }
        /* What does not count weighs nothing, and is in no sum. */
        batch.mask[0] = false;
        rl_importance(&batch, weights[i].level, 0, got);
        assert_true(got[0] == 0);
        batch.drop[1] = RL_COVERAGE;
        rl_importance(&batch, weights[i].level, 0, got);
        assert_true(fabs(got[1] - exp(0.25)) < CLOSE && got[2] == 0 && got[3] == 0);
    }
}

/* Σ over tokens that count of f(l), over their number; and the same over rows of f(Σ l or mean). */
static double over_tokens(const struct rl_batch *batch, double (*f)(double))
{
    double sum = 0;
    double count = 0;
    for (size_t row = 0; row < batch->rows; row++)
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
            if (!batch->drop[row] && batch->mask[i]) {
                sum += f((double)batch->trained[i] - (double)batch->sampled[i]);
                count++;
            }
    return sum / count;
}

static double negative(double l)
{
    return -l;
}

static double k3(double l)
{
    return exp(l) - l - 1;
}

static double square(double l)
{
    return exp(2 * l) - 1;
}

struct row_sums {
    double rows, perplexity, sampled_perplexity, difference, absolute, ratio, chi2, most, least;
};

static struct row_sums over_rows(const struct rl_batch *batch)
{
    struct row_sums sums = {.most = -INFINITY, .least = INFINITY};
    for (size_t row = 0; row < batch->rows; row++) {
        double trained = 0;
        double sampled = 0;
        double n = batch->drop[row] ? 0 : (double)rl_row_tokens(batch, row);
        for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++) {
            trained += batch->mask[i] ? (double)batch->trained[i] : 0;
            sampled += batch->mask[i] ? (double)batch->sampled[i] : 0;
        }
        if (n == 0)
            continue;
        double difference = sampled / n - trained / n;
        sums.rows++;
        sums.perplexity += exp(-trained / n);
        sums.sampled_perplexity += exp(-sampled / n);
        sums.difference += difference;
        sums.absolute += fabs(difference);
        sums.ratio += exp(difference);
        sums.chi2 += exp(2 * (trained - sampled)) - 1;
        sums.most = fmax(sums.most, difference);
        sums.least = fmin(sums.least, difference);
    }
    return sums;
}

static void close_to(const char *what, double got, double wanted)
{
    if (!(fabs(got - wanted) < CLOSE * fmax(1, fabs(wanted))))
        fail_msg("%s: %.9g, not %.9g", what, got, wanted);
}

TEST(monitoring)
{
    uint64_t seed = 8;
    for (size_t trial = 0; trial < 20; trial++) {
        struct rl_mismatch_metrics metrics;
        struct rl_batch batch;
        rl_test_batch(&batch, &seed, 3, 4, 3, true);
        rl_mismatch_measure(&batch, &rl_ratio_bounds_defaults, RL_NO_LEVEL, 0, &metrics);
        struct row_sums rows_sums = over_rows(&batch);
        close_to("kl", metrics.mismatch_kl, over_tokens(&batch, negative));
        close_to("k3", metrics.mismatch_k3_kl, over_tokens(&batch, k3));
        close_to("chi2", metrics.mismatch_chi2_token, over_tokens(&batch, square));
        double n = rows_sums.rows;
        close_to("ppl", metrics.mismatch_training_ppl, rows_sums.perplexity / n);
        close_to("sampled ppl", metrics.mismatch_rollout_ppl, rows_sums.sampled_perplexity / n);
        close_to("difference", metrics.mismatch_log_ppl_diff, rows_sums.difference / n);
        close_to("logs", metrics.mismatch_training_log_ppl - metrics.mismatch_rollout_log_ppl,
                 rows_sums.difference / n);
        close_to("absolute", metrics.mismatch_log_ppl_abs_diff, rows_sums.absolute / n);
        close_to("most", metrics.mismatch_log_ppl_diff_max, rows_sums.most);
        close_to("least", metrics.mismatch_log_ppl_diff_min, rows_sums.least);
        close_to("ratio", metrics.mismatch_ppl_ratio, rows_sums.ratio / n);
        close_to("chi2 of rows", metrics.mismatch_chi2_seq, rows_sums.chi2 / n);
    }
}

/* Ratios 1/4, 1, 2 and 8 in two turns, bounds 1/2 to 4. */
TEST(rejection_metrics)
{
    static const struct row row = {.outcome = "++|++",
                                   .log_ratio = {-1.3862943611198906, 0, 0.6931471805599453,
                                                 2.0794415416798357}};
    struct rl_ratio_bounds bounds = {RL_TOKEN, 0.5, 4, 0.26, false};
    struct rl_mismatch_metrics metrics;
    struct rl_batch batch;
    two_turns(&row, &batch);
    rl_mismatch_measure(&batch, &bounds, RL_TURN, 3, &metrics);
    close_to("mean", metrics.rollout_rs_mean, 11.25 / 4);
    close_to("max", metrics.rollout_rs_max, 8);
    close_to("min", metrics.rollout_rs_min, 0.25);
    /* Clamped: 1/2, 1, 2, 4. */
    close_to("std", metrics.rollout_rs_std, sqrt(21.25 / 4 - (7.5 / 4) * (7.5 / 4)));
    close_to("ess", metrics.rollout_rs_eff_sample_size, 7.5 * 7.5 / (4 * 21.25));
    close_to("high", metrics.rollout_rs_ratio_fraction_high, 0.25);
    close_to("low", metrics.rollout_rs_ratio_fraction_low, 0.25);
    close_to("veto", metrics.rollout_is_veto_fraction, 0.5);
    close_to("catastrophic", metrics.rollout_is_catastrophic_token_fraction, 0.25);
    close_to("masked", metrics.rollout_rs_masked_fraction, 0.5); /* 1/4 and 8; no veto */
    close_to("rows masked", metrics.rollout_rs_seq_masked_fraction, 1);
    close_to("rows", metrics.rollout_rs_seq_mean, (0.625 + 5) / 2);
    close_to("rows, std", metrics.rollout_rs_seq_std, (5 - 0.625) / sqrt(2));
    close_to("rows, max", metrics.rollout_rs_seq_max, 5);
    close_to("rows, min", metrics.rollout_rs_seq_min, 0.625);
    close_to("rows, deviation", metrics.rollout_rs_seq_max_deviation, 4);
    close_to("rows, high", metrics.rollout_rs_seq_fraction_high, 0.5);
    close_to("rows, low", metrics.rollout_rs_seq_fraction_low, 0);
    /* Weights of turns: 1/4 and 16 for two tokens each, clamped to 1/3 and 3. */
    close_to("weights", metrics.rollout_is_mean, 16.25 / 2);
    close_to("weights, max", metrics.rollout_is_max, 16);
    close_to("weights, min", metrics.rollout_is_min, 0.25);
    close_to("weights, std", metrics.rollout_is_std, (3 - 1. / 3) / 2);
    close_to("weights, ess", metrics.rollout_is_eff_sample_size,
             pow(10. / 3, 2) / (2 * (9 + 1. / 9)));
    close_to("weights, high", metrics.rollout_is_ratio_fraction_high, 0.5);
    close_to("weights, low", metrics.rollout_is_ratio_fraction_low, 0.5);
    close_to("weights, rows", metrics.rollout_is_seq_mean, 16.25 / 2);
    close_to("weights, rows, std", metrics.rollout_is_seq_std, 15.75 / sqrt(2));
    close_to("weights, rows, deviation", metrics.rollout_is_seq_max_deviation, 15);
    close_to("weights, rows, high", metrics.rollout_is_seq_fraction_high, 0.5);
    close_to("weights, rows, low", metrics.rollout_is_seq_fraction_low, 0.5);
}

struct found {
    size_t count;
    double masked_rate, kept_fast, rate_correct, rate_incorrect, kl;
    bool masked_speedup;
};

static void take(void *context, const char *name, double value)
{
    struct found *found = context;
    const struct {
        const char *name;
        double *value;
    } names[] = {{"mismatch_quality/masked_correct_rate", &found->masked_rate},
                 {"mismatch_quality/kept_fast_1.5", &found->kept_fast},
                 {"mismatch_quality/mask_rate_correct", &found->rate_correct},
                 {"mismatch_quality/mask_rate_incorrect", &found->rate_incorrect},
                 {"mismatch/mismatch_kl", &found->kl}};
    found->count++;
    found->masked_speedup |= strcmp(name, "mismatch_quality/masked_mean_speedup") == 0;
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(name, names[i].name) == 0)
            *names[i].value = value;
}

TEST(quality)
{
    static const uint32_t turns[5] = {0};
    static const double rewards[5] = {1, 1, 0, 1, 0};
    struct rl_mismatch_metrics metrics = {.mismatch_kl = 0.125};
    struct rl_quality quality;
    struct found found = {0};
    struct rl_batch batch;
    rl_test_rows(&batch, 5, (const uint32_t[5]){0}, turns, rewards);
    batch.speedup[0] = 1.5;
    batch.speedup[1] = 1.1;
    batch.speedup[3] = NAN;
    batch.drop[3] = RL_VETO;
    batch.drop[2] = RL_MISMATCH;
    batch.drop[4] = RL_EXCLUDED | RL_MISMATCH;
    rl_quality_measure(&batch, &quality);
    rl_quality_put(&quality, take, &found);
    close_to("masked", found.masked_rate, 0.5);
    close_to("fast", found.kept_fast, 0.5);
    close_to("of correct", found.rate_correct, 1. / 3);
    close_to("of incorrect", found.rate_incorrect, 1);
    assert_false(found.masked_speedup);
    rl_mismatch_put(&metrics, take, &found);
    assert_true(found.kl == 0.125 && found.count > 40);
}

TEST(gates)
{
    static const struct row row = {.outcome = "++|++", .log_ratio = {0.03, -0.01, 0.01, 0.0101}};
    const struct rl_gates none = {0}, shift = {.shift = 0.01004}, both = {0.02, 15};
    struct rl_batch batch;
    two_turns(&row, &batch);
    rl_gate(&batch, &none);
    assert_true(batch.drop[0] == 0 && batch.drop[1] == 0);
    rl_gate(&batch, &shift); /* means 0.01 and 0.01005 */
    assert_true(batch.drop[0] == 0 && batch.drop[1] == RL_MISMATCH);
    two_turns(&row, &batch);
    batch.sampled[0] = -16; /* of unknown maximum: it passes */
    batch.trained[0] = -16 + 0.03F;
    rl_gate(&batch, &both);
    assert_int_equal(batch.drop[0], 0);
    batch.collision[0] = 0.25F; /* the likeliest token has a quarter at least: 14.6 above */
    rl_gate(&batch, &both);
    assert_int_equal(batch.drop[0], 0);
    batch.top[0] = -1; /* it is known: 15 above */
    batch.mask[0] = false;
    rl_gate(&batch, &both);
    assert_int_equal(batch.drop[0], 0);
    batch.mask[0] = true;
    rl_gate(&batch, &both);
    assert_int_equal(batch.drop[0], RL_MISMATCH);
    batch.drop[0] = RL_VOID; /* what is dropped already stays as it is */
    rl_gate(&batch, &both);
    assert_int_equal(batch.drop[0], RL_VOID);
}
