/* The originals' defects, one by one: what the same rollouts come to as it is here, and with the
 * settings that bring the original back. Everything goes the way of a run: settings, method, rows.
 */
#include "rl/train/config.h"

#include "../support/rl_batches.h"
#include "../support/setting_pairs.h"
#include "../support/test.h"

#include <math.h>
#include <stdio.h>

TEST_EACH(NULL, rl_test_free);

#define ROWS 6
#define CLOSE 1e-9
#define NOTHING (-1) /* a coverage of 0 */

/* What becomes of the rows. */
struct outcome {
    uint8_t drop[ROWS];
    double advantages[ROWS];
    double weights[ROWS]; /* of the tokens; all 0: one over the rows that are left */
};

/* One prompt, one token a row; a rollout begins where turn is 0. */
static const struct row {
    const char *what;
    const char *both, *restore; /* settings */
    size_t count;
    uint32_t turns[ROWS];
    double rewards[ROWS];
    double coverage[ROWS]; /* 0 stands for 1 */
    double log_ratio[ROWS];
    uint8_t given[ROWS];
    struct outcome repaired, original;
} rows[] = {
    {"breaking what worked costs nothing", .restore = "train.void_turns=mask", .count = 4,
     .turns = {0, 1, 0, 1}, .rewards = {1, 0, 1, 2}, .repaired = {.advantages = {-2, -2, 2, 2}},
     .original = {.drop = {0, RL_VOID}, .advantages = {-2, 0, 2, 2}}},
    {"an error masks its whole rollout", .restore = "train.failed_turns=mask", .count = 4,
     .turns = {0, 1, 0, 1}, .rewards = {1, 0, 1, 2}, .given = {0, RL_EXCLUDED},
     .repaired = {.drop = {0, RL_EXCLUDED}, .advantages = {-2, 0, 2, 2}},
     .original = {.drop = {RL_FAILED, RL_EXCLUDED, RL_CONSTANT, RL_CONSTANT}}},
    {"an outage is the answer's fault", .restore = "train.unjudged=zero", .count = 4,
     .turns = {0, 1, 0, 1}, .rewards = {1, 0, 1, 2}, .given = {0, RL_EXCLUDED},
     .repaired = {.drop = {0, RL_EXCLUDED}, .advantages = {-2, 0, 2, 2}},
     .original = {.advantages = {-2, -2, 2, 2}}},
    /* Solved at once, and at the fourth turn: 0.3 and 0.4872 of the page. */
    {"delay is paid for", .both = "gym.gamma=0.4",
     .restore = "train.returns=kernel_rl train.estimator=grpo_last", .count = 5,
     .turns = {0, 0, 1, 2, 3}, .rewards = {0.3, 0, 0, 0, 0.3},
     .repaired = {.advantages = {0.2808, -0.2808, 0.048, 0.12, 0.3}},
     .original = {.advantages = {-0.0936, 0.0936, 0.0936, 0.0936, 0.0936}}},
    {"constant groups are trained on", .restore = "train.filter=none", .count = 2,
     .rewards = {1, 1}, .repaired = {.drop = {RL_CONSTANT, RL_CONSTANT}},
     .original = {.drop = {0}}},
    {"the last turn alone says whether a problem is constant",
     .restore = "train.filter=last_turn train.filter_values=rewards", .count = 4,
     .turns = {0, 1, 0, 1}, .rewards = {0, 1, 2, 1}, .repaired = {.advantages = {-2, 0, 2, 0}},
     .original = {.drop = {RL_CONSTANT, RL_CONSTANT, RL_CONSTANT, RL_CONSTANT}}},
    {"rejected turns stay in their baselines",
     .both = "train.bounds_level=turn_geo train.bounds_lower=0.9 train.bounds_upper=1.1",
     .restore = "train.rejected_turns=stay", .count = 3, .rewards = {3, 1, 5},
     .log_ratio = {0, 0, 0.5}, .repaired = {.drop = {0, 0, RL_MISMATCH}, .advantages = {2, -2, 0}},
     .original = {.drop = {0, 0, RL_MISMATCH}, .advantages = {0, -3, 0}}},
    {"and what is compared with them alone is no constant",
     .both = "train.bounds_level=turn_geo train.bounds_lower=0.9 train.bounds_upper=1.1",
     .restore = "train.rejected_turns=stay", .count = 3, .rewards = {1, 1, 5},
     .log_ratio = {0, 0, 0.5}, .repaired = {.drop = {RL_CONSTANT, RL_CONSTANT, RL_MISMATCH}},
     .original = {.drop = {0, 0, RL_MISMATCH}, .advantages = {-2, -2, 0}}},
    {"a lazy turn pays those before it", .both = "train.coverage=turn train.coverage_factor=0",
     .restore = "train.coverage_rewards=pay", .count = 4, .turns = {0, 1, 0, 1},
     .rewards = {1, 4, 2, 1}, .coverage = {0, 0.1},
     .repaired = {.drop = {0, RL_COVERAGE}, .advantages = {-2, 0, 2, 1}},
     .original = {.drop = {0, RL_COVERAGE}, .advantages = {2, 0, -2, 1}}},
    {"what has no profile is lazy", .both = "train.coverage=turn train.coverage_factor=0",
     .restore = "train.coverage_unknown=zero", .count = 3, .rewards = {3, 1, 2}, .coverage = {NAN},
     .repaired = {.advantages = {1.5, -1.5, 0}},
     .original = {.drop = {RL_COVERAGE}, .advantages = {0, -1, 1}}},
    /* Here the code is the standard, and the paper the other. */
    {"only correct turns are looked at", .both = "train.coverage=turn train.coverage_factor=0",
     .restore = "train.coverage_turns=every", .count = 3, .rewards = {3, 0, 2},
     .coverage = {0, NOTHING}, .repaired = {.advantages = {2, -2.5, 0.5}},
     .original = {.drop = {0, RL_COVERAGE}, .advantages = {1, 0, -1}}},
    {"an extreme token rejects its turn", .both = "train.veto=0.0001",
     .restore = "train.veto_unit=rollout", .count = 4, .turns = {0, 1, 0, 1},
     .rewards = {1, 1, 2, 2}, .log_ratio = {-9.3},
     .repaired = {.drop = {RL_VETO}, .advantages = {0, -1, 4, 1}},
     .original = {.drop = {RL_VETO, RL_VETO, RL_CONSTANT, RL_CONSTANT}}},
    {"rejecting much makes a small step", .restore = "train.nominal_rows=8", .count = 2,
     .rewards = {3, 1}, .repaired = {.advantages = {2, -2}},
     .original = {.advantages = {2, -2}, .weights = {1. / 8, 1. / 8}}},
    {"the first rows of a step count twice", .restore = "train.pad_rows=5", .count = 3,
     .rewards = {4, 1, 1}, .repaired = {.advantages = {3, -1.5, -1.5}},
     .original = {.advantages = {3, -1.5, -1.5}, .weights = {2. / 5, 2. / 5, 1. / 5}}},
    {"one outage discards its problem", .restore = "train.filter_rollouts=3", .count = 3,
     .rewards = {2, 1, 0}, .given = {0, 0, RL_EXCLUDED},
     .repaired = {.drop = {0, 0, RL_EXCLUDED}, .advantages = {1, -1, 0}},
     .original = {.drop = {RL_CONSTANT, RL_CONSTANT, RL_EXCLUDED}}},
};

