/* How long a search takes within a process: one line of milliseconds for each question.
 *
 *   build/bench/retrieval INDEX PROBLEMS COUNT      each problem of the suite in turn, COUNT in all
 */
#include "retrieval/retrieval.h"
#include "base/clock.h"
#include "base/mem.h"
#include "problem/loader.h"
#include "problem/suite.h"

#include <stdio.h>
#include <stdlib.h>

static int ask(struct retrieval *retrieval, const struct suite_entry *entry, struct err *err)
{
    struct problem problem;
    json_t *examples = NULL;
    int result = problem_load(&problem, entry->path, entry->id, err);
    if (result < 0)
        return result;
    char *title = retrieval_title(&problem);
    struct retrieval_query query = {.text = problem.reference_text,
                                    .title = title,
                                    .problem_id = problem.id,
                                    .count = 3};
    int64_t start_ns = clock_now_ns();
    result = retrieval_search(retrieval, &query, &examples, err);
    if (result == 0)
        printf("%.3f\n", clock_ms_since(start_ns));
    json_decref(examples);
    mem_free(title);
    problem_deinit(&problem);
    return result;
}

int main(int argc, char **argv)
{
    struct settings settings;
    struct retrieval *retrieval;
    struct suite suite;
    struct err err;
    if (argc != 4) {
        fputs("usage: retrieval INDEX PROBLEMS COUNT\n", stderr);
        return 2;
    }
    const struct paths_list search_paths = {.items = (const char *[]){argv[2]}, .count = 1};
    settings_init(&settings);
    int result = retrieval_open(&retrieval, argv[1], &settings, &err);
    if (result == 0 && (result = suite_open(&suite, &search_paths, &err)) == 0) {
        long count = strtol(argv[3], NULL, 10);
        for (long i = 0; i < count && result == 0; i++)
            result = ask(retrieval, &suite.entries[(size_t)i % suite.count], &err);
        suite_close(&suite);
    }
    retrieval_close(retrieval);
    settings_deinit(&settings);
    if (result < 0)
        fprintf(stderr, "%s\n", err.text);
    return result < 0;
}
