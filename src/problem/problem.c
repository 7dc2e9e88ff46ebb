#include "problem/problem.h"

#include "problem/draw.h"
#include "problem/fill_variant.h"

#include <stdio.h>
#include <string.h>

void problem_deinit(struct problem *problem)
{
    arena_deinit(&problem->arena);
    memset(problem, 0, sizeof *problem);
}

const char *problem_format_name(const struct problem *problem)
{
    if (problem->format == PROBLEM_NATIVE)
        return "native";
    return problem->cases_from ? "simple" : "torch";
}

double problem_flops(const struct problem *problem, const struct size_set *sizes)
{
    return problem->flops ? expression_value(problem->flops, sizes->value) : 0;
}

double problem_bytes(const struct problem *problem, const struct size_set *sizes)
{
    return problem->bytes ? expression_value(problem->bytes, sizes->value) : 0;
}

void problem_draw_sizes(const struct problem *problem, uint64_t seed, struct size_set *sizes)
{
    if (draw_sizes(problem, seed, sizes))
        return;
    if (problem->check_count > 0)
        *sizes = problem->check[fill_mix(seed) % problem->check_count];
    else
        memset(sizes, 0, sizeof *sizes);
}

void problem_sizes_text(const struct problem *problem, const struct size_set *sizes, char *text,
                        size_t text_bytes)
{
    size_t used = 0;
    if (text_bytes > 0)
        text[0] = '\0';
    for (uint32_t i = 0; i < problem->size_count && used < text_bytes; i++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%s=%lld", i ? " " : "",
                                 problem->size_names[i], (long long)sizes->value[i]);
}
