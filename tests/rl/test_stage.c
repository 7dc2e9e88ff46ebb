/* Rewards in turn, guards, and the order of problems: small rules, as tables. */
#include "rl/collect/train_data.h"
#include "rl/train/stage.h"
#include "rl/train/train_guard.h"

#include "../support/setting.h"
#include "../support/test.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>

TEST(stages_are_read)
{
    static const struct {
        const char *text;
        size_t count;
        const char *complaint;
    } rows[] = {
        {"", 0, NULL},
        {"kevin", 1, NULL},
        {"staged1 compiled 0.7, staged2 correct 0.5, staged3", 3, NULL},
        {"  staged1\tfast 1 ,kevin", 2, NULL},
        {"staged1 compiled 0.7", 0, "is a PRESET alone"},
        {"staged1, kevin", 0, "not PRESET MEASURE RATE"},
        {"staged1 compiled, kevin", 0, "not PRESET MEASURE RATE"},
        {"staged1 compiled 0.7 more, kevin", 0, "not PRESET MEASURE RATE"},
        {"staged1 compiled 0.7,", 0, "nothing follows the last comma"},
        {",", 0, "not PRESET MEASURE RATE"},
        {"stagd1 compiled 0.7, kevin", 0, "staged1"},
        {"staged1 compild 0.7, kevin", 0, "did you mean 'compiled'?"},
        {"staged1 compiled 0, kevin", 0, "'0' is not a rate"},
        {"staged1 compiled 1.1, kevin", 0, "'1.1' is not a rate"},
        {"staged1 compiled nan, kevin", 0, "'nan' is not a rate"},
        {"staged1 compiled 1x, kevin", 0, "'1x' is not a rate"},
        {"kevin correct 1, kevin correct 1, kevin correct 1, kevin correct 1, kevin correct 1, "
         "kevin correct 1, kevin correct 1, kevin correct 1, kevin",
         0, "more than 8 stages"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stages stages;
        struct err err = {0};
        int result = stages_open(&stages, rows[i].text, 3, &err);
        const char *complaint = rows[i].complaint ? rows[i].complaint : "";
        if ((result < 0) != (*complaint != '\0') || !strstr(err.text, complaint))
            fail_msg("'%s': %d, %s", rows[i].text, result, err.text);
        if (result < 0) {
            assert_non_null(strstr(err.text, "train.stages"));
            continue;
        }
        assert_int_equal(stages.count, rows[i].count);
        stages_close(&stages);
    }
}

TEST(stages_advance)
{
    static const struct {
        double compiled, correct;
        bool next;
        const char *reward; /* from then on */
    } rows[] = {
        {0.9, 1, false, "staged1"},                             /* two steps are looked at */
        {0.3, 1, false, "staged1"}, {0.9, 1, false, "staged1"}, /* (0.3 + 0.9) / 2 */
        {NAN, 1, false, "staged1"},                             /* nothing was judged */
        {0.7, 1, true, "staged2"},  {1, 0.6, false, "staged2"}, /* not what was before */
        {0, 0.6, true, "kevin"},    {1, 1, false, "kevin"},     {1, 1, false, "kevin"},
    };
    struct stages stages;
    assert_int_equal(stages_open(&stages, "staged1 compiled 0.7, staged2 correct 0.5, kevin", 2,
                                 NULL),
                     0);
    assert_string_equal(stages_reward(&stages, "sparse"), "staged1");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const double rates[STAGE_MEASURE_COUNT] = {1, rows[i].compiled, rows[i].correct, 0};
        /* A run that is killed and goes on in between is none the wiser. */
        json_t *kept = stages_state(&stages);
        stages_close(&stages);
        assert_int_equal(stages_open(&stages, "staged1 compiled 0.7, staged2 correct 0.5, kevin", 2,
                                     NULL),
                         0);
        assert_int_equal(stages_restore(&stages, kept, NULL), 0);
        json_decref(kept);
        assert_int_equal(stages_update(&stages, rates), rows[i].next);
        assert_string_equal(stages_reward(&stages, "sparse"), rows[i].reward);
    }
    stages_close(&stages);
    assert_int_equal(stages_open(&stages, "", 2, NULL), 0);
    const double best[STAGE_MEASURE_COUNT] = {1, 1, 1, 1};
    assert_false(stages_update(&stages, best));
    assert_string_equal(stages_reward(&stages, "sparse"), "sparse");
    stages_close(&stages);
}

TEST(states_that_are_none)
{
    static const char *const texts[] = {
        "{}",
        "{\"at\": 3, \"rates\": []}",
        "{\"at\": -1, \"rates\": []}",
        "{\"at\": 0, \"rates\": [1, 1, 1]}",
        "{\"at\": 0, \"rates\": [\"x\"]}",
    };
    struct stages stages;
    assert_int_equal(stages_open(&stages, "staged1 compiled 0.7, kevin", 2, NULL), 0);
    for (size_t i = 0; i < COUNT(texts); i++) {
        json_t *kept = json_loads(texts[i], 0, NULL);
        if (stages_restore(&stages, kept, NULL) == 0)
            fail_msg("%s is taken", texts[i]);
        json_decref(kept);
    }
    stages_close(&stages);
}

