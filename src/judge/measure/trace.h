/* trace: what a child's launch trace (trace_stream.h, libwarpgym_trace.so) says of a candidate.
 *
 * Sums the records up by kernel into the verdict's profile, and holds them against the judge's own
 * clock. Coverage is device time and launches of code that the candidate brought, over all that the
 * GPU did for it; code of unknown origin, copies and memsets count as not its own.
 *
 * The stream comes from the candidate's process: it is read once, whole, into memory of the judge,
 * and every number in it is checked.
 */
#pragma once

#include "device/gpu.h"
#include "judge/verdict.h"

struct trace_pass {
    const struct gpu *gpu; /* NULL: no occupancy, no bandwidth */
    uint32_t calls;        /* of the candidate in the traced pass; at least one */
    double wall_ms;        /* the whole pass, by the judge's clock */
    double timed_ms;       /* a call when nothing is traced; NaN: not known */
    double bytes;          /* that a call must move; 0: not known */
};

/* Fills the profile of `verdict`; adds warnings (H41, H44) and a violation (H25) where the trace
 * calls for them. ERR_PROTOCOL: it is no trace, or a damaged one: its writer is at fault, and
 * the verdict is as before. ERR_LIMIT, ERR_IO: it cannot be read. */
NODISCARD int trace_read(int fd, const struct trace_pass *pass, struct verdict *verdict,
                         struct err *err);
/* The same for bytes in memory, aligned to 8. */
NODISCARD int trace_parse(const char *bytes, size_t count, const struct trace_pass *pass,
                          struct verdict *verdict, struct err *err);
/* Sums alone: `calls`, kernels, launches and times. Errors as trace_read; ERR_PROTOCOL, too, where
 * there was no room for all records. */
NODISCARD int trace_sum(int fd, uint32_t calls, struct launch_totals *all, struct err *err);
