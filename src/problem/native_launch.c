/* native_launch: the key launch:, tried out at every size that stands in the file. */
#include "problem/native.h"

#include "base/yaml.h"
#include "problem/launch.h"

static int try_sizes(const struct problem *problem, const struct launch *launch,
                     const struct size_set *sets, uint32_t count, uint32_t *line, struct err *err)
{
    struct launch_plan plan;
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        char text[LIMIT_SIZES * 32];
        result = launch_evaluate(launch, sets[i].value, &plan, line, err);
        if (result == 0)
            continue;
        problem_sizes_text(problem, &sets[i], text, sizeof text);
        err_prefix(err, "with %s", text);
    }
    return result;
}

int native_try_launch(const struct problem *problem, const char *source, uint32_t *line,
                      struct err *err)
{
    struct arena arena = {0};
    struct signature signature;
    struct launch *launch = arena_alloc(&arena, sizeof *launch);
    uint32_t ignored;
    int result = signature_parse(&arena, problem->signature, &signature, &ignored, err);
    if (result == 0)
        result = launch_parse(&arena, &signature, source, problem->launch, launch, line, err);
    if (result == 0)
        result = try_sizes(problem, launch, problem->check, problem->check_count, line, err);
    if (result == 0)
        result = try_sizes(problem, launch, problem->time, problem->time_count, line, err);
    arena_deinit(&arena);
    return result;
}
