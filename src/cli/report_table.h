/* report_table: a report's figures as tables for a terminal. */
#pragma once

#include "base/buf.h"
#include "cli/table.h"
#include "gym/report/report.h"

#include <stdbool.h>

void report_table(const struct report *report, bool colour, struct buf *out);
/* The groups and the whole, a column each, and nothing else. */
void report_summary(const struct report *report, bool colour, struct buf *out);
/* The page into a file; "-": standard output. */
NODISCARD int report_write_html(const struct report *report, const char *path, struct err *err);

/* A column per run, and two for its difference from the first. */
void report_columns(struct table *table, const struct report *report);
/* Their cells in the row of a measure. */
void report_cells(struct table *table, const struct report *report, size_t measure);
