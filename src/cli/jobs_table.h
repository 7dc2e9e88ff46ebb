/* jobs_table: a server's evaluations, a row each. */
#pragma once

#include "cli/cli.h"
#include "client/remote.h"

struct jobs_table;

struct jobs_table *jobs_table_new(void);
/* NULL is fine. */
void jobs_table_free(struct jobs_table *table);
void jobs_table_add(struct jobs_table *table, const struct remote_evaluation *evaluation);
/* Adds it to the call's output; nothing without rows. */
void jobs_table_put(struct jobs_table *table, struct cli_call *call);

/* Age of an RFC 3339 UTC time: "12 s", "3 min", "5 h", "2 d"; "" if invalid, "0 s" for the
 * future. Pure. */
void jobs_table_age(const char *created_at, int64_t now_s, char *text, size_t text_bytes);
