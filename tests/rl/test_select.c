/* Void turns, constant prompts, how many more to draw, and what is surplus. */
#include "rl/method/select.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>

TEST_EACH(NULL, rl_test_free);

#define ROWS 8

/* One rollout. */
static const struct {
    size_t count;
    double rewards[4];
    uint8_t drop[4], is_void[4], is_failed[4];
} masked[] = {
    {3, {1, 0, 1.2}, {0}, {0, 1, 0}, {0}},
    {3, {0, 0, 0.9}, {0}, {0}, {0}},
    {4, {0.5, -0.3, 0, 0}, {0}, {0, 1, 1, 1}, {0}},
    {3, {1, 0, 0}, {0, RL_EXCLUDED}, {0, 0, 1}, {1, 0, 1}},
    {3, {0, 0, 0}, {RL_EXCLUDED}, {0}, {0, 1, 1}},
};

TEST(masks)
{
    static const uint32_t turns[4] = {0, 1, 2, 3};
    for (size_t i = 0; i < COUNT(masked); i++) {
        struct rl_batch batch;
        rl_test_rows(&batch, masked[i].count, (const uint32_t[4]){0}, turns, masked[i].rewards);
        memcpy(batch.drop, masked[i].drop, masked[i].count);
        rl_mask_void(&batch);
        for (size_t t = 0; t < masked[i].count; t++)
            if (batch.drop[t] != (masked[i].drop[t] | (masked[i].is_void[t] ? RL_VOID : 0)))
                fail_msg("rollout %zu, turn %zu: %d", i, t, batch.drop[t]);
        memcpy(batch.drop, masked[i].drop, masked[i].count);
        rl_mask_failed(&batch);
        for (size_t t = 0; t < masked[i].count; t++)
            if (batch.drop[t] != (masked[i].drop[t] | (masked[i].is_failed[t] ? RL_FAILED : 0)))
                fail_msg("rollout %zu, turn %zu failed: %d", i, t, batch.drop[t]);
    }
}

/* One prompt: does it stay? By each filter: turns (by turn), turns (by prompt), last_turn, none. */
static const struct {
    const char *what;
    size_t count;
    uint32_t turns[ROWS];
    double rewards[ROWS];
    uint8_t drop[ROWS];
    bool stays[4];
} prompts[] = {
    {"all alike", 4, {0, 1, 0, 1}, {1, 1, 1, 1}, {0}, {false, false, false, true}},
    {"last turns differ", 4, {0, 1, 0, 1}, {1, 1, 1, 2}, {0}, {true, true, true, true}},
    {"early turns differ", 4, {0, 1, 0, 1}, {0, 1, 1, 1}, {0}, {true, true, false, true}},
    {"turns alike, each in its way", 4, .turns = {0, 1, 0, 1}, .rewards = {0, 1, 0, 1}, .drop = {0},
     .stays = {false, true, false, true}},
    {"by less than a deviation", 2, {0, 0}, {1, 1.001}, {0}, {false, false, false, true}},
    {"by more", 2, {0, 0}, {1, 1.002}, {0}, {true, true, true, true}},
    {"what differs is dropped", 3, .turns = {0, 0, 0}, .rewards = {1, 1, 2},
     .drop = {0, 0, RL_MISMATCH}, .stays = {false, false, false, true}},
    {"a single rollout", 1, {0}, {1}, {0}, {false, false, false, true}},
    {"rollouts of other lengths", 3, {0, 1, 0}, {1, 2, 1}, {0}, {false, true, true, true}},
};

TEST(filters)
{
    for (size_t i = 0; i < COUNT(prompts); i++)
        for (size_t f = 0; f < 4; f++) {
            struct rl_filter filter = rl_filter_defaults;
            struct rl_filter_counts counts;
            struct rl_batch batch;
            rl_test_rows(&batch, prompts[i].count, (const uint32_t[ROWS]){0}, prompts[i].turns,
                         prompts[i].rewards);
            memcpy(batch.drop, prompts[i].drop, prompts[i].count);
            filter.kind = f < 2 ? RL_FILTER_TURNS : f == 2 ? RL_FILTER_LAST_TURN : RL_FILTER_NONE;
            filter.by = f == 1 ? RL_BY_PROMPT : RL_BY_TURN;
            rl_filter_prompts(&batch, &filter, batch.reward, &counts);
            bool stays = !(batch.drop[0] & RL_CONSTANT);
            if (stays != prompts[i].stays[f] || counts.usable != stays)
                fail_msg("%s, filter %zu: %d", prompts[i].what, f, stays);
            for (size_t row = 0; row < batch.rows; row++)
                assert_int_equal(batch.drop[row],
                                 prompts[i].drop[row] ? prompts[i].drop[row] : batch.drop[0]);
        }
}

