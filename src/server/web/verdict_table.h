/* verdict_table: what the dashboard shows of all verdicts of a queue: the best candidates of each
 * problem, the last violations, and the clocks of each device as it was last timed.
 *
 * It is filled one verdict at a time, in any order; what it keeps does not depend on the order, but
 * for verdicts of one candidate, of which the last that ended counts. A request reads it without
 * touching the queue. Of a problem VERDICT_LEADERS candidates are kept; of violations the last
 * VERDICT_VIOLATIONS.
 *
 * Ownership: the caller's. Threads: one at a time. */
#pragma once

#include "base/json_scan.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define VERDICT_LEADERS 20
#define VERDICT_VIOLATIONS 500

struct verdict_table;

struct verdict_table *verdict_table_new(void);
void verdict_table_free(struct verdict_table *table);

/* One ended job: its id, worker, time of the end (wall clock) and its verdict's text, which may be
 * anything. */
struct verdict_entry {
    const char *id, *worker;
    int64_t ended_ms;
    struct json_slice verdict;
};
void verdict_table_add(struct verdict_table *table, const struct verdict_entry *entry);

/* [{"problem", "evaluations", "passed", "best": candidate or null}, …], those whose name contains
 * `search` (NULL: all), by name, `limit` of them after the first `skip`; *matched: how many there
 * are. New references. */
json_t *verdict_table_problems(const struct verdict_table *table, const char *search, size_t skip,
                               size_t limit, size_t *matched);
/* {"problem", "evaluations", "passed", "statuses": {…}, "candidates": [candidate, …]}, the fastest
 * first; NULL: no such problem. */
json_t *verdict_table_problem(const struct verdict_table *table, const char *name);
/* The newest first. */
json_t *verdict_table_violations(const struct verdict_table *table, size_t limit);
json_t *verdict_table_devices(const struct verdict_table *table);
