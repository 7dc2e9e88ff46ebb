/* guard: which examples would give away a problem. One for each search, and one for each problem
 * that is withheld from all searches. */
#ifndef WARPGYM_RETRIEVAL_GUARD_H
#define WARPGYM_RETRIEVAL_GUARD_H

#include "retrieval/likeness.h"
#include "retrieval/retrieval.h"

#define GUARD_SOLUTIONS 64 /* of what was kept back, that others are held against */

struct guard {
    char *problem_id; /* NULL: none */
    struct sketch question;
    struct sketch *solutions; /* of examples that were kept back */
    size_t solution_count;
    bool off;
    const struct guard *withheld; /* of problems that are no more to be given away; borrowed */
    size_t withheld_count;
};

struct guarded {
    const char *problem;
    const struct sketch *reference, *solution;
};

void guard_init(struct guard *guard, const struct retrieval_query *query);
void guard_deinit(struct guard *guard);

/* Whether it is the problem asked about, or a withheld one, by its name or by its text; then its
 * solution is remembered. */
bool guard_keeps_back(struct guard *guard, const struct guarded *example);
/* Whether a solution is near one that was kept back so far. */
bool guard_knows(const struct guard *guard, const struct sketch *solution);
void guard_remember(struct guard *guard, const struct sketch *solution);

#endif
