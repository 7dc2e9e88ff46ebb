#include "worker/worker_settings.h"

#include "base/setting.h"

#define SECTION worker
static const struct setting_row worker_rows[] = {
    SETTING_OPTIONAL_INT(slots, "auto", 1, 1024,
                         "Jobs of a worker at the same time; auto: 16 for each GPU, or one for "
                         "each CPU"),
    SETTING_DURATION(heartbeat_ms, "5s", 100, 1200000,
                     "Interval of a worker's heartbeats; after three missing ones the worker "
                     "counts as dead"),
    SETTING_DURATION(drain_ms, "30s", 0, 86400000,
                     "How long a worker that stops waits for its jobs before it returns them"),
    SETTING_TEXT(listen, "none", "Address and port of /metrics and /health of `warpgym worker`",
                 .absent = "none"),
};
SETTING_SECTION(worker, worker_rows);
