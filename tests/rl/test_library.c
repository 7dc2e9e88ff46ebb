/* The shared library's functions: the same figures as rl/method for rows in any order and layout,
 * every name of the tables, and each bad input as one sentence. Formulas themselves are tested in
 * the other files here, and by tests/system/test_rl_library.py. */
#include "warpgym_rl.h"

#include "lm/train/loss.h"
#include "rl/method/method.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>
#include <stdio.h>

TEST_EACH(NULL, rl_test_free);

#define ROWS 3
#define WIDTH 8

/* A batch as a trainer has it, in the order `row` (where each of its rows went). */
struct given {
    struct warpgym_rl_rows rows;
    struct warpgym_rl_result result;
    size_t *row;
};

static void *space(size_t count, size_t bytes)
{
    return arena_alloc(&rl_test_arena, (count + 1) * bytes);
}

static size_t begin_of(const struct given *given, size_t row)
{
    return given->rows.offset ? (size_t)given->rows.offset[row] : row * WIDTH;
}

/* padded: WIDTH tokens a row; else one after the other. */
static void lay(struct given *given, const struct rl_batch *batch, bool padded)
{
    size_t rows = batch->rows;
    int64_t *offset = space(rows + 1, sizeof *offset), *lengths = space(rows, sizeof *lengths);
    for (size_t i = 0; i < rows; i++)
        lengths[given->row[i]] = (int64_t)(batch->first[i + 1] - batch->first[i]);
    for (size_t i = 0; i < rows; i++)
        offset[i + 1] = offset[i] + lengths[i];
    given->rows.offset = padded ? NULL : offset;
    given->rows.tokens = padded ? rows * WIDTH : batch->tokens;
}

static void give(struct given *given, const struct rl_batch *batch, bool padded)
{
    size_t rows = batch->rows;
    lay(given, batch, padded);
    size_t tokens = given->rows.tokens;
    int64_t *prompt = space(rows, sizeof *prompt), *rollout = space(rows, sizeof *rollout);
    int64_t *turn = space(rows, sizeof *turn);
    double *reward = space(rows, sizeof *reward), *speedup = space(rows, sizeof *speedup);
    double *coverage = space(rows, sizeof *coverage);
    uint8_t *correct = space(rows, 1), *mask = space(tokens, 1);
    float *trained = space(tokens, sizeof *trained), *sampled = space(tokens, sizeof *sampled);
    for (size_t i = 0; i < tokens; i++)
        trained[i] = sampled[i] = NAN; /* padding may be anything */
    for (size_t i = 0; i < rows; i++) {
        size_t at = given->row[i];
        prompt[at] = batch->prompt[i];
        rollout[at] = batch->rollout[i];
        turn[at] = batch->turn[i];
        reward[at] = batch->drop[i] ? NAN : batch->reward[i];
        speedup[at] = batch->speedup[i];
        coverage[at] = batch->coverage[i];
        correct[at] = batch->correct[i];
        for (size_t t = 0; t < batch->first[i + 1] - batch->first[i]; t++) {
            size_t to = begin_of(given, at) + t, from = batch->first[i] + t;
            mask[to] = batch->mask[from];
            trained[to] = batch->trained[from];
            sampled[to] = batch->sampled[from];
        }
    }
    given->rows = (struct warpgym_rl_rows){.rows = rows,
                                           .tokens = tokens,
                                           .prompt = prompt,
                                           .rollout = rollout,
                                           .turn = turn,
                                           .reward = reward,
                                           .correct = correct,
                                           .speedup = speedup,
                                           .coverage = coverage,
                                           .offset = given->rows.offset,
                                           .mask = mask,
                                           .trained = trained,
                                           .sampled = sampled};
    given->result = (struct warpgym_rl_result){.returns = space(rows, sizeof(double)),
                                               .advantage = space(rows, sizeof(double)),
                                               .drop = space(rows, sizeof(uint32_t)),
                                               .kept = space(tokens, 1),
                                               .importance = space(tokens, sizeof(double)),
                                               .weight = space(tokens, sizeof(double)),
                                               .token_advantage = space(tokens, sizeof(double))};
}

static void step(struct given *given, const struct warpgym_rl_options *options)
{
    struct warpgym_rl_error error;
    if (warpgym_rl_step(&given->rows, options, &given->result, &error) != 0)
        fail_msg("%s", error.text);
}