/* Prompts 9 (constant), 4 (fine), 6 (one rollout is left) and 2 (none is). */
TEST(filter_counts)
{
    static const uint32_t prompt[7] = {9, 9, 4, 4, 6, 6, 2};
    struct rl_filter filter = rl_filter_defaults;
    struct rl_filter_counts counts;
    struct rl_batch batch;
    rl_test_rows(&batch, 7, prompt, (const uint32_t[7]){0}, (const double[7]){1, 1, 1, 2, 3, 4, 5});
    batch.drop[5] = RL_COVERAGE;
    batch.drop[6] = RL_EXCLUDED;
    filter.rollouts_least = 2;
    rl_filter_prompts(&batch, &filter, batch.reward, &counts);
    assert_int_equal(counts.prompts, 4);
    assert_int_equal(counts.usable, 1);
    assert_int_equal(counts.few, 1);
    assert_int_equal(counts.constant, 1);
    assert_int_equal(batch.drop[2] | batch.drop[3], 0);
    assert_int_equal(batch.drop[4], RL_CONSTANT);
    /* With a baseline of the whole batch nothing is constant. */
    memset(batch.drop, 0, 7);
    filter.by = RL_BY_BATCH;
    filter.rollouts_least = 0;
    rl_filter_prompts(&batch, &filter, batch.reward, &counts);
    assert_int_equal(counts.usable, 4);
}

TEST(draw_more)
{
    static const struct {
        struct rl_draw draw;
        size_t usable, drawn, rounds, more;
    } draws[] = {
        {{16, 64, 10, true}, 15, 16, 1, 16},
        {{16, 64, 10, true}, 16, 16, 1, 0},
        {{16, 64, 10, false}, 0, 0, 0, 16},
        {{16, 64, 10, false}, 16, 16, 1, 0},
        {{16, 64, 10, false}, 20, 16, 1, 0},
        {{16, 64, 10, false}, 15, 16, 1, 2}, /* not 16: 1 · 18/16 */
        {{16, 64, 10, false}, 7, 16, 1, 21}, /* 9 · 18/8 */
        {{16, 64, 10, false}, 0, 16, 1, 64}, /* 16 · 18, and no more than 64 */
        {{16, 64, 10, false}, 7, 16, 10, 0},
        {{16, 64, 0, false}, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT(draws); i++) {
        size_t more = rl_draw_more(&draws[i].draw, draws[i].usable, draws[i].drawn,
                                   draws[i].rounds);
        if (more != draws[i].more)
            fail_msg("draw %zu: %zu", i, more);
    }
}

/* Four prompts of two rollouts; one of prompt 7's is dropped. */
static void prompts_of_two(struct rl_batch *batch)
{
    static const uint32_t prompt[8] = {3, 3, 5, 5, 7, 7, 8, 8};
    rl_test_rows(batch, 8, prompt, (const uint32_t[8]){0}, (const double[8]){0});
    batch->drop[4] = RL_VETO;
}

TEST(surplus_prompts)
{
    size_t stayed[4] = {0};
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct rl_batch batch;
        prompts_of_two(&batch);
        rl_keep_prompts(&batch, 2, seed, 4);
        size_t count = 0;
        for (size_t p = 0; p < 4; p++) {
            bool stays = batch.drop[2 * p + 1] == 0;
            assert_int_equal(batch.drop[2 * p + 1], stays ? 0 : RL_SURPLUS);
            stayed[p] += stays;
            count += stays;
        }
        assert_int_equal(count, 2);
    }
    /* The incomplete one never; each of the others two times in three. */
    assert_int_equal(stayed[2], 0);
    for (size_t p = 0; p < 4; p++)
        assert_true(p == 2 || (stayed[p] > 160 && stayed[p] < 240));
}

