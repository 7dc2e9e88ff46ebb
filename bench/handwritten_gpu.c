/* handwritten_gpu: the event benchmark that a careful person writes, to hold the judge's figures
 * against.
 *
 *   handwritten_gpu PROBLEM_DIRECTORY SHARED_OBJECT ROUNDS
 *
 * Loads `solution` into this process and calls it on as many argument sets of their own as the
 * judge would take (at most 32, at most 64 MB), all between two events; fresh inputs before each
 * round. Prints the median and quartiles of the time of one call in ms.
 */
#include "base/clock.h"
#include "device/gpu_memory.h"
#include "judge/side/invoke.h"
#include "judge/stats.h"
#include "problem/fill.h"
#include "problem/load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETS 32
#define SETS_BYTES 64000000
#define WARM_UP 3

static void stop(const struct err *err)
{
    fprintf(stderr, "handwritten_gpu: %s\n", err->text);
    exit(2);
}

static float one_round(struct invoke *calls, size_t count, const struct layout *layout, char *host,
                       const struct gpu_memory *memory, const cuda_event marks[2])
{
    struct err err;
    float ms = 0;
    for (size_t i = 0; i < count; i++)
        fill_slot(layout, clock_secret(), host + i * layout->bytes);
    if (gpu_memory_write(memory, 0, host, count * layout->bytes, &err) < 0)
        stop(&err);
    memory->gpu->cuda.event_record(marks[0], NULL);
    for (size_t i = 0; i < count; i++)
        invoke(&calls[i]);
    memory->gpu->cuda.event_record(marks[1], NULL);
    if (cuda_check(&memory->gpu->cuda, memory->gpu->cuda.synchronize(), "the call", &err) < 0)
        stop(&err);
    memory->gpu->cuda.event_elapsed(&ms, marks[0], marks[1]);
    return ms / (float)count;
}

int main(int argc, char **argv)
{
    static struct invoke calls[SETS];
    struct problem problem;
    struct layout layout;
    struct gpu_context gpu;
    struct gpu_memory memory;
    cuda_event marks[2];
    struct err err;
    if (argc != 4)
        return 2;
    if (problem_load(&problem, argv[1], NULL, &err) < 0 ||
        problem_layout(&problem, &problem.time[0], &layout, &err) < 0 ||
        gpu_context_open(&gpu, NULL, 0, &err) < 0)
        stop(&err);
    size_t count = SETS_BYTES / layout.bytes < SETS ? SETS_BYTES / layout.bytes : SETS;
    count = count ? count : 1;
    void *library = dlopen(argv[2], RTLD_NOW);
    void *solution = library ? dlsym(library, "solution") : NULL;
    long rounds = strtol(argv[3], NULL, 10);
    double *times = malloc((size_t)rounds * sizeof *times);
    char *host = calloc(count, layout.bytes);
    if (!solution || !times || !host) {
        fprintf(stderr, "%s\n", library ? "no solution" : dlerror());
        exit(2);
    }
    if (gpu_memory_make(&memory, &gpu, count * layout.bytes, &err) < 0)
        stop(&err);
    for (size_t i = 0; i < count; i++)
        if (invoke_init(&calls[i], solution, &layout, host + i * layout.bytes,
                        (char *)(uintptr_t)memory.address + i * layout.bytes) < 0)
            exit(2);
    gpu.cuda.event_create(&marks[0], 0);
    gpu.cuda.event_create(&marks[1], 0);
    for (long i = -WARM_UP; i < rounds; i++) {
        float ms = one_round(calls, count, &layout, host, &memory, marks);
        if (i >= 0)
            times[i] = (double)ms;
    }
    struct summary summary;
    stats_summary(times, (size_t)rounds, &summary);
    printf("%.6f %.6f %.6f\n", summary.median, summary.quartile1, summary.quartile3);
    free(times);
    free(host);
    gpu_memory_free(&memory);
    problem_deinit(&problem);
    return 0;
}
