/* simple: cases in the place of a reference, as KernelGYM's kernel_simple has them.
 *
 * A Python module with get_cases(), or with get_inputs() for one case that expects nothing, and
 * get_init_inputs() where the candidate's class wants arguments. A case is {"inputs", "outputs",
 * "name", "rtol", "atol"}, or its inputs alone. The module may be the candidate itself: then what
 * is right is the candidate's own word.
 *
 * The text is read here, never run: a separate sandboxed process runs it, which ends
 * before anything is timed (judge/open/cases.h).
 */
#pragma once

#include "problem/problem.h"

#define SIMPLE_OWN_CASES "kernel_code" /* where the candidate brings them */

struct simple_text {
    const char *entry_point; /* the candidate's class */
    const char *from;        /* SIMPLE_OWN_CASES, "cases_code" or "inline" */
    const char *text;        /* of the module */
    size_t bytes;
    bool compare;
};

/* Into a zeroed problem whose id is set by the caller. On failure the caller frees the arena. */
NODISCARD int simple_from_text(struct problem *problem, const struct simple_text *text,
                               struct err *err);
