/* tasks: from what was typed to the problems of a run.
 *
 *   ID or PATH    one problem; a path's goes along whole
 *   SUITE         native, torch, level1, …: all of it, where no problem is called so
 *   all           every problem that there is
 *   @FILE         a word of the above on each line; empty lines and what follows a # are left out
 *
 * Each problem once, in the order in which it was named first.
 */
#ifndef WARPGYM_GYM_EPISODE_TASKS_H
#define WARPGYM_GYM_EPISODE_TASKS_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

struct tasks_choice {
    const char *const *search_paths; /* of problems */
    size_t search_path_count;
    const char *language; /* gym.language */
    const char *best;     /* where candidates to begin with are (gym/episode/best.h); NULL: none */
};

/* [{"problem", "start", "hash"}, …] (gym/episode/rollout.h), a new reference. The hash is that of a
 * problem that goes along whole; others have it in their "problem". */
NODISCARD int tasks_of(const char *const *words, size_t count, const struct tasks_choice *choice,
                       json_t **tasks, struct err *err);

#endif
