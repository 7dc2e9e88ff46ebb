/* tracing: libwarpgym_trace.so from a native child's point of view. A child without it works as
 * well, and says why it has none. One for each process; loaded in the server, it serves its
 * children. */
#pragma once

#include "base/err.h"

struct tracing {
    void *library; /* NULL: none */
    void (*snapshot)(void);
    int (*prepare)(const char *cupti);
    int (*begin)(const char *cupti);
    int (*end)(int fd);
    int (*refusal)(void);
    struct err problem; /* why there is none */
};

/* Before the driver starts, and before the sandbox is locked. `cupti` may be NULL: the system's. */
void tracing_load(struct tracing *tracing, const char *library, const char *cupti);
/* Before the candidate's code is mapped, in the scratch directory. */
void tracing_snapshot(const struct tracing *tracing);
/* Around calls, with the device idle on both children. ERR_MISSING, ERR_UNSUPPORTED: the reason. */
NODISCARD int tracing_begin(const struct tracing *tracing, struct err *err);
NODISCARD int tracing_end(const struct tracing *tracing, int fd, struct err *err);
