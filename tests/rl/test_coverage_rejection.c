/* Keep probabilities of the papers' page, and draws that come again. */
#include "rl/method/counter_random.h"
#include "rl/method/coverage_rejection.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>
#include <stdio.h>

TEST_EACH(NULL, rl_test_free);

#define CLOSE 1e-9

static const struct {
    struct rl_coverage_options options;
    double v;
    bool correct;
    double speedup, keep;
} probabilities[] = {
    {{true, 0.3, 0.1, NAN, false, false, false}, 0.3, true, 1, 0},
    {{true, 0.3, 0.1, NAN, false, false, false}, 0.35, true, 1, 0.5},
    {{true, 0.3, 0.1, NAN, false, false, false}, 0.4, true, 1, 1},
    {{true, 0.3, 0.1, NAN, false, false, false}, 0, true, 9, 0},
    {{true, 0.3, 0.1, NAN, false, false, false}, 1, true, 1, 1},
    {{true, 0.3, 0.1, NAN, false, false, false}, 0, false, NAN, 1},
    {{true, 0.3, 0.1, NAN, false, true, false}, 0, false, NAN, 0}, /* the paper's */
    {{true, 0.3, 0.1, NAN, false, false, false}, NAN, true, 1, 1},
    {{true, 0.3, 0, NAN, false, false, false}, 0.299, true, 1, 0},
    {{true, 0.3, 0, NAN, false, false, false}, 0.3, true, 1, 1},
    {{true, 0.3, 0.1, 1.5, false, false, false}, 0, true, 1.5, 1},
    {{true, 0.3, 0.1, 1.5, false, false, false}, 0.35, true, 1.4, 0.5},
    {{true, 0.3, 0.1, 1.5, false, false, false}, 0, true, NAN, 0},
};

TEST(probabilities)
{
    for (size_t i = 0; i < COUNT(probabilities); i++) {
        double keep = rl_keep_probability(&probabilities[i].options, probabilities[i].v,
                                          probabilities[i].correct, probabilities[i].speedup);
        if (!(fabs(keep - probabilities[i].keep) < CLOSE))
            fail_msg("row %zu: %g", i, keep);
    }
}

/* 400 rollouts of two turns; the coverage of the whole batch is the same. */
static void one_coverage(struct rl_batch *batch, double coverage)
{
    rl_batch_alloc(batch, &rl_test_arena, 800, 800);
    for (size_t row = 0; row < 800; row++) {
        batch->rollout[row] = (uint32_t)(row / 2);
        batch->turn[row] = row % 2;
        batch->correct[row] = true;
        batch->coverage[row] = coverage;
        batch->first[row + 1] = row + 1;
    }
}

TEST(draws)
{
    struct rl_coverage_options options = rl_coverage_defaults;
    struct rl_coverage_metrics metrics;
    struct rl_batch batch;
    struct rl_batch again;
    struct rl_batch later;
    options.enabled = true;
    one_coverage(&batch, 0.33);
    one_coverage(&again, 0.33);
    one_coverage(&later, 0.33);
    batch.drop[0] = RL_MISMATCH; /* it is not looked at, and no other draw moves */
    rl_coverage_reject(&batch, &options, 5, 17, &metrics);
    double masked = 0, rollouts = 0;
    for (size_t row = 1; row < 800; row++)
        masked += batch.drop[row] == RL_COVERAGE;
    for (size_t row = 0; row < 800; row += 2)
        rollouts += batch.drop[row] == RL_COVERAGE || batch.drop[row + 1] == RL_COVERAGE;
    assert_int_equal(batch.drop[0], RL_MISMATCH);
    assert_true(fabs(metrics.coverage_rs_seq_masked_fraction - rollouts / 400) < CLOSE);
    assert_true(fabs(metrics.coverage_rs_correct_only_masked_fraction - masked / 799) < CLOSE);
    assert_true(fabs(masked / 799 - 0.7) < 0.06); /* four deviations; the draws never change */
    double apart = 0; /* two turns of a rollout are drawn for separately */
    for (size_t row = 2; row < 800; row += 2)
        apart += batch.drop[row] != batch.drop[row + 1];
    assert_true(fabs(apart / 399 - 2 * 0.7 * 0.3) < 0.1);
    rl_coverage_reject(&again, &options, 5, 17, &metrics);
    assert_memory_equal(batch.drop + 1, again.drop + 1, 799);
    rl_coverage_reject(&later, &options, 5, 18, &metrics);
    assert_memory_not_equal(again.drop, later.drop, 800);
}

