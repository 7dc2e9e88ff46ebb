/* trace_interval: whether each call of a timed interval did its own work (catalogue H06).
 *
 * A GPU's interval takes many calls, whose inputs all lie there when the first one starts. A
 * candidate that computes all answers in one launch saves launches that it could not save in a
 * single call. The trace of such an interval then shows what honest calls, which are alike, do not
 * have: calls that start nothing, or one launch that takes as long as several calls. All that a
 * graph does counts as the one launch that started it.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_interval {
    uint32_t calls;    /* the caller's: of the candidate in the traced pass */
    uint64_t launches; /* of kernels, graphs, copies and memsets, with those that left no record */
    uint64_t unseen;   /* records that there was no room for: each may have been a launch */
    double longest_us; /* of one launch; 0: there is none */
    double usual_us;   /* that half as many launches as calls reach; 0: there are fewer */
    double most_us;    /* that three quarters as many reach */
};

/* Fills in all but `calls`. Errors as trace_read. */
NODISCARD int trace_interval_read(int fd, struct trace_interval *interval, struct err *err);
/* The same for bytes in memory, aligned to 8. */
NODISCARD int trace_interval_parse(const char *bytes, size_t count, struct trace_interval *interval,
                                   struct err *err);
/* Whether calls did others' work; the evidence says which. No launch of one call alone takes longer
 * than `call_us`. */
#define TRACE_INTERVAL_TEXT 200
bool trace_interval_shared(const struct trace_interval *interval, double call_us,
                           char evidence[TRACE_INTERVAL_TEXT]);
