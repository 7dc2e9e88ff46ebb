/* jobs_table: evaluations of a server, a row each. */
#ifndef WARPGYM_CLI_JOBS_TABLE_H
#define WARPGYM_CLI_JOBS_TABLE_H

#include "base/buf.h"
#include "client/remote.h"

struct jobs_table;

struct jobs_table *jobs_table_new(void);
/* NULL is fine. */
void jobs_table_free(struct jobs_table *table);
void jobs_table_add(struct jobs_table *table, const struct remote_evaluation *evaluation);
/* To standard output; nothing where there is no row. */
void jobs_table_print(const struct jobs_table *table);

/* How long ago an RFC 3339 time of UTC was: "12 s", "3 min", "5 h", "2 d"; "" for what is none,
 * "0 s" for the future. The pure part. */
void jobs_table_age(const char *created_at, int64_t now_s, char *text, size_t text_bytes);

#endif
