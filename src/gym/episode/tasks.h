/* tasks: from command-line words to the problems of a run.
 *
 *   ID or PATH    one problem; a path's is embedded whole
 *   SUITE         native, torch, level1, …: all of it, unless a problem has that name
 *   all           every known problem
 *   @FILE         one of these words on each line; empty lines and comments after # are ignored
 *
 * Each problem once, in the order of its first mention. Ownership: new references. Threads: pure
 * but for reading files. Errors: ERR_INPUT, ERR_MISSING, ERR_IO.
 */
#pragma once

#include "base/err.h"
#include "base/paths.h"

#include <jansson.h>
#include <stddef.h>

struct gym;

struct tasks_choice {
    const struct paths_list *search_paths; /* of problems */
    const char *language;                  /* gym.language */
    const char *best; /* where initial candidates are stored (gym/episode/best.h); NULL: none */
};

/* [{"problem", "start", "hash"}, …] (gym/episode/rollout.h), a new reference. The hash is that of
 * an embedded problem; others have it in their "problem". */
NODISCARD int tasks_of(const char *const *words, size_t count, const struct tasks_choice *choice,
                       json_t **tasks, struct err *err);
/* The name of a task's problem; one that is embedded may have none: "inline". */
const char *task_problem(const json_t *task);
/* A copy of the configuration of episodes (gym/episode/config.h), with the task's problem and
 * start. */
json_t *task_configuration(const json_t *configuration, const json_t *task);
/* What no episode of a task could begin with. */
NODISCARD int tasks_check(const struct gym *gym, const json_t *configuration, const json_t *tasks,
                          struct err *err);
