#include "retrieval/guard.h"

#include "base/mem.h"

#include <string.h>

void guard_init(struct guard *guard, const struct retrieval_query *query)
{
    *guard = (struct guard){.off = query->unguarded};
    if (guard->off)
        return;
    bool named = query->problem_id && query->problem_id[0];
    guard->problem_id = named ? mem_strdup(query->problem_id) : NULL;
    guard->solutions = mem_alloc(GUARD_SOLUTIONS * sizeof *guard->solutions);
    sketch_of(query->text, strlen(query->text), &guard->question);
}

void guard_deinit(struct guard *guard)
{
    mem_free(guard->problem_id);
    mem_free(guard->solutions);
    *guard = (struct guard){0};
}

static bool is_about(const struct guard *guard, const struct guarded *example)
{
    return (guard->problem_id && strcmp(example->problem, guard->problem_id) == 0) ||
           sketch_is_near(&guard->question, example->reference) ||
           sketch_is_near(&guard->question, example->solution);
}

bool guard_keeps_back(struct guard *guard, const struct guarded *example)
{
    bool told = false;
    if (guard->off)
        return false;
    for (size_t i = 0; i < guard->withheld_count && !told; i++)
        told = is_about(&guard->withheld[i], example);
    if (!told && !is_about(guard, example))
        return false;
    guard_remember(guard, example->solution);
    return true;
}

static bool has(const struct guard *guard, const struct sketch *solution)
{
    for (size_t i = 0; i < guard->solution_count; i++)
        if (sketch_is_near(&guard->solutions[i], solution))
            return true;
    return false;
}

bool guard_knows(const struct guard *guard, const struct sketch *solution)
{
    bool known = has(guard, solution);
    for (size_t i = 0; i < guard->withheld_count && !known; i++)
        known = has(&guard->withheld[i], solution);
    return known;
}

/* One of many that are near each other will do. */
void guard_remember(struct guard *guard, const struct sketch *solution)
{
    if (guard->solution_count < GUARD_SOLUTIONS && !guard_knows(guard, solution))
        guard->solutions[guard->solution_count++] = *solution;
}