static void compare(const struct given *given, const struct rl_batch *batch,
                    const double *advantage)
{
    const struct warpgym_rl_result *result = &given->result;
    for (size_t i = 0; i < batch->rows; i++) {
        size_t at = given->row[i];
        assert_true(result->returns[at] == batch->returns[i]);
        assert_true(result->advantage[at] == batch->advantage[i]);
        assert_int_equal(result->drop[at], batch->drop[i]);
        for (size_t t = 0; t < batch->first[i + 1] - batch->first[i]; t++) {
            size_t to = begin_of(given, at) + t, from = batch->first[i] + t;
            assert_true(result->token_advantage[to] == advantage[from]);
            assert_int_equal(result->kept[to], batch->drop[i] == 0 && batch->mask[from]);
        }
    }
}

/* Every method, padded and row after row. */
TEST(same_as_a_run)
{
    uint64_t seed = 5;
    const char *settings[] = {NULL, NULL};
    for (size_t trial = 0; trial < 60; trial++) {
        const char *name = word_at(&rl_method_words, trial % 6);
        struct rl_step_report report;
        struct rl_method method;
        struct rl_batch batch;
        struct given given = {0};
        assert_int_equal(rl_method_preset(name, &method, NULL), 0);
        assert_int_equal(rl_method_check(&method, NULL), 0);
        rl_test_batch(&batch, &seed, 4, 4, 3, false);
        batch.drop[trial % batch.rows] = RL_EXCLUDED;
        batch.reward[trial % batch.rows] = 0;
        given.row = space(batch.rows, sizeof *given.row);
        for (size_t i = 0; i < batch.rows; i++)
            given.row[i] = i;
        give(&given, &batch, trial % 2);
        double *advantage = space(batch.tokens, sizeof *advantage);
        rl_method_reject(&batch, &method, 9, trial, &report);
        assert_int_equal(rl_method_weigh(&batch, &method, 3, 9, trial, advantage, NULL), 0);
        settings[0] = support_text("method=%s", name);
        step(&given,
             &(struct warpgym_rl_options){
                 .settings = settings, .gamma = NAN, .seed = 9, .step = trial, .wanted = 3});
        compare(&given, &batch, advantage);
    }
}

/* Rows in another order have the same results, at their places. */
TEST(any_order)
{
    uint64_t seed = 11;
    const char *const settings[] = {"train.method=drkernel", "bounds_lower=0.9", "bounds_upper=1.1",
                                    NULL};
    const struct warpgym_rl_options options = {.settings = settings, .gamma = 0.9};
    for (size_t trial = 0; trial < 40; trial++) {
        struct rl_batch batch;
        struct given one = {0}, other = {0};
        rl_test_batch(&batch, &seed, 3, 4, 3, false);
        one.row = space(batch.rows, sizeof *one.row);
        other.row = space(batch.rows, sizeof *other.row);
        for (size_t i = 0; i < batch.rows; i++)
            one.row[i] = other.row[i] = i;
        for (size_t i = batch.rows; i-- > 1;) {
            size_t to = rl_test_below(&seed, i + 1), kept = other.row[i];
            other.row[i] = other.row[to];
            other.row[to] = kept;
        }
        give(&one, &batch, false);
        give(&other, &batch, trial % 2);
        step(&one, &options);
        step(&other, &options);
        for (size_t i = 0; i < batch.rows; i++) {
            size_t at = other.row[i];
            assert_true(fabs(one.result.advantage[i] - other.result.advantage[at]) < 1e-12);
            assert_int_equal(one.result.drop[i], other.result.drop[at]);
            for (size_t t = 0; t < batch.first[i + 1] - batch.first[i]; t++)
                assert_true(fabs(one.result.token_advantage[begin_of(&one, i) + t] -
                                 other.result.token_advantage[begin_of(&other, at) + t]) < 1e-12);
        }
    }
}

static const int64_t group[ROWS] = {0, 0, 0};
static const double rewards[ROWS] = {2, 0, 1};

