/* Which problems come next, and what is remembered of them. */
#include "rl/collect/problem_record.h"
#include "rl/collect/train_order.h"

#include "../support/test.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>

#define PROBLEMS 4
#define TURNS 2

static void open_records(struct problem_records *records)
{
    json_t *tasks = json_array();
    for (size_t i = 0; i < PROBLEMS; i++) {
        char id[16];
        snprintf(id, sizeof id, "level1/%zu", i);
        json_array_append_new(tasks, json_pack("{s:{s:s}}", "problem", "id", id));
    }
    problem_records_open(records, tasks, TURNS);
    json_decref(tasks);
}

static const double unknown[TURNS] = {NAN, NAN};

TEST(records)
{
    struct problem_records records, again;
    struct err err = {0};
    open_records(&records);
    size_t index = problem_records_find(&records, "level1/2");
    assert_int_equal(index, 2);
    assert_int_equal(problem_records_find(&records, "level1/9"), SIZE_MAX);
    assert_true(isnan(records.list[2].rate) && problem_records_value(&records, 2, 0) == 0);
    problem_records_learn(&records, 2, 0.5, 0.25, (const double[TURNS]){3, NAN}, 0.1);
    problem_records_learn(&records, 2, 1, 0.25, (const double[TURNS]){5, 1}, 0.1);
    problem_records_learn(&records, 2, NAN, 0.25, unknown, 0.1); /* nothing was judged */
    assert_true(records.list[2].rate == 0.625 && records.list[2].uses == 3);
    assert_true(fabs(problem_records_value(&records, 2, 0) - 3.2) < 1e-12);
    assert_true(problem_records_value(&records, 2, 1) == 1);
    assert_true(problem_records_value(&records, 2, TURNS) == 0);

    json_t *saved = problem_records_state(&records);
    assert_int_equal(json_array_size(saved), 1);
    open_records(&again);
    assert_ok(problem_records_restore(&again, saved, &err), &err);
    assert_true(again.list[2].rate == 0.625 && again.list[2].uses == 3);
    assert_true(problem_records_value(&again, 2, 0) == problem_records_value(&records, 2, 0));
    assert_true(isnan(again.list[0].rate));
    json_t *wrong = json_pack("[[i, f, i, []]]", PROBLEMS, 0.5, 1);
    assert_int_equal(problem_records_restore(&again, wrong, &err), ERR_INPUT);
    assert_ok(problem_records_restore(&again, NULL, &err), &err); /* an older state */
    json_decref(wrong);
    json_decref(saved);
    problem_records_close(&again);
    problem_records_close(&records);
}

TEST(kept)
{
    static const struct {
        enum train_order_kind kind;
        double rate, keep;
    } rows[] = {
        {TRAIN_SHUFFLED, 1, 1},        {TRAIN_PRIORITY, NAN, 1},  {TRAIN_PRIORITY, 0.75, 0.25},
        {TRAIN_PRIORITY, 1, 0},        {TRAIN_MODERATE, NAN, 1},  {TRAIN_MODERATE, 0.1, 1},
        {TRAIN_MODERATE, 0.9, 1},      {TRAIN_MODERATE, 0, 0.05}, {TRAIN_MODERATE, 0.05, 0.0475},
        {TRAIN_MODERATE, 0.95, 0.005}, {TRAIN_MODERATE, 1, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct train_order order = {.kind = rows[i].kind, .low = 0.1, .high = 0.9};
        double keep = train_order_keep(&order, rows[i].rate);
        if (!(fabs(keep - rows[i].keep) < 1e-12))
            fail_msg("row %zu: %g", i, keep);
    }
}

/* The first of each draw, by its weight among all. */
TEST(target)
{
    static const double rates[PROBLEMS] = {0.5, 0.6, 1, NAN};
    static const size_t uses[PROBLEMS] = {1, 1, 1, 3};
    const struct train_order order = {.kind = TRAIN_TARGET,
                                      .target = 0.5,
                                      .width = 0.1,
                                      .fresh = 0.2};
    struct problem_records records;
    double first[PROBLEMS] = {0}, weights[PROBLEMS], sum = 0;
    open_records(&records);
    for (size_t i = 0; i < PROBLEMS; i++) {
        records.list[i].rate = rates[i];
        records.list[i].uses = uses[i];
        double fresh = 1.01 / ((double)uses[i] + 0.01);
        double near = isnan(rates[i]) ? 1 : exp(-0.5 * pow((rates[i] - 0.5) / 0.1, 2));
        weights[i] = 0.2 * fresh + 0.8 * near;
        sum += weights[i];
    }
    for (uint64_t draw = 0; draw < 4000; draw++) {
        size_t chosen[PROBLEMS];
        bool seen[PROBLEMS] = {false};
        train_order_draw(&order, &records, 5, draw, PROBLEMS, chosen);
        first[chosen[0]]++;
        for (size_t i = 0; i < PROBLEMS; i++) {
            assert_false(seen[chosen[i]]);
            seen[chosen[i]] = true;
        }
    }
    for (size_t i = 0; i < PROBLEMS; i++)
        if (!(fabs(first[i] / 4000 - weights[i] / sum) < 0.04))
            fail_msg("problem %zu: %g, not %g", i, first[i] / 4000, weights[i] / sum);
    problem_records_close(&records);
}
