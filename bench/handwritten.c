/* handwritten: the timing loop that a careful person writes, to hold the judge's figures against.
 *
 *   handwritten PROBLEM_DIRECTORY SHARED_OBJECT CALLS
 *
 * Loads `solution` into this process, fills fresh inputs before each call, takes CLOCK_MONOTONIC
 * around the call alone, and prints the median and quartiles in ms. No sandbox, no second process.
 * */
#include "base/clock.h"
#include "judge/side/invoke.h"
#include "judge/stats.h"
#include "problem/fill.h"
#include "problem/load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static double one_call(struct invoke *call, const struct layout *layout, char *slot, char *source)
{
    fill_slot(layout, clock_secret(), source);
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        if (argument->role == ROLE_OUT)
            memset(slot + argument->offset, 0xff, layout_argument_bytes(argument));
        else
            memcpy(slot + argument->offset, source + argument->offset,
                   layout_argument_bytes(argument));
    }
    int64_t start_ns = clock_now_ns();
    invoke(call);
    return clock_ms_since(start_ns);
}

int main(int argc, char **argv)
{
    struct problem problem;
    struct layout layout;
    struct err err;
    struct invoke call;
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
    char *slot = mmap(NULL, layout.bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    char *source = malloc(layout.bytes);
    if (!solution || !times || !source || slot == MAP_FAILED ||
        invoke_init(&call, solution, &layout, slot) < 0) {
        fprintf(stderr, "%s\n", library ? "no solution" : dlerror());
        exit(2);
    }
    for (int i = 0; i < 3; i++)
        one_call(&call, &layout, slot, source);
    for (long i = 0; i < calls; i++)
        times[i] = one_call(&call, &layout, slot, source);
    struct summary summary;
    stats_summary(times, (size_t)calls, &summary);
    printf("%.6f %.6f %.6f\n", summary.median, summary.quartile1, summary.quartile3);
    free(times);
    free(source);
    problem_deinit(&problem);
    return 0;
}
