/* trace_reader: a launch trace (trace_stream.h) as records that refer to what is there.
 *
 * It comes from the candidate's process: it is read once, whole, into memory of the judge, and
 * every number in it is checked. ERR_PROTOCOL: it is damaged, which is its writer's fault.
 */
#pragma once

#include "base/err.h"
#include "judge/measure/trace_stream.h"

#include <stddef.h>

struct trace_stream {
    struct trace_header header;
    const struct trace_source *sources; /* these three: within the caller's bytes */
    const struct trace_record *records;
    const char *text;
};

/* All bytes behind a descriptor, the caller's to free (mem_free). ERR_PROTOCOL: no file; ERR_LIMIT,
 * ERR_IO: it cannot be read. */
NODISCARD int trace_stream_load(int fd, char **bytes, size_t *count, struct err *err);
/* `bytes` are aligned to 8 and outlive the stream. ERR_PROTOCOL: it is no trace, or damaged. */
NODISCARD int trace_stream_open(const char *bytes, size_t count, struct trace_stream *stream,
                                struct err *err);

double trace_record_us(const struct trace_record *record);
