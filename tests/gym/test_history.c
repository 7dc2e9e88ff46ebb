/* Which turns of a history are kept. */
#include "../support/test.h"
#include "gym/episode/history.h"

#define CAPACITY 16

static const struct {
    enum history_select select;
    double values[CAPACITY];
    size_t count, keep;
    size_t places[CAPACITY], chosen;
} rows[] = {
    {HISTORY_LAST, {0, 2, 0, 0, 1.5, 1.5}, 6, 2, {4, 5}, 2},
    {HISTORY_LAST, {1}, 1, 4, {0}, 1},
    {HISTORY_LAST, {0}, 0, 4, {0}, 0},
    /* The two in a row with the highest sum: turns 5 and 6, counted from 1, not 2 and 5. */
    {HISTORY_BEST, {0, 2, 0, 0, 1.5, 1.5}, 6, 2, {4, 5}, 2},
    {HISTORY_BEST, {1, 0, 1, 0, 1}, 5, 1, {0}, 1},
    {HISTORY_BEST, {1, 1, 0, 1, 1}, 5, 2, {0, 1}, 2},
    {HISTORY_BEST, {-3, -1, -2}, 3, 2, {1, 2}, 2},
    {HISTORY_BEST, {3, 4}, 2, 5, {0, 1}, 2},
    {HISTORY_BEST, {3, 4}, 2, 0, {0}, 0},
    {HISTORY_TOP, {0, 2, 0, 0, 1.5, 1.5}, 6, 2, {1, 4}, 2},
    {HISTORY_TOP, {0, 2, 0, 0, 1.5, 1.5}, 6, 3, {1, 4, 5}, 3},
    {HISTORY_TOP, {1, 1, 1, 1}, 4, 2, {0, 1}, 2},
};

TEST(choices)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t places[CAPACITY];
        struct history_worth worth[CAPACITY] = {{0}};
        for (size_t t = 0; t < rows[i].count; t++)
            worth[t].first = rows[i].values[t];
        size_t chosen = history_choose(rows[i].select, worth, rows[i].count, rows[i].keep, places);
        if (chosen != rows[i].chosen ||
            memcmp(places, rows[i].places, chosen * sizeof *places) != 0)
            fail_msg("row %zu: %zu chosen, the first is %zu", i, chosen, chosen ? places[0] : 0);
    }
}

/* Coverage first: 0.5 and 0.5 twice, then the reward of both turns, and never the reward alone. */
TEST(second_values)
{
    static const struct history_worth worth[4] = {{0.5, 1}, {0.5, 0}, {0.5, 2}, {0.25, 9}};
    size_t places[2];
    assert_int_equal(history_choose(HISTORY_BEST, worth, 4, 2, places), 2);
    assert_true(places[0] == 1 && places[1] == 2);
    assert_int_equal(history_choose(HISTORY_TOP, worth, 4, 2, places), 2);
    assert_true(places[0] == 0 && places[1] == 2);
}

TEST(turns)
{
    assert_int_equal(history_turns(5, 4, 10), 14);
    assert_int_equal(history_turns(3, 0, 1), 3);
    assert_int_equal(history_turns(4, 2, 3), 8);
}

TEST(names)
{
    struct err err;
    int select;
    assert_int_equal(word_find(WORDS(history_select_names), "select", "top", &select, &err), 0);
    assert_int_equal(select, HISTORY_TOP);
    assert_int_equal(word_find(WORDS(history_select_names), "select", "first", &select, &err),
                     ERR_INPUT);
    assert_non_null(strstr(err.text, "last, best, top"));
}
