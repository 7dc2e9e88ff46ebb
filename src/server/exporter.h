/* exporter: metrics and health of a process that serves nothing else: a worker on its own.
 *
 *   GET /metrics   as Prometheus reads it; needs the token, where there is one
 *   GET /health    200, or 503 and why
 *
 * The settings server.* hold for it, but for the address. Ownership: what the options point to must
 * outlive it. Threads: `why_not` is called from any.
 */
#ifndef WARPGYM_SERVER_EXPORTER_H
#define WARPGYM_SERVER_EXPORTER_H

#include "base/err.h"
#include "base/metrics.h"
#include "base/settings.h"

struct exporter;

struct exporter_options {
    const struct settings *settings;
    const char *listen; /* as server.listen */
    struct metrics *metrics;
    /* 0: all is well; else `err` says what is not. */
    int (*why_not)(void *context, struct err *err);
    void *context;
};

/* Answers when this returns. Errors as http_open. */
NODISCARD int exporter_start(struct exporter **out, const struct exporter_options *options,
                             struct err *err);
/* "http://127.0.0.1:9107" */
const char *exporter_address(const struct exporter *exporter);
/* NULL is fine. */
void exporter_stop(struct exporter *exporter);

#endif
