/* What a trainer has, as a batch. */
#include "rl/library/library.h"

#include "base/array.h"

#include <math.h>

#define COLLISION_MOST 1.001F /* 1, rounded as low precision does */

static size_t row_tokens(const struct warpgym_rl_rows *rows, size_t row)
{
    if (rows->tokens == 0)
        return 1;
    return rl_row_begin(rows, row + 1) - rl_row_begin(rows, row);
}

size_t rl_row_begin(const struct warpgym_rl_rows *rows, size_t row)
{
    return rows->offset ? (size_t)rows->offset[row] : row * (rows->tokens / rows->rows);
}

static int check_offsets(const struct warpgym_rl_rows *rows, struct err *err)
{
    if (rows->tokens > WARPGYM_RL_TOKENS_MOST)
        return err_set(err, ERR_INPUT, "a step has at most %zu tokens, not %zu",
                       WARPGYM_RL_TOKENS_MOST, rows->tokens);
    if (!rows->offset && rows->tokens % rows->rows != 0)
        return err_set(err, ERR_INPUT,
                       "%zu tokens are no rectangle of %zu rows; pad them, or give offsets",
                       rows->tokens, rows->rows);
    if (!rows->offset)
        return 0;
    if (rows->offset[0] != 0 || rows->offset[rows->rows] != (int64_t)rows->tokens)
        return err_set(err, ERR_INPUT, "offsets go from %lld to %lld; they must from 0 to %zu",
                       (long long)rows->offset[0], (long long)rows->offset[rows->rows],
                       rows->tokens);
    for (size_t row = 0; row < rows->rows; row++)
        if (rows->offset[row] > rows->offset[row + 1] || rows->offset[row] < 0)
            return err_set(err, ERR_INPUT, "row %zu: its tokens end before they begin (offsets)",
                           row);
    return 0;
}

static int refuse(struct err *err, const char *name, size_t row, double value, const char *wanted)
{
    return err_set(err, ERR_INPUT, "row %zu: %s is %g; it must be %s", row, name, value, wanted);
}

static int check_row(const struct warpgym_rl_rows *rows, size_t row, struct err *err)
{
    if (isinf(rows->reward[row]))
        return refuse(err, "reward", row, rows->reward[row],
                      "finite, or NaN where nothing was judged");
    if (rows->correct && rows->correct[row] > 1)
        return refuse(err, "correct", row, rows->correct[row], "0 or 1");
    if (rows->speedup && (rows->speedup[row] < 0 || isinf(rows->speedup[row])))
        return refuse(err, "speedup", row, rows->speedup[row],
                      "0 or above, or NaN where it was not measured");
    if (rows->coverage && (rows->coverage[row] < 0 || rows->coverage[row] > 1))
        return refuse(err, "coverage", row, rows->coverage[row],
                      "from 0 to 1, or NaN where it is unknown");
    if (rows->baseline && isinf(rows->baseline[row]))
        return refuse(err, "baseline", row, rows->baseline[row],
                      "finite, or NaN where none is known");
    return 0;
}

/* Those of tokens that count; others may hold anything, as padding does. `top` may be unknown. */
static int check_tokens(const struct warpgym_rl_rows *rows, size_t row, struct err *err)
{
    const struct {
        const char *name;
        const float *values;
    } arrays[] = {{"trained", rows->trained},
                  {"sampled", rows->sampled},
                  {"base", rows->base},
                  {"collision", rows->collision},
                  {"value", rows->value}};
    size_t begin = rl_row_begin(rows, row), end = rl_row_begin(rows, row + 1);
    for (size_t a = 0; a < COUNT(arrays); a++)
        for (size_t i = begin; arrays[a].values && i < end; i++)
            if ((!rows->mask || rows->mask[i]) && !isfinite(arrays[a].values[i]))
                return err_set(err, ERR_INPUT,
                               "row %zu, token %zu: %s is %g; it must be finite, or the token "
                               "masked",
                               row, i - begin, arrays[a].name, (double)arrays[a].values[i]);
    for (size_t i = begin; rows->collision && i < end; i++)
        if ((!rows->mask || rows->mask[i]) &&
            !(rows->collision[i] >= 0 && rows->collision[i] <= COLLISION_MOST))
            return err_set(err, ERR_INPUT,
                           "row %zu, token %zu: collision is %g; a sum of squared probabilities is "
                           "from 0 to 1",
                           row, i - begin, (double)rows->collision[i]);
    return 0;
}

