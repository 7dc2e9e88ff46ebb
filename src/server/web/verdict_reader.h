/* verdict_reader: fills a verdict_table from a queue, once from the newest job to the oldest, and
 * from then on as jobs end. No request waits for it: until it is through, the table has the newest.
 *
 * It reads at most LIMIT_WEB_VERDICTS jobs of those that the queue keeps. After events that it
 * missed it begins anew. Each ended job counts once.
 *
 * Ownership: the queue is borrowed and outlives it. Threads: one of its own; any may call the
 * functions. */
#pragma once

#include "base/err.h"
#include "queue/queue.h"
#include "server/web/verdict_table.h"

struct verdict_reader;

NODISCARD int verdict_reader_open(struct verdict_reader **out, struct queue *queue,
                                  struct err *err);
/* NULL is fine. */
void verdict_reader_close(struct verdict_reader *reader);

/* Locks the table until verdict_reader_release. */
const struct verdict_table *verdict_reader_table(struct verdict_reader *reader);
void verdict_reader_release(struct verdict_reader *reader);
/* {"read": jobs, "complete": whether all were read, "why": what keeps it from that, or null} */
json_t *verdict_reader_progress(struct verdict_reader *reader);