/* Without tokens each row counts as one; turns that are not given follow one another. */
TEST(rows_alone)
{
    const int64_t rollout[] = {4, 8, 4};
    double returns[ROWS], advantage[ROWS];
    const struct warpgym_rl_rows rows = {.rows = ROWS,
                                         .prompt = group,
                                         .rollout = rollout,
                                         .reward = rewards};
    struct warpgym_rl_result result = {.returns = returns, .advantage = advantage};
    assert_int_equal(warpgym_rl_step(&rows, NULL, &result, NULL), 0);
    assert_true(returns[0] == 3 && returns[1] == 0 && returns[2] == 1);
    assert_true(advantage[0] == 3 && advantage[1] == -3 && advantage[2] == 1);
    assert_true(isnan(result.kl));
}

TEST(names)
{
    struct warpgym_rl_setting setting;
    size_t estimators = 0, settings = 0;
    assert_int_equal(warpgym_rl_version(), WARPGYM_RL_VERSION);
    for (; rl_estimators[estimators].name; estimators++)
        assert_string_equal(warpgym_rl_word("estimator", estimators),
                            rl_estimators[estimators].name);
    assert_null(warpgym_rl_word("estimator", estimators));
    assert_null(warpgym_rl_word("estimator", estimators + 100));
    assert_null(warpgym_rl_word("scale", 0));
    assert_null(warpgym_rl_word("no_list", 0));
    assert_string_equal(warpgym_rl_word("drop", 5), "coverage");
    for (; warpgym_rl_setting(settings, &setting) == 0; settings++) {
        assert_non_null(setting.kind);
        assert_int_equal(strcmp(setting.kind, "word") == 0,
                         warpgym_rl_word(setting.name, 0) != NULL);
    }
    assert_true(settings > 30);
    assert_string_equal(warpgym_rl_fact(0), "correct");
    assert_null(warpgym_rl_fact(1000));
    assert_null(warpgym_rl_reward_field(1000, NULL));
}

static const struct bad {
    struct warpgym_rl_rows rows;
    const char *settings[3];
    const char *text;
} bad_steps[] = {
    {{.rows = ROWS, .reward = rewards}, {NULL}, "a step needs the prompt and the reward"},
    {{.prompt = group, .reward = rewards}, {NULL}, "a step has 1 to 16777216 rows, not 0"},
    {{.rows = ROWS, .prompt = (const int64_t[]){0, -1, 0}, .reward = rewards},
     {NULL},
     "row 1: prompt is -1; number them from 0 to 4294967295"},
    {{.rows = ROWS, .prompt = group, .turn = group, .reward = rewards},
     {NULL},
     "turns are given, but not which rollout each row belongs to"},
    {{.rows = ROWS, .prompt = group, .rollout = group, .turn = group, .reward = rewards},
     {NULL},
     "rows 0 and 1 are both turn 0 of rollout 0"},
    {{.rows = ROWS, .prompt = (const int64_t[]){0, 1, 0}, .rollout = group, .reward = rewards},
     {NULL},
     "rows 0 and 1 are of rollout 0, but of prompts 0 and 1"},
    {{.rows = ROWS, .prompt = group, .reward = (const double[]){1, INFINITY, 0}},
     {NULL},
     "row 1: reward is inf; it must be finite, or NaN"},
    {{.rows = ROWS, .prompt = group, .reward = rewards, .correct = (const uint8_t[]){0, 1, 7}},
     {NULL},
     "row 2: correct is 7; it must be 0 or 1"},
    {{.rows = ROWS, .prompt = group, .reward = rewards, .speedup = (const double[]){0, -1, 0}},
     {NULL},
     "row 1: speedup is -1"},
    {{.rows = ROWS, .prompt = group, .reward = rewards, .coverage = (const double[]){0, 2, 0}},
     {NULL},
     "row 1: coverage is 2; it must be from 0 to 1"},
    {{.rows = ROWS, .prompt = group, .reward = rewards, .tokens = 7, .mask = (const uint8_t[7]){1}},
     {NULL},
     "7 tokens are no rectangle of 3 rows"},
    {{.rows = ROWS,
      .prompt = group,
      .reward = rewards,
      .tokens = 6,
      .mask = (const uint8_t[6]){1},
      .offset = (const int64_t[]){0, 4, 2, 6}},
     {NULL},
     "row 1: its tokens end before they begin"},
    {{.rows = ROWS,
      .prompt = group,
      .reward = rewards,
      .tokens = 6,
      .mask = (const uint8_t[6]){1},
      .offset = (const int64_t[]){0, 2, 4, 5}},
     {NULL},
     "offsets go from 0 to 5; they must from 0 to 6"},
    {{.rows = ROWS,
      .prompt = group,
      .reward = rewards,
      .tokens = 6,
      .trained = (const float[6]){0, 0, 0, NAN}},
     {NULL},
     "row 1, token 1: trained is nan"},
    {{.rows = ROWS, .prompt = group, .reward = rewards, .mask = (const uint8_t[6]){1}},
     {NULL},
     "an array of tokens is given, but their number is 0"},
    {{.rows = ROWS, .prompt = group, .reward = rewards, .baseline = rewards},
     {NULL},
     "take estimator=return or remax"},
    {{.rows = ROWS, .prompt = group, .reward = rewards},
     {"method=drkernel", NULL},
     "bounds_level, veto and importance compare 'trained', which is not given"},
    {{.rows = ROWS, .prompt = group, .reward = rewards},
     {"coverage=turn", NULL},
     "coverage rejection looks at 'coverage', which is not given"},
    {{.rows = ROWS, .prompt = group, .reward = rewards},
     {"estimator=optimal_baseline", NULL},
     "an optimal baseline weighs by 'trained'"},
    {{.rows = ROWS, .prompt = group, .reward = rewards},
     {"estimator=troo", NULL},
     "train.estimator: unknown value 'troo'; did you mean 'trloo'?"},
    {{.rows = ROWS, .prompt = group, .reward = rewards},
     {"estimater=trloo", NULL},
     "unknown setting 'train.estimater'; did you mean 'train.estimator'?"},
    {{.rows = ROWS, .prompt = group, .reward = rewards}, {"veto", NULL}, "is not KEY=VALUE"},
    {{.rows = ROWS, .prompt = group, .reward = rewards},
     {"bounds_level=turn", "bounds_upper=0.1", NULL},
     "no ratio lies between 0.5 and 0.1"},
};