static void read_row(struct rl_batch *batch, const struct warpgym_rl_rows *rows, size_t at,
                     size_t row)
{
    bool judged = !isnan(rows->reward[row]);
    batch->prompt[at] = (uint32_t)rows->prompt[row];
    batch->reward[at] = judged ? rows->reward[row] : 0;
    batch->drop[at] = judged ? 0 : RL_EXCLUDED;
    batch->correct[at] = rows->correct && rows->correct[row];
    batch->speedup[at] = rows->speedup ? rows->speedup[row] : NAN;
    batch->coverage[at] = rows->coverage ? rows->coverage[row] : NAN;
    batch->first[at + 1] = batch->first[at] + row_tokens(rows, row);
    for (size_t i = 0; rows->tokens > 0 && i < row_tokens(rows, row); i++)
        batch->mask[batch->first[at] + i] = !rows->mask || rows->mask[rl_row_begin(rows, row) + i];
}

const float *rl_order_floats(const struct rl_batch *batch, struct arena *arena,
                             const struct warpgym_rl_rows *rows, const struct rl_order *order,
                             const float *from)
{
    if (!from || order->given)
        return from;
    float *to = arena_alloc(arena, (batch->tokens + 1) * sizeof *to);
    for (size_t at = 0; at < batch->rows; at++) {
        const float *row = from + rl_row_begin(rows, order->row[at]);
        for (size_t i = batch->first[at]; i < batch->first[at + 1]; i++)
            to[i] = row[i - batch->first[at]];
    }
    return to;
}

/* As rl_order_floats; what is not given is `otherwise`. No method writes to it. */
static float *token_floats(const struct rl_batch *batch, struct arena *arena,
                           const struct warpgym_rl_rows *rows, const struct rl_order *order,
                           const float *from, float otherwise)
{
    if (from)
        return (float *)(uintptr_t)rl_order_floats(batch, arena, rows, order, from);
    float *to = arena_alloc(arena, (batch->tokens + 1) * sizeof *to);
    for (size_t i = 0; i < batch->tokens; i++)
        to[i] = otherwise;
    return to;
}

int rl_batch_read(struct rl_batch *batch, struct arena *arena, const struct warpgym_rl_rows *rows,
                  const struct rl_order *order, struct err *err)
{
    size_t tokens = rows->tokens > 0 ? rows->tokens : rows->rows;
    int result = check_offsets(rows, err);
    for (size_t row = 0; row < rows->rows && result == 0; row++) {
        result = check_row(rows, row, err);
        if (result == 0 && rows->tokens > 0)
            result = check_tokens(rows, row, err);
    }
    if (result < 0)
        return result;
    rl_batch_alloc_rows(batch, arena, rows->rows, tokens);
    batch->rollout = order->rollout;
    batch->turn = order->turn;
    for (size_t at = 0; at < rows->rows; at++)
        read_row(batch, rows, at, order->row[at]);
    batch->trained = token_floats(batch, arena, rows, order, rows->trained, 0);
    batch->sampled = token_floats(batch, arena, rows, order, rows->sampled, 0);
    batch->collision = token_floats(batch, arena, rows, order, rows->collision, NAN);
    batch->value = token_floats(batch, arena, rows, order, rows->value, 0);
    batch->top = rows->top ? token_floats(batch, arena, rows, order, rows->top, NAN) : NULL;
    return rl_batch_check(batch, err);
}
