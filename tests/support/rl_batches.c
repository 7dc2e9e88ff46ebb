#include "rl_batches.h"

#include "base/random.h"

#include <math.h>
#include <string.h>

struct arena rl_test_arena;

int rl_test_free(void **state)
{
    arena_deinit(&rl_test_arena);
    rl_test_arena = (struct arena){0};
    return 0;
}

double rl_test_number(uint64_t *state)
{
    return random_uniform(random_next(state));
}

size_t rl_test_below(uint64_t *state, size_t bound)
{
    return (size_t)(rl_test_number(state) * (double)bound);
}

static void fill_row(struct rl_batch *batch, uint64_t *state, size_t row, bool dropped)
{
    batch->reward[row] = 0.25 * (double)rl_test_below(state, 8);
    batch->correct[row] = batch->reward[row] > 0;
    batch->speedup[row] = batch->correct[row] ? 3 * rl_test_number(state) : NAN;
    batch->coverage[row] = rl_test_number(state);
    if (dropped && rl_test_below(state, 5) == 0)
        batch->drop[row] = (uint8_t)(1U << rl_test_below(state, 8));
    if (batch->drop[row] & RL_EXCLUDED)
        batch->reward[row] = 0;
}

static void fill_tokens(struct rl_batch *batch, uint64_t *state, bool dropped)
{
    for (size_t i = 0; i < batch->tokens; i++) {
        batch->sampled[i] = (float)(-2 * rl_test_number(state));
        batch->trained[i] = batch->sampled[i] + (float)(0.4 * rl_test_number(state) - 0.2);
        batch->mask[i] = !dropped || rl_test_below(state, 6) > 0;
    }
}

void rl_test_batch(struct rl_batch *batch, uint64_t *state, size_t prompts, size_t rollouts,
                   size_t turns, bool dropped)
{
    size_t most = prompts * rollouts * turns;
    size_t *first = arena_alloc(&rl_test_arena, (most + 1) * sizeof *first);
    uint32_t *prompt = arena_alloc(&rl_test_arena, most * sizeof *prompt);
    uint32_t *rollout = arena_alloc(&rl_test_arena, most * sizeof *rollout);
    uint32_t *turn = arena_alloc(&rl_test_arena, most * sizeof *turn);
    size_t rows = 0;
    for (size_t i = 0; i < prompts * rollouts; i++) {
        size_t count = 1 + rl_test_below(state, turns);
        for (size_t t = 0; t < count; t++, rows++) {
            prompt[rows] = (uint32_t)(7 + i / rollouts);
            rollout[rows] = (uint32_t)i;
            turn[rows] = (uint32_t)t;
            first[rows + 1] = first[rows] + 1 + rl_test_below(state, 4);
        }
    }
    rl_batch_alloc(batch, &rl_test_arena, rows, first[rows]);
    memcpy(batch->first, first, (rows + 1) * sizeof *first);
    memcpy(batch->prompt, prompt, rows * sizeof *prompt);
    memcpy(batch->rollout, rollout, rows * sizeof *rollout);
    memcpy(batch->turn, turn, rows * sizeof *turn);
    for (size_t row = 0; row < rows; row++)
        fill_row(batch, state, row, dropped);
    fill_tokens(batch, state, dropped);
}

void rl_test_rows(struct rl_batch *batch, size_t rows, const uint32_t *prompts,
                  const uint32_t *turns, const double *rewards)
{
    uint32_t rollout = 0;
    rl_batch_alloc(batch, &rl_test_arena, rows, rows);
    for (size_t row = 0; row < rows; row++) {
        rollout += row > 0 && turns[row] == 0;
        batch->prompt[row] = prompts[row];
        batch->rollout[row] = rollout;
        batch->turn[row] = turns[row];
        batch->reward[row] = rewards[row];
        batch->correct[row] = rewards[row] > 0;
        batch->first[row + 1] = row + 1;
    }
}

static void copy_row(const struct rl_batch *from, size_t row, struct rl_batch *to, size_t place)
{
    to->prompt[place] = from->prompt[row];
    to->rollout[place] = from->rollout[row];
    to->turn[place] = from->turn[row];
    to->reward[place] = from->reward[row];
    to->correct[place] = from->correct[row];
    to->speedup[place] = from->speedup[row];
    to->coverage[place] = from->coverage[row];
    to->drop[place] = from->drop[row];
    size_t tokens = from->first[row + 1] - from->first[row];
    to->first[place + 1] = to->first[place] + tokens;
    memcpy(to->mask + to->first[place], from->mask + from->first[row], tokens * sizeof *to->mask);
    memcpy(to->trained + to->first[place], from->trained + from->first[row],
           tokens * sizeof *to->trained);
    memcpy(to->sampled + to->first[place], from->sampled + from->first[row],
           tokens * sizeof *to->sampled);
}

void rl_test_permute(const struct rl_batch *from, struct rl_batch *to, uint64_t *state, size_t *row)
{
    size_t *begins = arena_alloc(&rl_test_arena, (from->rows + 1) * sizeof *begins);
    size_t count = 0;
    size_t place = 0;
    for (size_t i = 0; i < from->rows; i = rl_rollout_end(from, i))
        begins[count++] = i;
    rl_batch_alloc(to, &rl_test_arena, from->rows, from->tokens);
    while (count > 0) {
        size_t chosen = rl_test_below(state, count);
        size_t end = rl_rollout_end(from, begins[chosen]);
        for (size_t i = begins[chosen]; i < end; i++) {
            copy_row(from, i, to, place);
            row[i] = place++;
        }
        begins[chosen] = begins[--count];
    }
}
