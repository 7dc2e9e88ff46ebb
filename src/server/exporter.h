/* exporter: metrics and health of a process without a server, such as a worker.
 *
 *   GET /metrics   in Prometheus's format; requires the token, if one is set
 *   GET /health    200, or 503 with the reason
 *
 * The settings server.* apply, except for the address. Ownership: what the options point to must
 * outlive it. Threads: any thread may call `why_not`. */
#pragma once

#include "base/err.h"
#include "base/metrics.h"
#include "base/settings.h"

struct exporter;

struct exporter_options {
    const struct settings *settings;
    const char *listen; /* as server.listen */
    struct metrics *metrics;
    /* 0: healthy; else `err` has the reason. */
    int (*why_not)(void *context, struct err *err);
    void *context;
};

/* Accepts connections when it returns. Errors as http_open. */
NODISCARD int exporter_start(struct exporter **out, const struct exporter_options *options,
                             struct err *err);
/* "http://127.0.0.1:9107" */
const char *exporter_address(const struct exporter *exporter);
/* NULL is fine. */
void exporter_stop(struct exporter *exporter);