TEST(metrics)
{
    static const double coverage[5] = {0.1, 0.2, 0.9, 0.6, NAN};
    struct rl_coverage_options options = rl_coverage_defaults;
    struct rl_coverage_metrics metrics;
    struct rl_batch batch;
    rl_test_rows(&batch, 5, (const uint32_t[5]){0}, (const uint32_t[5]){0},
                 (const double[5]){1, 0, 1, 1, 1});
    memcpy(batch.coverage, coverage, sizeof coverage);
    rl_coverage_reject(&batch, &options, 0, 0, &metrics); /* off: it measures */
    assert_true(metrics.coverage_rs_masked_fraction == 0 && batch.drop[0] == 0);
    options.enabled = true;
    rl_coverage_reject(&batch, &options, 0, 0, &metrics);
    assert_int_equal(batch.drop[0], RL_COVERAGE);
    for (size_t i = 1; i < 5; i++)
        assert_int_equal(batch.drop[i], 0);
    assert_true(fabs(metrics.coverage_rs_masked_fraction - 0.2) < CLOSE);
    assert_true(fabs(metrics.coverage_rs_correct_only_masked_fraction - 0.25) < CLOSE);
    assert_true(fabs(metrics.coverage_rs_mean_coverage - 0.45) < CLOSE);
    assert_true(metrics.coverage_rs_min_coverage == 0.1 && metrics.coverage_rs_max_coverage == 0.9);
    /* The original's: what is not known is 0. */
    memset(batch.drop, 0, 5);
    options.unknown_zero = true;
    rl_coverage_reject(&batch, &options, 0, 0, &metrics);
    assert_int_equal(batch.drop[4], RL_COVERAGE);
    assert_true(fabs(metrics.coverage_rs_masked_fraction - 0.4) < CLOSE);
    assert_true(metrics.coverage_rs_min_coverage == 0);
}

/* Turns of 0.04 and 0.9 of one rollout: their geometric mean is 0.19. */
TEST(whole_rollouts)
{
    static const uint32_t turns[3] = {0, 1, 2};
    struct rl_coverage_options options = rl_coverage_defaults;
    struct rl_coverage_metrics metrics;
    options.enabled = true;
    for (size_t whole = 0; whole < 2; whole++) {
        struct rl_batch batch;
        rl_test_rows(&batch, 3, (const uint32_t[3]){0}, turns, (const double[3]){1, 1, 1});
        batch.coverage[0] = 0.04;
        batch.coverage[1] = 0.9;
        batch.coverage[2] = 0.9;
        batch.drop[2] = RL_VETO;
        options.rollout = whole;
        rl_coverage_reject(&batch, &options, 0, 0, &metrics);
        assert_int_equal(batch.drop[0], RL_COVERAGE);
        assert_int_equal(batch.drop[1], whole ? RL_COVERAGE : 0);
        assert_int_equal(batch.drop[2], RL_VETO);
    }
}

/* The last figure is SplitMix64's finaliser worked out by hand: every machine must draw it. */
TEST(numbers_stay)
{
    double sum = 0;
    size_t order[100];
    size_t seen[100] = {0};
    size_t moved = 0;
    assert_true(rl_uniform(1, 2, RL_STREAM_COVERAGE, 3) != rl_uniform(1, 2, RL_STREAM_PROMPTS, 3));
    for (uint64_t i = 0; i < 10000; i++) {
        double number = rl_uniform(42, 7, RL_STREAM_COVERAGE, i << 32);
        assert_true(number >= 0 && number < 1);
        sum += number;
    }
    assert_true(fabs(sum / 10000 - 0.5) < 0.012);
    rl_shuffle(42, 7, RL_STREAM_DATA, order, 100);
    for (size_t i = 0; i < 100; i++) {
        seen[order[i]]++;
        moved += order[i] != i;
    }
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved > 90);
    char text[32];
    snprintf(text, sizeof text, "%.12f", rl_uniform(1, 2, RL_STREAM_COVERAGE, 3));
    assert_string_equal(text, "0.873065837495");
}