TEST(guard)
{
    static const struct {
        bool not_finite;
        double norm, kl;
        const char *complaint;
    } rows[] = {
        {false, 9, 0.1, NULL},
        {true, NAN, NAN, NULL},
        {true, INFINITY, NAN, NULL},
        {false, 1, 0.1, NULL}, /* in a row */
        {true, 1, 0, NULL},
        {true, 1, 0, NULL},
        {true, 1, 0, "not finite 3 times"},
        {false, NAN, NAN, NULL},
        {false, 10.5, 0.1, "train.guard_norm"},
        {false, 1, 0.6, "train.guard_kl"},
    };
    struct settings settings;
    struct train_guard guard = {0};
    settings_init(&settings);
    set(&settings, "train.guard_norm=10");
    set(&settings, "train.guard_kl=0.5");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct train_guard_figures figures = {.not_finite = rows[i].not_finite,
                                                    .norm = rows[i].norm,
                                                    .kl = rows[i].kl};
        struct err err = {0};
        int result = train_guard_check(&guard, &settings, i, &figures, &err);
        if ((result < 0) != (rows[i].complaint != NULL) ||
            (result < 0 && !strstr(err.text, rows[i].complaint)))
            fail_msg("row %zu: %d %s", i, result, err.text);
    }
    set(&settings, "train.guard_norm=0"); /* none */
    set(&settings, "train.guard_kl=0");
    const struct train_guard_figures wild = {.norm = 1e30, .kl = 1e30};
    guard.skips = 0;
    assert_int_equal(train_guard_check(&guard, &settings, 0, &wild, NULL), 0);
    settings_deinit(&settings);
}

#define PROBLEMS 5

static json_t *numbered(size_t count)
{
    json_t *tasks = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(tasks, json_integer((json_int_t)i));
    return tasks;
}

static size_t number_at(const json_t *tasks, size_t i)
{
    return (size_t)json_integer_value(json_array_get(tasks, i));
}

/* Every problem once an epoch, whatever the steps take; and from any place on the same. */
TEST(order)
{
    struct train_data data = {.train = numbered(PROBLEMS), .held_out = json_array(), .seed = 3};
    data.order = mem_alloc(PROBLEMS * sizeof *data.order);
    data.epoch = UINT64_MAX;
    struct train_data_position place = {0}, half = {0};
    json_t *whole = train_data_draw(&data, &place, 4 * PROBLEMS);
    size_t different = 0;
    for (size_t epoch = 0; epoch < 4; epoch++) {
        bool seen[PROBLEMS] = {false};
        for (size_t i = 0; i < PROBLEMS; i++) {
            size_t number = number_at(whole, epoch * PROBLEMS + i);
            assert_true(number < PROBLEMS && !seen[number]);
            seen[number] = true;
            different += number != number_at(whole, i);
        }
    }
    assert_true(different > 0);
    assert_true(place.epoch == 3 && place.index == PROBLEMS);
    for (size_t at = 0; at + 3 <= 4 * PROBLEMS; at += 3) {
        struct train_data_position kept = half;
        json_t *part = train_data_draw(&data, &half, 3);
        json_t *again = train_data_draw(&data, &kept, 3);
        assert_true(json_equal(part, again));
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(number_at(part, i), number_at(whole, at + i));
        json_decref(part);
        json_decref(again);
    }
    json_decref(whole);
    train_data_close(&data);
}

static const char *id_at(const json_t *tasks, size_t i)
{
    return json_text_at(json_object_get(json_array_get(tasks, i), "problem"), "id");
}

TEST(held_out)
{
    static const struct {
        const char *problems, *held_out;
        double share;
        size_t train, apart;
        const char *complaint;
    } rows[] = {
        {"relu softmax gemm", "", 0, 3, 0, NULL},
        {" relu  softmax gemm relu ", "gemm", 0, 2, 1, NULL},
        {"relu softmax", "gemm row_sum", 0, 2, 2, NULL},
        {"relu softmax", "./problems/native/relu", 0, 1, 1, NULL},
        {"relu softmax gemm row_sum", "", 0.25, 3, 1, NULL},
        {"relu softmax", "", 0.01, 1, 1, NULL},
        {"relu softmax", "", 0.9, 1, 1, NULL},
        {"relu", "", 0.5, 1, 0, NULL},
        {"relu", "relu", 0, 0, 0, "no problem is left to train on"},
        {"rleu", "", 0, 0, 0, "train.problems: unknown problem 'rleu'"},
        {"relu", "sotfmax", 0, 0, 0, "train.held_out: unknown problem 'sotfmax'"},
    };
    const struct paths_list search_paths = {.items = (const char *[]){"problems"}, .count = 1};
    struct settings settings;
    settings_init(&settings);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct train_data data;
        struct err err = {0};
        char share[32];
        snprintf(share, sizeof share, "%g", rows[i].share);
        assert_int_equal(settings_set(&settings, "train.problems", rows[i].problems, 0, &err), 0);
        assert_int_equal(settings_set(&settings, "train.held_out", rows[i].held_out, 0, &err), 0);
        assert_int_equal(settings_set(&settings, "train.held_out_share", share, 0, &err), 0);
        int result = train_data_open(&data, &settings, &search_paths, &err);
        if ((result < 0) != (rows[i].complaint != NULL) ||
            (result < 0 && !strstr(err.text, rows[i].complaint)))
            fail_msg("row %zu: %d %s", i, result, err.text);
        if (result < 0)
            continue;
        assert_int_equal(json_array_size(data.train), rows[i].train);
        assert_int_equal(json_array_size(data.held_out), rows[i].apart);
        for (size_t k = 0; k < rows[i].train; k++)
            for (size_t h = 0; h < rows[i].apart; h++)
                assert_string_not_equal(id_at(data.train, k), id_at(data.held_out, h));
        train_data_close(&data);
    }
    settings_deinit(&settings);
}
