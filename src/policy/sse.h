/* sse: server-sent events (WHATWG HTML, section 9.2), as far as answers of models use them.
 *
 * Bytes go in as they come, in portions of any size; each event that is complete comes out as its
 * data (lines joined by line feeds). Lines end in CR, LF or both; comments, unknown fields and a
 * byte order mark are passed over; an event without its empty line at the end is none. Names, ids
 * and retry times of events are of no use here.
 *
 * Linear in the bytes, and at most `max_bytes` of one event are kept: ERR_LIMIT above. Ownership:
 * the caller's storage. Threads: one at a time.
 */
#ifndef WARPGYM_POLICY_SSE_H
#define WARPGYM_POLICY_SSE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* `data` is NUL-terminated, and valid for the call. A negative code ends the feeding. */
typedef int (*sse_on_event)(void *context, const char *data, size_t count, struct err *err);

struct sse {
    sse_on_event on_event;
    void *context;
    struct buf line, data;
    bool begun;    /* past a byte order mark */
    bool after_cr; /* a line feed now belongs to the line before */
    bool has_data; /* of the event that is coming in */
};

void sse_init(struct sse *sse, size_t max_bytes, sse_on_event on_event, void *context);
void sse_deinit(struct sse *sse);
/* Before another stream. */
void sse_reset(struct sse *sse);

/* ERR_LIMIT, or what on_event said. */
NODISCARD int sse_feed(struct sse *sse, const char *bytes, size_t count, struct err *err);

#endif
