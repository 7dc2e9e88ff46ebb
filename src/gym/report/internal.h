/* internal: the steps of report_open, in their order, and pairs of problems.
 *
 * Ownership: everything belongs to the report's arena. Threads: one at a time, while it is opened.
 */
#pragma once

#include "gym/episode/trajectory.h"
#include "gym/report/report.h"

/* Reads the file of run->path; its episodes are sorted, without those that do not count. */
NODISCARD int report_read(struct report *report, struct report_run *run, struct err *err);

/* run->all and run->groups: problems and samples, no estimates yet. */
NODISCARD int report_make_sets(struct report *report, struct report_run *run, struct err *err);

/* Lines of trajectories or verdicts. A directory: its trajectories.jsonl, or else its
 * verdicts.jsonl. lines_close. */
NODISCARD int report_lines_open(struct lines **out, const char *path, struct err *err);
/* As trajectory_next. A verdict is an episode of one turn, without reward and return (NaN); its
 * sample is -1 where its candidate's name has no number. */
NODISCARD int report_next(struct lines *lines, struct trajectory *next, bool *cut, struct err *err);
/* The candidate's text as it was judged, from the file that the verdict names; "" if that has gone
 * or is another one now. In `arena`. */
const char *report_candidate_text(const json_t *verdict, struct arena *arena);

/* "level2" of "level2/17", as KernelBench's problems are called; else "". */
const char *report_level(struct arena *arena, const char *problem);

/* Of pointers to names: numbers in them by their value. */
int report_name_order(const void *a, const void *b);

struct report_pair {
    const struct report_problem *a, *b;
};
/* The problems that two sets have in common, at most a->problem_count; returns how many. Unnamed
 * ones pair up by their number. */
size_t report_pair_up(const struct report_set *a, const struct report_set *b,
                      struct report_pair *pairs);