TEST(bad_input)
{
    struct warpgym_rl_result result = {0};
    struct warpgym_rl_error error;
    for (size_t i = 0; i < COUNT(bad_steps); i++) {
        const struct warpgym_rl_options options = {.settings = bad_steps[i].settings, .gamma = NAN};
        assert_int_equal(warpgym_rl_step(&bad_steps[i].rows, &options, &result, &error), -1);
        if (!strstr(error.text, bad_steps[i].text))
            fail_msg("%zu: %s", i, error.text);
    }
    const struct warpgym_rl_rows rows = {.rows = ROWS, .prompt = group, .reward = rewards};
    assert_int_equal(warpgym_rl_step(&rows, &(struct warpgym_rl_options){.gamma = 2}, &result,
                                     &error),
                     -1);
    assert_string_equal(error.text, "gamma must be from 0 to 1, not 2");
    assert_int_equal(warpgym_rl_step(&rows,
                                     &(struct warpgym_rl_options){.gamma = NAN, .prompts = 4},
                                     &result, &error),
                     -1);
    assert_non_null(strstr(error.text, "give all three, or none"));
}

static const struct subject {
    const char *config, *coverage, *subject;
    double total; /* NAN: excluded */
    const char *text;
} subjects[] = {
    {"kevin", NULL, "{\"correct\": true, \"speedup\": 1.7}", 2.0, NULL},
    {"warpgym", NULL, "{\"correct\": true, \"speedup\": 1.7, \"speedup_low\": 1.5}", 1.8, NULL},
    {"drkernel", NULL, "{\"correct\": true, \"speedup\": 4, \"coverage\": 0.5}", 2.25, NULL},
    {" {\"preset\": \"drkernel\", \"speed_upper\": 2}", "kernels",
     "{\"correct\": true, \"speedup\": 4}", 1.5, NULL},
    {"drkernel_like_kernel", NULL, "{\"compiled\": false, \"completed\": true}", -0.5, NULL},
    {"drkernel_like_kernel", NULL, "{}", -1, NULL},
    {"kevin", NULL, "{\"excluded\": true}", NAN, NULL},
    {"staged1", NULL, "{\"verdict\": null, \"format_ok\": true}", 0.3, NULL},
    {"drkernl", NULL, "{}", 0, "unknown reward 'drkernl'; did you mean 'drkernel'?"},
    {"{\"preset\": \"kevin\", \"speed\": 1}", NULL, "{}", 0, "'speed'"},
    {"{\"preset\": ", NULL, "{}", 0, "reward:1"},
    {"kevin", "tim", "{}", 0, "unknown measure of coverage 'tim'"},
    {"kevin", NULL, "[]", 0, "a JSON object, a verdict or facts"},
    {"kevin", NULL, "{\"corect\": true}", 0, "did you mean 'correct'?"},
    {"kevin", NULL, "{\"correct\": 1}", 0, "'correct'"},
    {"kevin", NULL, "{\"correct\": true, \"speedup\": -1}", 0, "'speedup' is -1"},
    {"kevin", NULL, "{\"correct\": true, \"coverage\": 3}", 0, "'coverage' is 3"},
    {"kevin", NULL, "{\"tests_total\": -1}", 0, "'tests_total' is -1"},
    {"kevin", NULL, "{\"schema\": 1}", 0, "'id' is missing"},
    {"kevin", NULL, "{\"verdict\": {\"schema\": 2}}", 0, "schema"},
    {"kevin", NULL, "{\"verdict\": null, \"speedup\": 1}", 0, "'speedup'"},
};

