#include "rl/select.h"

#include "rl/random.h"

#include <math.h>
#include <stdlib.h>

const char *const rl_filter_names[RL_FILTERS] = {"turns", "last_turn", "none"};

const struct rl_filter rl_filter_defaults = {
    .kind = RL_FILTER_TURNS,
    .by = RL_BY_TURN,
    .deviation = 1e-3,
};

/* Whether the group is one value. One member alone says nothing. */
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
    rl_groups_init(&groups, batch, last ? RL_BY_PROMPT : filter->by, RL_ANY, last);
    /* Both stand in ascending order of prompts. */
    for (size_t g = 0, p = 0; g < groups.count; g++) {
        const size_t *rows = groups.rows + groups.start[g];
        while (batch->prompt[prompts->rows[prompts->start[p]]] != batch->prompt[rows[0]])
            p++;
        informative[p] |= !is_constant(values, rows, groups.start[g + 1] - groups.start[g],
                                       filter->deviation);
    }
    rl_groups_deinit(&groups);
}

static void drop_rows(struct rl_batch *batch, const struct rl_groups *groups, size_t g,
                      enum rl_drop bit)
{
    for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++)
        batch->drop[groups->rows[i]] |= (uint8_t)bit;
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
    struct rl_groups usable;
    rl_groups_init(&all, batch, RL_BY_PROMPT, 0, false);
    rl_groups_init(&usable, batch, RL_BY_PROMPT, RL_ANY, false);
    bool *informative = mem_alloc(usable.count + 1);
    bool filters = filter->kind == RL_FILTER_LAST_TURN ||
                   (filter->kind == RL_FILTER_TURNS && filter->by != RL_BY_BATCH);
    *counts = (struct rl_filter_counts){.prompts = all.count};
    if (filters)
        find_informative(batch, filter, values, &usable, informative);
    for (size_t p = 0; p < usable.count; p++) {
        bool few = rollouts_of(batch, &usable, p) < filter->rollouts_least;
        bool constant = filters && !informative[p] && !few;
        counts->few += few;
        counts->constant += constant;
        if (few || constant)
            drop_rows(batch, &usable, p, RL_CONSTANT);
        else
            counts->usable++;
    }
    mem_free(informative);
    rl_groups_deinit(&usable);
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

/* ------------------------------------------------------------------------------------- surplus */

/* Rows [from, to) of a list that are kept or dropped together. */
struct candidate {
    size_t from, to;
    size_t worth;  /* more is better */
    double chance; /* less is better */
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->worth != b->worth)
        return a->worth > b->worth ? -1 : 1;
    return (a->chance > b->chance) - (a->chance < b->chance);
}

static void keep_best(struct rl_batch *batch, struct candidate *candidates, size_t count,
                      size_t wanted, const size_t *rows)
{
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    for (size_t c = wanted; c < count; c++)
        for (size_t i = candidates[c].from; i < candidates[c].to; i++)
            batch->drop[rows[i]] |= RL_SURPLUS;
}

void rl_keep_prompts(struct rl_batch *batch, size_t wanted, uint64_t seed, uint64_t step)
{
    struct rl_groups groups;
    rl_groups_init(&groups, batch, RL_BY_PROMPT, RL_ANY, false);
    struct candidate *candidates = mem_alloc((groups.count + 1) * sizeof *candidates);
    for (size_t g = 0; g < groups.count; g++) {
        uint32_t prompt = batch->prompt[groups.rows[groups.start[g]]];
        candidates[g] = (struct candidate){
            .from = groups.start[g],
            .to = groups.start[g + 1],
            .worth = rollouts_of(batch, &groups, g),
            .chance = rl_uniform(seed, step, RL_STREAM_PROMPTS, prompt),
        };
    }
    keep_best(batch, candidates, groups.count, wanted, groups.rows);
    mem_free(candidates);
    rl_groups_deinit(&groups);
}

/* The rollouts of group g, whose rows stand together. */
static size_t list_rollouts(const struct rl_batch *batch, const struct rl_groups *groups, size_t g,
                            uint64_t seed, uint64_t step, struct candidate *candidates)
{
    size_t count = 0;
    for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++) {
        uint32_t rollout = batch->rollout[groups->rows[i]];
        if (i == groups->start[g] || batch->rollout[groups->rows[i - 1]] != rollout)
            candidates[count++] = (struct candidate){
                .from = i,
                .chance = rl_uniform(seed, step, RL_STREAM_ROLLOUTS, rollout),
            };
        candidates[count - 1].to = i + 1;
        candidates[count - 1].worth++;
    }
    return count;
}

void rl_keep_rollouts(struct rl_batch *batch, size_t wanted, uint64_t seed, uint64_t step)
{
    struct rl_groups groups;
    rl_groups_init(&groups, batch, RL_BY_PROMPT, RL_ANY, false);
    struct candidate *candidates = mem_alloc((groups.rows_count + 1) * sizeof *candidates);
    for (size_t g = 0; g < groups.count; g++) {
        size_t count = list_rollouts(batch, &groups, g, seed, step, candidates);
        keep_best(batch, candidates, count, wanted, groups.rows);
    }
    mem_free(candidates);
    rl_groups_deinit(&groups);
}
