/* report_table: a report's figures as tables for a terminal. */
#ifndef WARPGYM_CLI_REPORT_TABLE_H
#define WARPGYM_CLI_REPORT_TABLE_H

#include "base/buf.h"
#include "gym/report.h"

#include <stdbool.h>

void report_table(const struct report *report, bool colour, struct buf *out);

#endif
