/* handwritten_gpu: the event benchmark that a careful person writes, to hold the judge's figures
 * against.
 *
 *   handwritten_gpu PROBLEM_DIRECTORY SHARED_OBJECT ROUNDS
 *
 * Loads `solution` into this process and calls it on several argument sets of their own between two
 * events. An image on the device holds random inputs that are new; before each round all
 * sets are copied from it on the device, and then the L2 cache is swept. Meanwhile the calls are
 * queued: how long the first takes to start is no part of the time.
 *
 * There are as many sets as the judge takes when its budget has room for the longest intervals
 * (judge/measure/timing.c; at 60 ms and more). The rule is repeated here, and nothing of the
 * judge's timing is used. Prints the median and quartiles of the time of one call in ms, and the
 * number of sets.
 */
#include "base/clock.h"
#include "device/gpu_context.h"
#include "judge/child/invoke.h"
#include "judge/numeric/stats.h"
#include "problem/fill.h"
#include "problem/loader.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETS 128
#define JUNK_CACHES 3
#define SETS_MS 1.5    /* of calls in a round, */
#define SETS_BYTES 4e9 /* of their arguments */
#define FIRST_LOOK 9   /* rounds of one call that say how long one takes */
#define WARM_UP_MS 200 /* until clocks have risen */
#define UNWRITTEN 0xff /* bytes of outputs in the image */
#define ROUNDS_MAX 1000000

struct benchmark {
    struct layout layout;
    struct gpu_context gpu;
    cuda_at image, arrays; /* of all sets */
    cuda_at junk;          /* written to, so that nothing else is left in L2 */
    size_t junk_bytes;
    cuda_event marks[2];
    struct invoke calls[SETS];
    size_t sets;
    char *host; /* one set: sizes and scalars are read from it */
};

static void stop(const char *text)
{
    fprintf(stderr, "handwritten_gpu: %s\n", text);
    exit(2);
}

static void must(const struct benchmark *benchmark, cuda_result result, const char *what)
{
    struct err err;
    if (cuda_check(&benchmark->gpu.cuda, result, what, &err) < 0)
        stop(err.text);
}

/* Outputs are spoiled in the image, so that a kernel that was never started shows. */
static void make_sets(struct benchmark *benchmark, void *solution, size_t sets)
{
    const struct cuda *cuda = &benchmark->gpu.cuda;
    size_t bytes = benchmark->layout.bytes;
    cuda->free(benchmark->image);
    cuda->free(benchmark->arrays);
    must(benchmark, cuda->alloc(&benchmark->image, sets * bytes), "no memory for the image");
    must(benchmark, cuda->alloc(&benchmark->arrays, sets * bytes), "no memory for arguments");
    for (size_t i = 0; i < sets; i++) {
        char *arrays = (char *)(uintptr_t)benchmark->arrays + i * bytes;
        memset(benchmark->host, UNWRITTEN, bytes);
        fill_slot(&benchmark->layout, clock_secret(), benchmark->host);
        must(benchmark, cuda->copy_to_device(benchmark->image + i * bytes, benchmark->host, bytes),
             "cannot write the inputs");
        if (invoke_init(&benchmark->calls[i], solution, &benchmark->layout, benchmark->host,
                        arrays) < 0)
            stop("no function can be called like this");
    }
    benchmark->sets = sets;
}

/* Milliseconds of one call. */
static double one_round(struct benchmark *benchmark)
{
    const struct cuda *cuda = &benchmark->gpu.cuda;
    float ms = 0;
    must(benchmark,
         cuda->copy_on_device(benchmark->arrays, benchmark->image,
                              benchmark->sets * benchmark->layout.bytes),
         "cannot copy the inputs");
    must(benchmark, cuda->fill(benchmark->junk, 0, benchmark->junk_bytes), "cannot sweep L2");
    must(benchmark, cuda->event_record(benchmark->marks[0], NULL), "no event");
    for (size_t i = 0; i < benchmark->sets; i++)
        invoke(&benchmark->calls[i]);
    must(benchmark, cuda->event_record(benchmark->marks[1], NULL), "no event");
    must(benchmark, cuda->synchronize(), "the calls failed");
    must(benchmark, cuda->event_elapsed(&ms, benchmark->marks[0], benchmark->marks[1]), "no time");
    return (double)ms / (double)benchmark->sets;
}

