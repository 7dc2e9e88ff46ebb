/* guard: which examples would give away what is asked. One for each search. */
#ifndef WARPGYM_RETRIEVAL_GUARD_H
#define WARPGYM_RETRIEVAL_GUARD_H

#include "retrieval/likeness.h"
#include "retrieval/retrieval.h"

#define GUARD_SOLUTIONS 64 /* of what was kept back, that others are held against */

struct guard {
    const char *problem_id; /* NULL: none */
    struct sketch question;
    struct sketch *solutions; /* of examples that were kept back */
    size_t solution_count;
    bool off;
};

struct guarded {
    const char *problem;
    const struct sketch *reference, *solution;
};

void guard_init(struct guard *guard, const struct retrieval_query *query);
void guard_deinit(struct guard *guard);

/* Whether it is the problem asked about, by its name or by its text; then its solution is
 * remembered. */
bool guard_keeps_back(struct guard *guard, const struct guarded *example);
/* Whether a solution is near one that was kept back so far. */
bool guard_knows(const struct guard *guard, const struct sketch *solution);
void guard_remember(struct guard *guard, const struct sketch *solution);

#endif
