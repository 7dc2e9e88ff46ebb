/* leak_guard: which examples would give away a problem. One guard for each search, and one for each
 * problem that is withheld from all searches.
 *
 * Ownership: the caller's storage; `withheld` is borrowed. Threads: one at a time.
 */
#pragma once

#include "retrieval/retrieval.h"
#include "retrieval/sketch.h"

#define LEAK_GUARD_SOLUTIONS 64 /* rejected solutions that later ones are compared with */

struct leak_guard {
    char *problem_id; /* NULL: none */
    struct sketch question;
    struct sketch *solutions; /* of rejected examples */
    size_t solution_count;
    bool off;
    const struct leak_guard *withheld; /* of problems that no search may give away; borrowed */
    size_t withheld_count;
};

struct leak_guard_example {
    const char *problem;
    const struct sketch *reference, *solution;
};

void leak_guard_init(struct leak_guard *guard, const struct retrieval_query *query);
void leak_guard_deinit(struct leak_guard *guard);

/* Whether the example is the queried problem or a withheld one, by id or by text. Its solution is
 * then added. */
bool leak_guard_rejects(struct leak_guard *guard, const struct leak_guard_example *example);
/* Whether a solution is near one that was rejected so far. */
bool leak_guard_matches(const struct leak_guard *guard, const struct sketch *solution);
void leak_guard_add(struct leak_guard *guard, const struct sketch *solution);