static void assign(struct settings *settings, const char *pairs)
{
    struct err err = {0};
    assert_ok(setting_pairs_assign(settings, pairs, &err), &err);
}

static void read_method(const struct row *row, bool original, struct settings *settings,
                        struct train_config *config)
{
    struct err err = {0};
    settings_init(settings);
    assign(settings, "train.model=m train.problems=relu");
    assign(settings, row->both);
    assign(settings, original ? row->restore : NULL);
    if (train_config_read(config, settings, &err) < 0)
        fail_msg("%s: %s", row->what, err.text);
}

static void fill(const struct row *row, struct rl_batch *batch)
{
    rl_test_rows(batch, row->count, (const uint32_t[ROWS]){0}, row->turns, row->rewards);
    for (size_t i = 0; i < row->count; i++) {
        double coverage = row->coverage[i];
        batch->coverage[i] = coverage == 0 ? 1 : coverage == NOTHING ? 0 : coverage;
        batch->trained[i] = (float)row->log_ratio[i];
        batch->drop[i] = row->given[i];
    }
}

static void compare(const struct row *row, const struct outcome *outcome, const char *which,
                    const struct rl_batch *batch, const double *advantage)
{
    double left = 0;
    for (size_t i = 0; i < batch->rows; i++)
        left += batch->drop[i] == 0;
    for (size_t i = 0; i < batch->rows; i++) {
        double weight = outcome->weights[0] > 0 ? outcome->weights[i] : 1 / fmax(left, 1);
        if (batch->drop[i] != outcome->drop[i])
            fail_msg("%s, %s, row %zu: bits %d", row->what, which, i, batch->drop[i]);
        if (!(fabs(batch->advantage[i] - outcome->advantages[i]) < CLOSE))
            fail_msg("%s, %s, row %zu: %g", row->what, which, i, batch->advantage[i]);
        if (!(fabs(advantage[i] - outcome->advantages[i] * weight) < CLOSE))
            fail_msg("%s, %s, token %zu: %g", row->what, which, i, advantage[i]);
    }
}

