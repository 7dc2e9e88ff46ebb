#include "rl/method/counter_random.h"
#include "rl/method/select.h"

#include <math.h>
#include <stdlib.h>

#define EPSILON 1e-6

/* A rollout of a prompt: rows [row, end). */
struct played {
    size_t row, end;
    double reward, tokens;
    double key; /* the highest stay */
};

static int compare_keys(const void *left, const void *right)
{
    const struct played *a = left, *b = right;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* False: no row is trained on. */
static bool read_rollout(const struct rl_batch *batch, size_t row, struct played *played)
{
    bool usable = false;
    *played = (struct played){.row = row, .end = rl_rollout_end(batch, row)};
    for (size_t i = row; i < played->end; i++) {
        if (batch->drop[i])
            continue;
        usable = true;
        played->reward = batch->reward[i];
        played->tokens += (double)rl_row_tokens(batch, i);
    }
    return usable;
}

/* Drawing without replacement by weights e^logit is sorting by logit plus Gumbel's noise. */
static double drawn(const struct rl_batch *batch, const struct played *played, double logit,
                    uint64_t seed, uint64_t step)
{
    double chance = rl_uniform(seed, step, RL_STREAM_ROLLOUTS, batch->rollout[played->row]);
    return logit - log(-log(fmax(chance, 0x1p-53)));
}

static void give_keys(const struct rl_batch *batch, struct played *all, size_t count,
                      enum rl_selection selection, uint64_t seed, uint64_t step)
{
    double shares = 0;
    for (size_t i = 0; i < count; i++)
        shares += 1 / (all[i].tokens + EPSILON);
    for (size_t i = 0; i < count; i++) {
        bool good = all[i].reward > 0;
        double efficiency = all[i].reward / (all[i].tokens + EPSILON);
        double share = 1 / (all[i].tokens + EPSILON) / shares;
        double logit = good ? efficiency : log(share + EPSILON);
        all[i].key = selection == RL_SELECT_EFFICIENT ? (good ? efficiency : -all[i].tokens)
                     : selection == RL_SELECT_RANDOM  ? drawn(batch, &all[i], 0, seed, step)
                                                      : drawn(batch, &all[i], logit, seed, step);
    }
}

static void drop_rollouts(struct rl_batch *batch, struct played *all, size_t count, size_t keep)
{
    qsort(all, count, sizeof *all, compare_keys);
    for (size_t i = keep; i < count; i++)
        for (size_t row = all[i].row; row < all[i].end; row++)
            if (batch->drop[row] == 0)
                batch->drop[row] = RL_SURPLUS;
}

/* How many of `wanted` have a reward above 0, where `good` of `count` have. */
static size_t good_share(size_t good, size_t count, size_t wanted)
{
    if (good == 0 || good == count)
        return good == 0 ? 0 : wanted;
    double share = rint((double)wanted * (double)good / (double)count);
    size_t kept = share < 1 ? 1 : (size_t)share;
    return wanted > 1 && kept > wanted - 1 ? wanted - 1 : kept;
}

static void keep_of_prompt(struct rl_batch *batch, struct played *all, size_t count,
                           enum rl_selection selection, size_t wanted, uint64_t seed, uint64_t step)
{
    size_t good = 0;
    if (count <= wanted)
        return;
    for (size_t i = 0; i < count; i++)
        if (all[i].reward > 0) { /* these first */
            struct played swapped = all[good];
            all[good++] = all[i];
            all[i] = swapped;
        }
    if (selection == RL_SELECT_RANDOM) {
        give_keys(batch, all, count, selection, seed, step);
        drop_rollouts(batch, all, count, wanted);
        return;
    }
    size_t kept = good_share(good, count, wanted);
    give_keys(batch, all, good, selection, seed, step);
    drop_rollouts(batch, all, good, kept);
    give_keys(batch, all + good, count - good, selection, seed, step);
    drop_rollouts(batch, all + good, count - good, wanted - kept);
}

void rl_keep_rollouts(struct rl_batch *batch, enum rl_selection selection, size_t wanted,
                      uint64_t seed, uint64_t step)
{
    struct rl_groups groups;
    rl_groups_init(&groups, batch, RL_BY_PROMPT, 0, false);
    struct played *all = mem_alloc((batch->rows + 1) * sizeof *all);
    for (size_t g = 0; g < groups.count; g++) {
        size_t count = 0;
        for (size_t i = groups.start[g]; i < groups.start[g + 1]; i++) {
            size_t row = groups.rows[i];
            bool begins = row == 0 || batch->rollout[row - 1] != batch->rollout[row];
            count += begins && read_rollout(batch, row, &all[count]);
        }
        keep_of_prompt(batch, all, count, selection, wanted, seed, step);
    }
    mem_free(all);
    rl_groups_deinit(&groups);
}
