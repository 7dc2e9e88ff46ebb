#include "rl/library/library.h"

#include <stdlib.h>

struct keyed {
    int64_t rollout, turn;
    size_t row;
};

static int compare_numbers(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

static int compare_keys(const void *left, const void *right)
{
    const struct keyed *a = left;
    const struct keyed *b = right;
    int by_rollout = compare_numbers(a->rollout, b->rollout);
    int by_turn = compare_numbers(a->turn, b->turn);
    return by_rollout ? by_rollout
           : by_turn  ? by_turn
                      : compare_numbers((int64_t)a->row, (int64_t)b->row);
}

static int compare_ids(const void *left, const void *right)
{
    return compare_numbers(*(const int64_t *)left, *(const int64_t *)right);
}

/* Whether rollouts follow one another, each with ascending turns. */
static bool is_ordered(const struct keyed *keys, size_t count)
{
    int64_t *begun = mem_alloc((count + 1) * sizeof *begun);
    size_t rollouts = 0;
    bool ordered = true;
    for (size_t i = 0; i < count && ordered; i++) {
        bool follows = i > 0 && keys[i].rollout == keys[i - 1].rollout;
        ordered = !follows || keys[i].turn > keys[i - 1].turn;
        if (!follows)
            begun[rollouts++] = keys[i].rollout;
    }
    qsort(begun, rollouts, sizeof *begun, compare_ids);
    for (size_t i = 1; i < rollouts; i++)
        ordered = ordered && begun[i] != begun[i - 1];
    mem_free(begun);
    return ordered;
}

static int check_id(const int64_t *ids, const char *name, size_t row, struct err *err)
{
    if (ids && (ids[row] < 0 || ids[row] > UINT32_MAX))
        return err_set(err, ERR_INPUT, "row %zu: %s is %lld; number them from 0 to 4294967295", row,
                       name, (long long)ids[row]);
    return 0;
}

static int read_keys(struct keyed *keys, const struct warpgym_rl_rows *rows, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < rows->rows && result == 0; i++) {
        keys[i] = (struct keyed){.rollout = rows->rollout ? rows->rollout[i] : (int64_t)i,
                                 .turn = rows->turn ? rows->turn[i] : 0,
                                 .row = i};
        result = check_id(rows->prompt, "prompt", i, err);
        if (result == 0)
            result = check_id(rows->rollout, "rollout", i, err);
        if (result == 0)
            result = check_id(rows->turn, "turn", i, err);
    }
    return result;
}

/* Turns that are not given: how many rows of the rollout come before. */
static void number_turns(struct keyed *keys, size_t count)
{
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < count; i++)
        keys[i].turn = keys[i].rollout == keys[i - 1].rollout ? keys[i - 1].turn + 1 : 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct keyed *a = left;
    const struct keyed *b = right;
    return compare_numbers((int64_t)a->row, (int64_t)b->row);
}

static int check_neighbours(const struct warpgym_rl_rows *rows, const struct keyed *before,
                            const struct keyed *key, struct err *err)
{
    if (key->rollout != before->rollout)
        return 0;
    if (key->turn == before->turn)
        return err_set(err, ERR_INPUT,
                       "rows %zu and %zu are both turn %lld of rollout %lld; number rollouts and "
                       "turns so that no two rows share both",
                       before->row, key->row, (long long)key->turn, (long long)key->rollout);
    if (rows->prompt[key->row] != rows->prompt[before->row])
        return err_set(err, ERR_INPUT,
                       "rows %zu and %zu are of rollout %lld, but of prompts %lld and %lld; a "
                       "rollout has one prompt",
                       before->row, key->row, (long long)key->rollout,
                       (long long)rows->prompt[before->row], (long long)rows->prompt[key->row]);
    return 0;
}

static int fill_order(struct rl_order *order, const struct warpgym_rl_rows *rows,
                      struct keyed *keys, struct err *err)
{
    int result = 0;
    if (!rows->turn) {
        number_turns(keys, rows->rows);
        qsort(keys, rows->rows, sizeof *keys, compare_rows);
    }
    order->given = is_ordered(keys, rows->rows);
    if (!order->given)
        qsort(keys, rows->rows, sizeof *keys, compare_keys);
    for (size_t i = 0; i < rows->rows && result == 0; i++) {
        order->row[i] = keys[i].row;
        order->rollout[i] = (uint32_t)keys[i].rollout;
        order->turn[i] = (uint32_t)keys[i].turn;
        if (i > 0)
            result = check_neighbours(rows, &keys[i - 1], &keys[i], err);
    }
    return result;
}

int rl_order_find(struct rl_order *order, struct arena *arena, const struct warpgym_rl_rows *rows,
                  struct err *err)
{
    if (!rows->prompt || !rows->reward)
        return err_set(err, ERR_INPUT, "a step needs the prompt and the reward of each row");
    if (rows->rows == 0 || rows->rows > WARPGYM_RL_ROWS_MOST)
        return err_set(err, ERR_INPUT, "a step has 1 to %zu rows, not %zu", WARPGYM_RL_ROWS_MOST,
                       rows->rows);
    if (rows->turn && !rows->rollout)
        return err_set(err, ERR_INPUT,
                       "turns are given, but not which rollout each row belongs to; give rollouts");
    struct keyed *keys = mem_alloc(rows->rows * sizeof *keys);
    *order = (struct rl_order){
        .row = arena_alloc(arena, rows->rows * sizeof *order->row),
        .rollout = arena_alloc(arena, rows->rows * sizeof *order->rollout),
        .turn = arena_alloc(arena, rows->rows * sizeof *order->turn),
    };
    int result = read_keys(keys, rows, err);
    if (result == 0)
        result = fill_order(order, rows, keys, err);
    mem_free(keys);
    return result;
}
