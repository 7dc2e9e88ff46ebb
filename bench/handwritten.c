/* handwritten: the timing loop that a careful person writes, to hold the judge's figures against.
 *
 *   handwritten PROBLEM_DIRECTORY SHARED_OBJECT CALLS
 *
 * Compares `solution` with itself, as one compares two kernels: in turn, each with buffers of its
 * own and fresh inputs before each call, pinned to the processor that the judge sits on, too. Takes
 * CLOCK_MONOTONIC around the call alone and prints the median and quartiles of one of the two in
 * ms. No sandbox, no second process.
 */
#include "base/clock.h"
#include "judge/child/invoke.h"
#include "judge/numeric/stats.h"
#include "problem/fill.h"
#include "problem/loader.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WARM_UP 3

struct turn {
    struct invoke call;
    char *slot;
};

static int turn_init(struct turn *turn, void *solution, const struct layout *layout)
{
    turn->slot = mmap(NULL, layout->bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return turn->slot == MAP_FAILED
               ? -1
               : invoke_init(&turn->call, solution, layout, turn->slot, turn->slot);
}

static double take_turn(struct turn *turn, const struct layout *layout, const char *source)
{
    char *slot = turn->slot;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        if (argument->role == ROLE_OUT)
            memset(slot + argument->offset, 0xff, layout_argument_bytes(argument));
        else
            memcpy(slot + argument->offset, source + argument->offset,
                   layout_argument_bytes(argument));
    }
    int64_t start_ns = clock_now_ns();
    invoke(&turn->call);
    return clock_ms_since(start_ns);
}

int main(int argc, char **argv)
{
    struct problem problem;
    struct layout layout;
    struct err err;
    struct turn turns[2];
    cpu_set_t first;
    if (argc != 4)
        return 2;
    if (problem_load(&problem, argv[1], NULL, &err) < 0 ||
        problem_layout(&problem, &problem.time[0], &layout, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    void *library = dlopen(argv[2], RTLD_NOW);
    void *solution = library ? dlsym(library, "solution") : NULL;
    long calls = strtol(argv[3], NULL, 10);
    double *times = malloc((size_t)calls * sizeof *times);
    char *source = malloc(layout.bytes);
    if (!solution || !times || !source || turn_init(&turns[0], solution, &layout) < 0 ||
        turn_init(&turns[1], solution, &layout) < 0) {
        fprintf(stderr, "%s\n", library ? "no solution" : dlerror());
        exit(2);
    }
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    for (long i = -WARM_UP; i < calls; i++) {
        fill_slot(&layout, clock_secret(), source);
        int order = clock_secret() & 1;
        double ms[2];
        for (int k = 0; k < 2; k++)
            ms[k ^ order] = take_turn(&turns[k ^ order], &layout, source);
        if (i >= 0)
            times[i] = ms[0];
    }
    struct summary summary;
    stats_summary(times, (size_t)calls, &summary);
    printf("%.6f %.6f %.6f\n", summary.median, summary.quartile1, summary.quartile3);
    free(times);
    free(source);
    problem_deinit(&problem);
    return 0;
}
