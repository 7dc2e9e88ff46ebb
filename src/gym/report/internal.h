/* internal: the steps of report_open, in their order, and the order of names.
 *
 * Ownership: everything belongs to the report's arena. Threads: one at a time, while it is opened.
 */
#pragma once

#include "gym/report/report.h"

/* Reads the file of run->path; its episodes are sorted, without those that do not count. */
NODISCARD int report_read(struct report *report, struct report_run *run, struct err *err);

/* run->all and run->groups: problems and samples, no estimates yet. */
NODISCARD int report_make_sets(struct report *report, struct report_run *run, struct err *err);

/* Everything that is estimated. */
void report_estimate_run(struct report *report, struct report_run *run);
void report_compare(struct report *report, struct report_comparison *comparison);

/* Orders by name, numbers in it by their value. */
int report_name_order(const char *a, const char *b);