TEST(defects)
{
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        const struct row *row = &rows[i / 2];
        bool original = i % 2;
        struct settings settings;
        struct train_config config;
        struct rl_step_report report;
        struct rl_batch batch;
        double advantage[ROWS];
        read_method(row, original, &settings, &config);
        fill(row, &batch);
        rl_method_reject(&batch, &config.method, 1, 2, &report);
        assert_int_equal(rl_method_weigh(&batch, &config.method, 0, 1, 2, advantage, NULL), 0);
        compare(row, original ? &row->original : &row->repaired, original ? "original" : "repaired",
                &batch, advantage);
        settings_deinit(&settings);
    }
}

/* Any word and number of each setting, drawn: what is accepted makes finite numbers of any batch,
 * and none of a row that is dropped; what is refused says so in a sentence. */
static const char *const choices[][16] = {
    {"train.method", "trloo", "grpo", "drkernel", "drkernel_original", "kevin",
     "kernel_rl_original"},
    {"train.returns", "auto", "sum", "max", "final", "turn", "episode", "kernel_rl"},
    {"gym.gamma", "auto", "0", "0.4", "1"},
    {"train.shaping", "auto", "none", "residual", "residual_unbiased"},
    {"train.void_turns", "auto", "keep", "mask"},
    {"train.failed_turns", "auto", "keep", "mask"},
    {"train.unjudged", "auto", "leave", "zero"},
    {"train.bounds_level", "auto", "none", "token", "turn", "turn_geo", "sequence", "geometric"},
    {"train.bounds_lower", "auto", "0", "0.9", "1"},
    {"train.bounds_upper", "auto", "0", "0.5", "1.1", "2", "1000000"},
    {"train.veto", "auto", "0", "0.0001", "0.95", "1"},
    {"train.veto_unit", "auto", "turn", "rollout"},
    {"train.coverage", "auto", "off", "turn", "rollout"},
    {"train.coverage_threshold", "auto", "0", "0.3", "1"},
    {"train.coverage_factor", "auto", "0", "0.1", "1"},
    {"train.coverage_turns", "auto", "correct", "every"},
    {"train.coverage_unknown", "auto", "keep", "zero"},
    {"train.coverage_speedup", "auto", "0", "1.5"},
    {"train.coverage_rewards", "auto", "drop", "pay"},
    {"train.rejected_turns", "auto", "leave", "stay"},
    {"train.filter", "auto", "turns", "last_turn", "none"},
    {"train.filter_values", "auto", "returns", "rewards"},
    {"train.filter_deviation", "auto", "0", "0.5", "1000000"},
    {"train.filter_rollouts", "auto", "0", "1", "3", "65536"},
    {"train.importance", "auto", "none", "token", "turn", "sequence", "turn_geo"},
    {"train.importance_upper", "auto", "0", "1.5"},
    {"train.ratio", "sampled", "trained"},
    {"train.aggregation", "auto", "token-mean", "seq-mean-token-sum", "seq-mean-token-mean",
     "seq-mean-token-sum-norm", "seq-sum-no-norm"},
    {"train.scale", "auto", "0", "1000"},
    {"train.nominal_rows", "auto", "0", "1", "1000000000"},
    {"train.nominal_tokens", "auto", "0", "1", "16777216"},
    {"train.pad_rows", "auto", "0", "1", "7", "1000000000"},
    {"train.singleton", "auto", "return", "zero"},
    {"train.energy", "auto", "scores", "tokens", "rows"},
    {"train.energy_importance", "auto", "plain", "squared"},
    {"train.token_lambda", "auto", "0", "0.5"},
    {"train.reweigh", "auto", "none", "prompts", "batch", "both"},
    {"train.standardise", "auto", "off", "on"},
    {"train.samples", "1", "4", "65536"},
    {"gym.turns", "1", "3", "256"},
};

static void draw_settings(struct settings *settings, uint64_t *numbers, size_t estimator)
{
    char pair[128];
    settings_init(settings);
    assign(settings, "train.model=m train.problems=relu");
    snprintf(pair, sizeof pair, "train.estimator=%s", rl_estimators[estimator].name);
    assign(settings, pair);
    for (size_t i = 0; i < COUNT(choices); i++) {
        size_t count = 0;
        while (choices[i][1 + count])
            count++;
        /* Half of them stay as they are, or next to nothing would be accepted. */
        size_t choice = rl_test_below(numbers, 2 * count);
        if (choice >= count)
            continue;
        snprintf(pair, sizeof pair, "%s=%s", choices[i][0], choices[i][1 + choice]);
        assign(settings, pair);
    }
}

