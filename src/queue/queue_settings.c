#include "queue/queue_settings.h"

#include "base/setting.h"
#include "queue/queue.h"

#define SECTION queue
static const struct setting_row queue_rows[] = {
    SETTING_URL(url, "auto",
                "Where jobs are kept: sqlite:PATH, or redis://[user:password@]host[:port][/db]; "
                "auto: sqlite:$XDG_STATE_HOME/warpgym/queue.db",
                .absent = "auto", .check = queue_check_url),
    SETTING_DURATION(lease_ms, "60s", 100, 3600000,
                     "How long a worker may be silent before its jobs go to another"),
    SETTING_INT(attempts, "3", 1, 100,
                "Attempts after which a job that no worker finishes ends as infrastructure_error"),
    SETTING_DURATION(keep_ms, "168h", 0, 31536000000,
                     "How long ended jobs are kept; 0: without limit"),
    SETTING_INT(keep_jobs, "100000", 0, 1000000000,
                "How many ended jobs are kept, the newest; 0: without limit"),
    SETTING_BYTES(keep_bytes, "4GiB", 0, (uint64_t)1 << 50,
                  "Payloads and results of ended jobs that are kept, the newest; 0: without "
                  "limit"),
};
SETTING_SECTION(queue, queue_rows);
