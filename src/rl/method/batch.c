#include "rl/method/batch.h"

#include <math.h>
#include <stdlib.h>

const char *const rl_drop_names[] = {
#define X(symbol, bit, name) [bit] = (name),
    RL_DROPS(X)
#undef X
        NULL,
};

void rl_batch_alloc_rows(struct rl_batch *batch, struct arena *arena, size_t rows, size_t tokens)
{
    *batch = (struct rl_batch){
        .rows = rows,
        .tokens = tokens,
        .prompt = arena_alloc(arena, rows * sizeof(uint32_t)),
        .rollout = arena_alloc(arena, rows * sizeof(uint32_t)),
        .turn = arena_alloc(arena, rows * sizeof(uint32_t)),
        .reward = arena_alloc(arena, rows * sizeof(double)),
        .correct = arena_alloc(arena, rows * sizeof(bool)),
        .speedup = arena_alloc(arena, rows * sizeof(double)),
        .coverage = arena_alloc(arena, rows * sizeof(double)),
        .drop = arena_alloc(arena, rows),
        .returns = arena_alloc(arena, rows * sizeof(double)),
        .advantage = arena_alloc(arena, rows * sizeof(double)),
        .first = arena_alloc(arena, (rows + 1) * sizeof(size_t)),
        .mask = arena_alloc(arena, tokens * sizeof(bool)),
        .weight = arena_alloc(arena, tokens * sizeof(double)),
        .offset = arena_alloc(arena, tokens * sizeof(double)),
    };
    for (size_t i = 0; i < tokens; i++)
        batch->mask[i] = true;
}

void rl_batch_alloc(struct rl_batch *batch, struct arena *arena, size_t rows, size_t tokens)
{
    rl_batch_alloc_rows(batch, arena, rows, tokens);
    batch->trained = arena_alloc(arena, tokens * sizeof(float));
    batch->sampled = arena_alloc(arena, tokens * sizeof(float));
    batch->collision = arena_alloc(arena, tokens * sizeof(float));
    batch->value = arena_alloc(arena, tokens * sizeof(float));
    batch->top = arena_alloc(arena, tokens * sizeof(float));
    for (size_t i = 0; i < tokens; i++) {
        batch->collision[i] = NAN;
        batch->top[i] = NAN;
    }
}

size_t rl_rollout_end(const struct rl_batch *batch, size_t row)
{
    uint32_t rollout = batch->rollout[row];
    while (row < batch->rows && batch->rollout[row] == rollout)
        row++;
    return row;
}

size_t rl_row_tokens(const struct rl_batch *batch, size_t row)
{
    size_t count = 0;
    for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
        count += batch->mask[i];
    return count;
}

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int check_rollouts(const struct rl_batch *batch, struct err *err)
{
    uint32_t *seen = mem_alloc((batch->rows + 1) * sizeof *seen);
    size_t count = 0;
    int result = 0;
    for (size_t row = 0; row < batch->rows; row = rl_rollout_end(batch, row))
        seen[count++] = batch->rollout[row];
    qsort(seen, count, sizeof *seen, compare_numbers);
    for (size_t i = 1; i < count && result == 0; i++)
        if (seen[i] == seen[i - 1])
            result = err_set(err, ERR_INTERNAL, "rollout %u of a batch is not contiguous", seen[i]);
    mem_free(seen);
    return result;
}

static const char *row_complaint(const struct rl_batch *batch, size_t row)
{
    bool follows = row > 0 && batch->rollout[row] == batch->rollout[row - 1];
    if (!isfinite(batch->reward[row]))
        return "the reward is not finite";
    if (batch->first[row] > batch->first[row + 1])
        return "the tokens end before they begin";
    if (follows && batch->prompt[row] != batch->prompt[row - 1])
        return "the rollout has two prompts";
    if (follows && batch->turn[row] <= batch->turn[row - 1])
        return "the rollout's turns are not in order";
    return NULL;
}

int rl_batch_check(const struct rl_batch *batch, struct err *err)
{
    for (size_t row = 0; row < batch->rows; row++) {
        const char *why = row_complaint(batch, row);
        if (why)
            return err_set(err, ERR_INTERNAL, "row %zu of a batch: %s", row, why);
    }
    if (batch->first[0] != 0 || batch->first[batch->rows] != batch->tokens)
        return err_set(err, ERR_INTERNAL, "a batch of %zu tokens, but its rows have %zu",
                       batch->tokens, batch->first[batch->rows] - batch->first[0]);
    return check_rollouts(batch, err);
}

struct keyed {
    uint64_t key;
    size_t row;
};

static int compare_keys(const void *left, const void *right)
{
    const struct keyed *a = left;
    const struct keyed *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static bool is_last(const struct rl_batch *batch, size_t row, unsigned out)
{
    for (size_t next = row + 1; next < batch->rows && batch->rollout[next] == batch->rollout[row];
         next++)
        if (!(batch->drop[next] & out))
            return false;
    return true;
}

void rl_groups_init(struct rl_groups *groups, const struct rl_batch *batch, enum rl_group by,
                    unsigned out, bool last_turn)
{
    struct keyed *keys = mem_alloc((batch->rows + 1) * sizeof *keys);
    size_t count = 0;
    for (size_t row = 0; row < batch->rows; row++) {
        uint64_t prompt = by == RL_BY_BATCH ? 0 : batch->prompt[row];
        uint64_t turn = by == RL_BY_TURN && !last_turn ? batch->turn[row] : 0;
        if (!(batch->drop[row] & out) && (!last_turn || is_last(batch, row, out)))
            keys[count++] = (struct keyed){prompt << 32 | turn, row};
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    *groups = (struct rl_groups){
        .rows_count = count,
        .start = mem_alloc((count + 1) * sizeof *groups->start),
        .rows = mem_alloc((count + 1) * sizeof *groups->rows),
    };
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || keys[i].key != keys[i - 1].key)
            groups->start[groups->count++] = i;
        groups->rows[i] = keys[i].row;
    }
    groups->start[groups->count] = count;
    mem_free(keys);
}

void rl_groups_deinit(struct rl_groups *groups)
{
    mem_free(groups->start);
    mem_free(groups->rows);
}