static void fill_any(struct rl_batch *batch, uint64_t *numbers)
{
    rl_test_batch(batch, numbers, 3, 4, 3, false);
    for (size_t row = 0; row < batch->rows; row++) {
        if (rl_test_below(numbers, 6) == 0) {
            batch->drop[row] = RL_EXCLUDED;
            batch->reward[row] = 0;
        }
        if (rl_test_below(numbers, 4) == 0)
            batch->coverage[row] = NAN;
    }
    for (size_t i = 0; i < batch->tokens; i++)
        batch->collision[i] = 2 * expf(batch->trained[i]) + (float)rl_test_number(numbers);
}

TEST(any_settings)
{
    uint64_t numbers = 99;
    size_t accepted = 0, trained = 0, estimator = 0;
    for (size_t trial = 0; trial < 3000; trial++) {
        struct settings settings;
        struct train_config config;
        struct rl_step_report report;
        struct rl_batch batch;
        struct err err = {0};
        double most = 0;
        draw_settings(&settings, &numbers, estimator++);
        if (!rl_estimators[estimator].name)
            estimator = 0;
        if (train_config_read(&config, &settings, &err) < 0) {
            assert_non_null(strstr(err.text, "train."));
            settings_deinit(&settings);
            continue;
        }
        accepted++;
        fill_any(&batch, &numbers);
        double *advantage = arena_alloc(&rl_test_arena, batch.tokens * sizeof *advantage);
        rl_method_reject(&batch, &config.method, 1, trial, &report);
        assert_int_equal(rl_method_weigh(&batch, &config.method, trial % 3, 1, trial, advantage,
                                         &err),
                         0);
        for (size_t row = 0; row < batch.rows; row++)
            for (size_t i = batch.first[row]; i < batch.first[row + 1]; i++) {
                if (!isfinite(advantage[i]) || (batch.drop[row] && advantage[i] != 0))
                    fail_msg("trial %zu, row %zu: %g", trial, row, advantage[i]);
                most = fmax(most, fabs(advantage[i]));
            }
        trained += most > 0;
        settings_deinit(&settings);
    }
    assert_true(accepted > 500 && trained > 250);
}

/* A preset of an original is its repaired twin and the settings above. */
TEST(presets_are_settings)
{
    static const struct {
        const char *preset, *settings;
    } presets[] = {
        {"train.method=drkernel_original",
         "train.method=drkernel train.void_turns=mask train.failed_turns=mask "
         "train.coverage_rewards=pay train.coverage_unknown=zero train.rejected_turns=stay "
         "train.filter=last_turn train.filter_values=rewards train.filter_rollouts=5 "
         "train.nominal_rows=192"},
        {"train.method=kernel_rl_original",
         "train.method=kevin train.returns=kernel_rl train.estimator=grpo_last train.filter=none "
         "train.unjudged=zero train.aggregation=seq-sum-no-norm"},
    };
    for (size_t i = 0; i < COUNT(presets); i++)
        for (uint64_t seed = 1; seed < 9; seed++) {
            const char *const ways[2] = {presets[i].preset, presets[i].settings};
            double *advantage[2] = {NULL};
            struct rl_batch batch = {0};
            for (size_t w = 0; w < 2; w++) {
                const struct row row = {.what = ways[w],
                                        .both = "train.prompts=8 train.samples=8 gym.turns=3",
                                        .restore = ways[w]};
                struct settings settings;
                struct train_config config;
                struct rl_step_report report;
                uint64_t numbers = seed;
                read_method(&row, true, &settings, &config);
                rl_test_batch(&batch, &numbers, 8, 8, 3, false);
                batch.drop[0] = RL_EXCLUDED;
                batch.reward[0] = 0;
                batch.coverage[1] = NAN;
                for (size_t t = 0; t < batch.tokens; t++) /* within the band, mostly */
                    batch.trained[t] = batch.sampled[t] + 0.001F * (float)(t % 3 == 0);
                advantage[w] = arena_alloc(&rl_test_arena, batch.tokens * sizeof(double));
                rl_method_reject(&batch, &config.method, 1, seed, &report);
                assert_int_equal(rl_method_weigh(&batch, &config.method, 4, 1, seed, advantage[w],
                                                 NULL),
                                 0);
                settings_deinit(&settings);
            }
            double most = 0;
            for (size_t t = 0; t < batch.tokens; t++)
                most = fmax(most, fabs(advantage[0][t]));
            assert_true(most > 0);
            assert_memory_equal(advantage[0], advantage[1], batch.tokens * sizeof(double));
        }
}