/* As many as take SETS_MS and SETS_BYTES; now there is one. */
static size_t sets_for(struct benchmark *benchmark)
{
    double ms[FIRST_LOOK];
    for (int i = 0; i < FIRST_LOOK; i++)
        ms[i] = one_round(benchmark);
    double wanted = fmin(ceil(SETS_MS / fmax(stats_median(ms, FIRST_LOOK), 1e-6)),
                         SETS_BYTES / (double)benchmark->layout.bytes);
    return (size_t)fmax(1, fmin(wanted, SETS));
}

/* The last set's outputs against the image, of which `host` is a copy. */
static void check_written(struct benchmark *benchmark)
{
    const struct layout *layout = &benchmark->layout;
    char *got = malloc(layout->bytes);
    cuda_at last = benchmark->arrays + (benchmark->sets - 1) * layout->bytes;
    if (!got)
        stop("no memory");
    must(benchmark, benchmark->gpu.cuda.copy_to_host(got, last, layout->bytes), "no outputs");
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        if (layout_is_output(argument) &&
            memcmp(got + argument->offset, benchmark->host + argument->offset,
                   layout_argument_bytes(argument)) == 0)
            stop("`solution` wrote nothing: was it compiled for this GPU?");
    }
    free(got);
}

static void *find_solution(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    void *solution = library ? dlsym(library, "solution") : NULL;
    if (!solution)
        stop(library ? "the shared object has no `solution`" : dlerror());
    return solution;
}

static void measure(struct benchmark *benchmark, size_t rounds)
{
    struct summary summary;
    double *times = malloc(rounds * sizeof *times);
    if (!times)
        stop("no memory");
    int64_t start_ns = clock_now_ns();
    while (clock_ms_since(start_ns) < WARM_UP_MS)
        one_round(benchmark);
    for (size_t i = 0; i < rounds; i++)
        times[i] = one_round(benchmark);
    check_written(benchmark);
    stats_summary(times, rounds, &summary);
    printf("%.6f %.6f %.6f %zu\n", summary.median, summary.quartile1, summary.quartile3,
           benchmark->sets);
    free(times);
}

int main(int argc, char **argv)
{
    static struct benchmark benchmark; /* large */
    struct problem problem;
    struct err err;
    long rounds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        stop("say: handwritten_gpu PROBLEM_DIRECTORY SHARED_OBJECT ROUNDS");
    if (problem_load(&problem, argv[1], NULL, &err) < 0)
        stop(err.text);
    if (problem.time_count == 0)
        stop("the problem has no timed size");
    if (problem_layout(&problem, &problem.time[0], &benchmark.layout, &err) < 0 ||
        gpu_context_open(&benchmark.gpu, NULL, 0, &err) < 0 ||
        gpu_context_use(&benchmark.gpu, &err) < 0)
        stop(err.text);
    benchmark.host = malloc(benchmark.layout.bytes);
    if (!benchmark.host)
        stop("no memory");
    for (int i = 0; i < 2; i++)
        must(&benchmark, benchmark.gpu.cuda.event_create(&benchmark.marks[i], 0), "no event");
    benchmark.junk_bytes = benchmark.gpu.facts.l2_bytes * JUNK_CACHES + 1;
    must(&benchmark, benchmark.gpu.cuda.alloc(&benchmark.junk, benchmark.junk_bytes), "no memory");
    void *solution = find_solution(argv[2]);
    make_sets(&benchmark, solution, 1);
    make_sets(&benchmark, solution, sets_for(&benchmark));
    measure(&benchmark, (size_t)rounds);
    free(benchmark.host);
    problem_deinit(&problem);
    return 0;
}
