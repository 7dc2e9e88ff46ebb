#include "lm/cpu/team.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void)
{
    return 0;
}
#endif

#define PART_LEAST 16384

void team_run(size_t threads, size_t count, team_task *task, const void *work)
{
    if (threads <= 1 || count <= 1) {
        for (size_t i = 0; i < count; i++)
            task(work, i, 0);
        return;
    }
    int team = (int)(count < threads ? count : threads);
    (void)team;
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (size_t i = 0; i < count; i++)
        task(work, i, (size_t)omp_get_thread_num());
}

size_t team_parts(size_t threads, size_t amount)
{
    size_t parts = amount / PART_LEAST;
    return parts < 1 ? 1 : parts > threads ? threads : parts;
}

struct team_range team_cut(size_t count, size_t unit, size_t parts, size_t part)
{
    size_t units = (count + unit - 1) / unit;
    size_t first = units * part / parts * unit, end = units * (part + 1) / parts * unit;
    first = first < count ? first : count;
    end = end < count ? end : count;
    return (struct team_range){.first = first, .count = end - first};
}
