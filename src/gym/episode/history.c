#include "gym/episode/history.h"

const char *const history_select_names[] = {WORD_NAMES(HISTORY_SELECTS)};
const char *const history_value_names[] = {WORD_NAMES(HISTORY_VALUES)};

static size_t run_from(size_t first, size_t keep, size_t *places)
{
    for (size_t i = 0; i < keep; i++)
        places[i] = first + i;
    return keep;
}

static size_t best_run(const double *values, size_t count, size_t keep)
{
    size_t best = 0;
    double most = 0;
    for (size_t first = 0; first + keep <= count; first++) {
        double sum = 0;
        for (size_t i = 0; i < keep; i++)
            sum += values[first + i];
        if (first == 0 || sum > most) {
            most = sum;
            best = first;
        }
    }
    return best;
}

/* The rank of a turn by descending value. */
static size_t rank_of(const double *values, size_t count, size_t place)
{
    size_t rank = 0;
    for (size_t i = 0; i < count; i++)
        rank += values[i] > values[place] || (values[i] == values[place] && i < place);
    return rank;
}

size_t history_choose(enum history_select select, const double *values, size_t count, size_t keep,
                      size_t *places)
{
    size_t chosen = 0;
    if (keep > count)
        keep = count;
    if (select == HISTORY_LAST)
        return run_from(count - keep, keep, places);
    if (select == HISTORY_BEST)
        return run_from(best_run(values, count, keep), keep, places);
    for (size_t i = 0; i < count; i++)
        if (rank_of(values, count, i) < keep)
            places[chosen++] = i;
    return chosen;
}

int64_t history_turns(int64_t turns, int64_t remain, int64_t iterations)
{
    return turns + (iterations - 1) * (turns - remain);
}
