#include "gym/episode/history.h"

#include <stdbool.h>

const char *const history_select_names[] = {WORD_NAMES(HISTORY_SELECTS)};
const char *const history_value_names[] = {WORD_NAMES(HISTORY_VALUES)};

static size_t run_from(size_t first, size_t keep, size_t *places)
{
    for (size_t i = 0; i < keep; i++)
        places[i] = first + i;
    return keep;
}

static bool is_more(struct history_worth one, struct history_worth other)
{
    return one.first != other.first ? one.first > other.first : one.second > other.second;
}

static size_t best_run(const struct history_worth *worth, size_t count, size_t keep)
{
    size_t best = 0;
    struct history_worth most = {0};
    for (size_t first = 0; first + keep <= count; first++) {
        struct history_worth sum = {0};
        for (size_t i = 0; i < keep; i++) {
            sum.first += worth[first + i].first;
            sum.second += worth[first + i].second;
        }
        if (first == 0 || is_more(sum, most)) {
            most = sum;
            best = first;
        }
    }
    return best;
}

/* The rank of a turn by descending worth. */
static size_t rank_of(const struct history_worth *worth, size_t count, size_t place)
{
    size_t rank = 0;
    for (size_t i = 0; i < count; i++)
        rank += is_more(worth[i], worth[place]) || (i < place && !is_more(worth[place], worth[i]));
    return rank;
}

size_t history_choose(enum history_select select, const struct history_worth *worth, size_t count,
                      size_t keep, size_t *places)
{
    size_t chosen = 0;
    if (keep > count)
        keep = count;
    if (select == HISTORY_LAST)
        return run_from(count - keep, keep, places);
    if (select == HISTORY_BEST)
        return run_from(best_run(worth, count, keep), keep, places);
    for (size_t i = 0; i < count; i++)
        if (rank_of(worth, count, i) < keep)
            places[chosen++] = i;
    return chosen;
}

int64_t history_turns(int64_t turns, int64_t remain, int64_t iterations)
{
    return turns + (iterations - 1) * (turns - remain);
}
