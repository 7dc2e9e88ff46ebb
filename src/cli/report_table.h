/* report_table: a report's figures as tables for a terminal. */
#pragma once

#include "base/buf.h"
#include "cli/table.h"
#include "gym/report/report.h"

#include <stdbool.h>

void report_table(const struct report *report, bool colour, struct buf *out);

/* A column per run, and two for its difference from the first. */
void report_columns(struct table *table, const struct report *report);
/* Their cells in the row of a measure. */
void report_cells(struct table *table, const struct report *report, size_t measure);
