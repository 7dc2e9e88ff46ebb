#include "rl/method/select.h"

#include "gym/reward/reward.h"
#include "rl/method/counter_random.h"

#include <math.h>
#include <stdlib.h>

const struct rl_filter rl_filter_defaults = {
    .kind = RL_FILTER_TURNS,
    .by = RL_BY_TURN,
    .out = RL_ANY,
    .deviation = 1e-3,
};

/* Whether the group has one value. A single member says nothing. */
static bool is_constant(const double *values, const size_t *rows, size_t count, double deviation)
{
    double mean = 0;
    double squares = 0;
    if (count < 2)
        return true;
    for (size_t i = 0; i < count; i++)
        mean += (values[rows[i]] - values[rows[0]]) / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += pow(values[rows[i]] - values[rows[0]] - mean, 2);
    return sqrt(squares / (double)(count - 1)) < deviation;
}

/* Marks the rows of prompts in which some group is not constant. */
static void find_informative(const struct rl_batch *batch, const struct rl_filter *filter,
                             const double *values, const struct rl_groups *prompts,
                             bool *informative)
{
    struct rl_groups groups;
    bool last = filter->kind == RL_FILTER_LAST_TURN;
    rl_groups_init(&groups, batch, last ? RL_BY_PROMPT : filter->by, filter->out, last);
    /* Both are in ascending order of prompts. */
    for (size_t g = 0, p = 0; g < groups.count; g++) {
        const size_t *rows = groups.rows + groups.start[g];
        while (batch->prompt[prompts->rows[prompts->start[p]]] != batch->prompt[rows[0]])
            p++;
        informative[p] |= !is_constant(values, rows, groups.start[g + 1] - groups.start[g],
                                       filter->deviation);
    }
    rl_groups_deinit(&groups);
}

/* The number of rows of the group that are trained on so far. */
static size_t usable_rows(const struct rl_batch *batch, const struct rl_groups *groups, size_t g)
{
    size_t count = 0;
    for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++)
        count += batch->drop[groups->rows[i]] == 0;
    return count;
}

static void mark_surplus(struct rl_batch *batch, const struct rl_groups *groups, size_t g,
                         enum rl_drop bit)
{
    for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++)
        if (batch->drop[groups->rows[i]] == 0)
            batch->drop[groups->rows[i]] = (uint8_t)bit;
}

static size_t rollouts_of(const struct rl_batch *batch, const struct rl_groups *groups, size_t g)
{
    size_t count = 0;
    for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++)
        count += i == groups->start[g] ||
                 batch->rollout[groups->rows[i]] != batch->rollout[groups->rows[i - 1]];
    return count;
}

void rl_filter_prompts(struct rl_batch *batch, const struct rl_filter *filter, const double *values,
                       struct rl_filter_counts *counts)
{
    struct rl_groups all;
    struct rl_groups seen;
    rl_groups_init(&all, batch, RL_BY_PROMPT, 0, false);
    rl_groups_init(&seen, batch, RL_BY_PROMPT, filter->out, false);
    bool *informative = mem_alloc(seen.count + 1);
    bool filters = filter->kind == RL_FILTER_LAST_TURN ||
                   (filter->kind == RL_FILTER_TURNS && filter->by != RL_BY_BATCH);
    *counts = (struct rl_filter_counts){.prompts = all.count};
    if (filters)
        find_informative(batch, filter, values, &seen, informative);
    for (size_t p = 0; p < seen.count; p++) {
        if (usable_rows(batch, &seen, p) == 0)
            continue;
        bool few = rollouts_of(batch, &seen, p) < filter->rollouts_least;
        bool constant = filters && !informative[p] && !few;
        counts->few += few;
        counts->constant += constant;
        if (few || constant)
            mark_surplus(batch, &seen, p, RL_CONSTANT);
        else
            counts->usable++;
    }
    mem_free(informative);
    rl_groups_deinit(&seen);
    rl_groups_deinit(&all);
}

size_t rl_draw_more(const struct rl_draw *draw, size_t usable, size_t drawn, size_t rounds)
{
    if (usable >= draw->wanted || rounds >= draw->rounds_most)
        return 0;
    double missing = (double)(draw->wanted - usable);
    double rate = drawn > 0 ? (double)(usable + 1) / (double)(drawn + 2) : 1;
    double more = draw->whole ? (double)draw->wanted : ceil(missing / rate);
    return more > (double)draw->most ? draw->most : (size_t)more;
}

struct candidate {
    size_t group;
    size_t rollouts; /* more is better */
    double chance;   /* less is better */
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->rollouts != b->rollouts)
        return a->rollouts > b->rollouts ? -1 : 1;
    return (a->chance > b->chance) - (a->chance < b->chance);
}

void rl_keep_prompts(struct rl_batch *batch, size_t wanted, uint64_t seed, uint64_t step)
{
    struct rl_groups groups;
    rl_groups_init(&groups, batch, RL_BY_PROMPT, RL_ANY, false);
    struct candidate *candidates = mem_alloc((groups.count + 1) * sizeof *candidates);
    for (size_t g = 0; g < groups.count; g++) {
        uint32_t prompt = batch->prompt[groups.rows[groups.start[g]]];
        candidates[g] = (struct candidate){
            .group = g,
            .rollouts = rollouts_of(batch, &groups, g),
            .chance = rl_uniform(seed, step, RL_STREAM_PROMPTS, prompt),
        };
    }
    qsort(candidates, groups.count, sizeof *candidates, compare_candidates);
    for (size_t c = wanted; c < groups.count; c++)
        mark_surplus(batch, &groups, candidates[c].group, RL_SURPLUS);
    mem_free(candidates);
    rl_groups_deinit(&groups);
}

void rl_mask_void(struct rl_batch *batch)
{
    double *rewards = mem_alloc((batch->rows + 1) * sizeof *rewards);
    bool *keep = mem_alloc(batch->rows + 1);
    for (size_t row = 0; row < batch->rows; row++)
        rewards[row] = batch->drop[row] & RL_EXCLUDED ? 0 : batch->reward[row];
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        end = rl_rollout_end(batch, row);
        reward_void_turns(rewards + row, end - row, keep + row);
    }
    for (size_t row = 0; row < batch->rows; row++)
        if (!keep[row] && !(batch->drop[row] & RL_EXCLUDED))
            batch->drop[row] |= RL_VOID;
    mem_free(rewards);
    mem_free(keep);
}

void rl_mask_failed(struct rl_batch *batch)
{
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        bool failed = false;
        end = rl_rollout_end(batch, row);
        for (size_t i = row; i < end; i++)
            failed |= batch->drop[i] & RL_EXCLUDED;
        for (size_t i = row; i < end && failed; i++)
            if (!(batch->drop[i] & RL_EXCLUDED))
                batch->drop[i] |= RL_FAILED;
    }
}

void rl_blame_unjudged(struct rl_batch *batch)
{
    for (size_t row = 0; row < batch->rows; row++)
        batch->drop[row] &= (uint8_t)~RL_EXCLUDED;
}
