/* internal: the steps of report_open, in their order, and pairs of problems.
 *
 * Ownership: everything belongs to the report's arena. Threads: one at a time, while it is opened.
 */
#pragma once

#include "gym/report/report.h"

/* Reads the file of run->path; its episodes are sorted, without those that do not count. */
NODISCARD int report_read(struct report *report, struct report_run *run, struct err *err);

/* run->all and run->groups: problems and samples, no estimates yet. */
NODISCARD int report_make_sets(struct report *report, struct report_run *run, struct err *err);

/* Of pointers to names: numbers in them by their value. */
int report_name_order(const void *a, const void *b);

struct report_pair {
    const struct report_problem *a, *b;
};
/* The problems that two sets have in common, at most a->problem_count; returns how many. Unnamed
 * ones pair up by their number. */
size_t report_pair_up(const struct report_set *a, const struct report_set *b,
                      struct report_pair *pairs);
