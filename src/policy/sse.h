/* sse: server-sent events (WHATWG HTML, section 9.2), the part that chat endpoints use.
 *
 * Bytes go in as they arrive, in portions of any size; each complete event comes out as its data
 * (lines joined by line feeds). Lines end in CR, LF or both; comments, unknown fields and a byte
 * order mark are ignored, and so is an event without the empty line at its end. Names, ids and
 * retry times are not read.
 *
 * Linear in the bytes; at most `max_bytes` of one event are kept: ERR_LIMIT above. Ownership: the
 * caller's storage. Threads: one at a time.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* `data` is NUL-terminated, and valid for the call. A negative return value stops sse_feed. */
typedef int (*sse_on_event)(void *context, const char *data, size_t count, struct err *err);

struct sse {
    sse_on_event on_event;
    void *context;
    struct buf line, data;
    bool begun;    /* past a byte order mark */
    bool after_cr; /* a line feed here belongs to the line before */
    bool has_data; /* of the current event */
};

void sse_init(struct sse *sse, size_t max_bytes, sse_on_event on_event, void *context);
void sse_deinit(struct sse *sse);
/* Before another stream. */
void sse_reset(struct sse *sse);

/* ERR_LIMIT, or on_event's error. */
NODISCARD int sse_feed(struct sse *sse, const char *bytes, size_t count, struct err *err);
