#include "retrieval/leak_guard.h"

#include "base/mem.h"

#include <string.h>

void leak_guard_init(struct leak_guard *guard, const struct retrieval_query *query)
{
    *guard = (struct leak_guard){.off = query->unguarded};
    if (guard->off)
        return;
    bool named = query->problem_id && query->problem_id[0];
    guard->problem_id = named ? mem_strdup(query->problem_id) : NULL;
    guard->solutions = mem_alloc(LEAK_GUARD_SOLUTIONS * sizeof *guard->solutions);
    sketch_of(query->text, strlen(query->text), &guard->question);
}

void leak_guard_deinit(struct leak_guard *guard)
{
    mem_free(guard->problem_id);
    mem_free(guard->solutions);
    *guard = (struct leak_guard){0};
}

static bool is_problem(const struct leak_guard *guard, const struct leak_guard_example *example)
{
    return (guard->problem_id && strcmp(example->problem, guard->problem_id) == 0) ||
           sketch_is_near(&guard->question, example->reference) ||
           sketch_is_near(&guard->question, example->solution);
}

bool leak_guard_rejects(struct leak_guard *guard, const struct leak_guard_example *example)
{
    bool withheld = false;
    if (guard->off)
        return false;
    for (size_t i = 0; i < guard->withheld_count && !withheld; i++)
        withheld = is_problem(&guard->withheld[i], example);
    if (!withheld && !is_problem(guard, example))
        return false;
    leak_guard_add(guard, example->solution);
    return true;
}

static bool has_near_solution(const struct leak_guard *guard, const struct sketch *solution)
{
    for (size_t i = 0; i < guard->solution_count; i++)
        if (sketch_is_near(&guard->solutions[i], solution))
            return true;
    return false;
}

bool leak_guard_matches(const struct leak_guard *guard, const struct sketch *solution)
{
    bool known = has_near_solution(guard, solution);
    for (size_t i = 0; i < guard->withheld_count && !known; i++)
        known = has_near_solution(&guard->withheld[i], solution);
    return known;
}

/* Of solutions that are near each other one is enough. */
void leak_guard_add(struct leak_guard *guard, const struct sketch *solution)
{
    if (guard->solution_count < LEAK_GUARD_SOLUTIONS && !leak_guard_matches(guard, solution))
        guard->solutions[guard->solution_count++] = *solution;
}
