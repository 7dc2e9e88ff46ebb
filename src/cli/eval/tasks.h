/* eval_tasks: turns arguments into (problem, candidate) pairs.
 *
 *   --problem P FILE… | --problem P DIR      every source file in it
 *   BATCH.jsonl                              {"problem", "candidate" | "source"} a line, or as in
 *                                            POST /v1/evaluations:
 *                                            {"problem": {…}, "candidate": {…}}; beside either
 *                                            "name" (of the candidate) and "id" (of its verdict)
 *   DIR                                      files that name their problem (see eval --help)
 *   DIR/eval_results.json                    KernelBench's results: the answers beside them
 *   -                                        standard input: a candidate with --problem, or a batch
 *
 * A pair that cannot be read (no file, unknown problem, bad JSON) is reported by `complain` and
 * left out; the others are judged. Each problem is loaded once. Ownership: eval_tasks_deinit. */
#pragma once

#include "base/paths.h"
#include "judge/batch.h"
#include "judge/request/language.h"

#include <jansson.h>

struct eval_problem {
    struct problem problem; /* a task's `problem` points here */
    char *wanted;           /* as requested */
    json_t *sent;           /* the problem from a batch, for a server; else NULL */
    bool loaded;
};

struct eval_tasks {
    const struct paths_list *search_paths;
    void (*complain)(const struct err *err);
    struct languages languages; /* the caller's and ours: they decide which files are sources */
    struct batch_task *items;
    size_t count, capacity;
    struct eval_problem **problems;
    size_t problem_count;
    size_t complaints;
    size_t kernelbench; /* files that KernelBench's name has brought to their problem */
    bool remote;        /* an unknown problem may be on the server: it has only an id */
};

void eval_tasks_init(struct eval_tasks *tasks, const struct paths_list *search_paths,
                     void (*complain)(const struct err *err));
void eval_tasks_deinit(struct eval_tasks *tasks);

/* `problem` NULL: `path` names its own. */
void eval_tasks_add(struct eval_tasks *tasks, const char *problem, const char *path);