TEST(choice_knows_no_order)
{
    uint64_t seed = 21;
    for (size_t trial = 0; trial < 20; trial++) {
        struct rl_batch batch;
        struct rl_batch other;
        struct rl_filter_counts counts;
        struct rl_filter_counts other_counts;
        rl_test_batch(&batch, &seed, 5, 4, 3, true);
        size_t *place = arena_alloc(&rl_test_arena, batch.rows * sizeof *place);
        rl_test_permute(&batch, &other, &seed, place);
        rl_filter_prompts(&batch, &rl_filter_defaults, batch.reward, &counts);
        rl_filter_prompts(&other, &rl_filter_defaults, other.reward, &other_counts);
        assert_memory_equal(&counts, &other_counts, sizeof counts);
        rl_keep_prompts(&batch, 3, 9, trial);
        rl_keep_prompts(&other, 3, 9, trial);
        for (size_t row = 0; row < batch.rows; row++)
            assert_int_equal(batch.drop[row], other.drop[place[row]]);
    }
}

/* Eight rollouts of a prompt: rewards, tokens, and which of four or two are efficient. */
static void eight(struct rl_batch *batch)
{
    static const double rewards[ROWS] = {1, 0, 2, 0, 3, 0, 0, 0};
    static const size_t tokens[ROWS] = {1, 4, 3, 2, 9, 8, 5, 1};
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        count += tokens[i];
    rl_batch_alloc(batch, &rl_test_arena, ROWS, count);
    for (size_t i = 0; i < ROWS; i++) {
        batch->rollout[i] = (uint32_t)i;
        batch->reward[i] = rewards[i];
        batch->first[i + 1] = batch->first[i] + tokens[i];
    }
}

TEST(efficient_rollouts)
{
    /* 4 · 3/8 rounds to the even 2: rewards for a token of 1 and 2/3, and failures of 1 and 2. */
    static const uint8_t four[ROWS] = {0, 128, 0, 0, 128, 128, 128, 0};
    static const uint8_t two[ROWS] = {0, 128, 128, 128, 128, 128, 128, 0};
    struct rl_batch batch;
    eight(&batch);
    rl_keep_rollouts(&batch, RL_SELECT_EFFICIENT, 8, 1, 1);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(batch.drop[i], 0);
    rl_keep_rollouts(&batch, RL_SELECT_EFFICIENT, 4, 1, 1);
    assert_memory_equal(batch.drop, four, ROWS);
    rl_keep_rollouts(&batch, RL_SELECT_EFFICIENT, 2, 1, 1);
    assert_memory_equal(batch.drop, two, ROWS);
    eight(&batch);
    batch.drop[0] = RL_EXCLUDED; /* it is none of them */
    rl_keep_rollouts(&batch, RL_SELECT_EFFICIENT, 2, 1, 1);
    assert_true(batch.drop[0] == RL_EXCLUDED && batch.drop[2] == 0 && batch.drop[7] == 0);
}

/* How often each failure stays, of weights 1 / tokens but for the floor of 1e-6. */
TEST(weighted_rollouts)
{
    double stays[ROWS] = {0}, any[ROWS] = {0}, shares = 1. / 4 + 1. / 2 + 1. / 8 + 1. / 5 + 1;
    for (uint64_t step = 0; step < 2000; step++) {
        struct rl_batch batch;
        eight(&batch);
        rl_keep_rollouts(&batch, RL_SELECT_WEIGHTED, 2, 7, step);
        for (size_t i = 0; i < ROWS; i++)
            stays[i] += batch.drop[i] == 0;
        eight(&batch);
        rl_keep_rollouts(&batch, RL_SELECT_RANDOM, 2, 7, step);
        for (size_t i = 0; i < ROWS; i++)
            any[i] += batch.drop[i] == 0;
        rl_test_free(NULL);
    }
    assert_true(fabs(stays[7] / 2000 - 1 / shares) < 0.05);
    assert_true(fabs(stays[5] / 2000 - 1. / 8 / shares) < 0.03);
    assert_true(stays[0] + stays[2] + stays[4] == 2000); /* one that is good, one that is not */
    double best = exp(1), middle = exp(2. / 3), worst = exp(1. / 3);
    assert_true(fabs(stays[0] / 2000 - best / (best + middle + worst)) < 0.05);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(fabs(any[i] / 2000 - 0.25) < 0.05);
}