TEST(rewards)
{
    for (size_t i = 0; i < COUNT(subjects); i++) {
        const struct subject *row = &subjects[i];
        struct warpgym_rl_reward reward;
        struct warpgym_rl_error error;
        int status = warpgym_rl_reward(row->config, row->coverage, row->subject, &reward, &error);
        if (row->text ? status == 0 || !strstr(error.text, row->text) : status != 0)
            fail_msg("%zu: %s", i, status == 0 ? "accepted" : error.text);
        if (!row->text && isnan(row->total))
            assert_true(reward.excluded && isnan(reward.total));
        else if (!row->text && !(fabs(reward.total - row->total) < 1e-12))
            fail_msg("%zu: %.12g", i, reward.total);
    }
}

static void add_sum(void *context, const char *name, double value)
{
    double *sums = context;
    sums[0] += strcmp(name, "loss") == 0 ? value : 0;
    sums[1] += strcmp(name, "tokens") == 0 ? value : 0;
}

TEST(losses)
{
    const char *const settings[] = {"loss=ppo", "clip_high=1.1", NULL};
    const float trained[] = {-1, -1, -3}, sampled[] = {-1, -1.5F, NAN};
    const float advantage[] = {2, 1, 0}, entropy[] = {1, 2, 3};
    float gradient[3];
    double sums[2] = {0};
    struct warpgym_rl_error error;
    struct warpgym_rl_tokens tokens = {.tokens = 3,
                                       .trained = trained,
                                       .sampled = sampled,
                                       .advantage = advantage};
    assert_int_equal(warpgym_rl_loss(settings, &tokens, gradient, add_sum, sums, &error), 0);
    assert_true(fabs(sums[0] + 2 + 1.1) < 1e-6 && sums[1] == 2);
    assert_true(gradient[0] == -2 && gradient[1] == 0 && gradient[2] == 0);

    const char *const bonus[] = {"entropy=0.5", NULL};
    assert_int_equal(warpgym_rl_loss(bonus, &tokens, NULL, NULL, NULL, &error), -1);
    assert_non_null(strstr(error.text, "needs the entropy of each token"));
    tokens.entropy = entropy;
    sums[0] = 0;
    assert_int_equal(warpgym_rl_loss(bonus, &tokens, NULL, add_sum, sums, &error), 0);
    assert_true(fabs(sums[0] + 2 + exp(0.5) + 1.5) < 1e-6);

    tokens.advantage = sampled;
    assert_int_equal(warpgym_rl_loss(settings, &tokens, NULL, NULL, NULL, &error), -1);
    assert_non_null(strstr(error.text, "token 2: "));
    tokens.advantage = NULL;
    assert_int_equal(warpgym_rl_loss(settings, &tokens, NULL, NULL, NULL, &error), -1);
    const char *const unknown[] = {"loss=pop", NULL};
    assert_int_equal(warpgym_rl_loss(unknown, &tokens, NULL, NULL, NULL, &error), -1);
    assert_non_null(strstr(error.text, "did you mean 'ppo'?"));
}
