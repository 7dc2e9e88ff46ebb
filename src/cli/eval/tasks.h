/* eval_tasks: from what was typed to (problem, candidate) pairs.
 *
 *   --problem P FILE… | --problem P DIR      every source file in it
 *   BATCH.jsonl                              {"problem", "candidate" | "source"[, "name"]} a line
 *                                            or as POST /v1/evaluations has them:
 *                                            {"problem": {…}, "candidate": {…}}
 *   DIR                                      files that name their problem (see eval --help)
 *
 * A pair that cannot be read (no file, unknown problem, bad JSON) is told to `complain` and left
 * out; the others are still judged. Problems are loaded once each. Ownership: eval_tasks_deinit.
 */
#ifndef WARPGYM_CLI_EVAL_TASKS_H
#define WARPGYM_CLI_EVAL_TASKS_H

#include "base/paths.h"
#include "judge/batch.h"
#include "judge/request/language.h"

#include <jansson.h>

struct eval_problem {
    struct problem problem; /* a task's `problem` points here */
    char *wanted;           /* as it was asked for */
    json_t *sent;           /* as a batch brought it, for a server; NULL: otherwise */
    bool loaded;
};

struct eval_tasks {
    const struct paths_list *search_paths;
    void (*complain)(const struct err *err);
    struct languages languages; /* the caller's, beside ours: what counts as a source */
    struct batch_task *items;
    size_t count, capacity;
    struct eval_problem **problems;
    size_t problem_count;
    size_t complaints;
    bool
        remote; /* a problem that is not here may be on the server: it has an id and nothing else */
};

void eval_tasks_init(struct eval_tasks *tasks, const struct paths_list *search_paths,
                     void (*complain)(const struct err *err));
void eval_tasks_deinit(struct eval_tasks *tasks);

/* `problem` NULL: `path` names its own. */
void eval_tasks_add(struct eval_tasks *tasks, const char *problem, const char *path);

#endif
