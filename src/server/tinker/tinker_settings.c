#include "server/tinker/tinker_settings.h"

#include "base/limits.h"
#include "base/setting.h"

#define DAY_MS 86400000
#define SDK_POLL_MS 45000 /* after which the SDK gives a poll up */

#define SECTION tinker
static const struct setting_row tinker_rows[] = {
    SETTING_FLOAT(
        alpha, "32", 0.001, 1e6,
        "Alpha of the adapters that `lm serve --tinker` trains; their scale is alpha/rank"),
    SETTING_INT(batch_tokens, "0", 0, LIMIT_LM_STEP_ROWS,
                "Tokens that one training pass computes at once; 0: as many as the longest "
                "sequence has"),
    SETTING_BOOL(recompute, "false",
                 "Whether a training pass keeps each layer's input alone and computes the rest "
                 "again: less memory, a third more time"),
    SETTING_INT(max_runs, "32", 1, 4096, "Training runs at a time; more are refused"),
    SETTING_INT(max_samplers, "4", 1, 4096,
                "Sets of weights that sample at a time, each with a cache of its own; the least "
                "recently used one is closed for another"),
    SETTING_INT(unnamed, "8", 1, 100000,
                "Unnamed sets of sampler weights that a run keeps; older ones are deleted"),
    SETTING_DURATION(session_timeout_ms, "5m", 1000, 30 * (double)DAY_MS,
                     "How long a session lives without a heartbeat; then its runs are unloaded"),
    SETTING_DURATION(poll_ms, "30s", 1, SDK_POLL_MS - 1000, "How long a poll for a result waits"),
    SETTING_DURATION(order_timeout_ms, "60s", 1, DAY_MS,
                     "How long a numbered request waits for the one before it to arrive; then it "
                     "fails"),
    SETTING_DURATION(archive_timeout_ms, "15m", 1000, DAY_MS,
                     "How long the address of an archive is good for"),
    SETTING_BYTES(results_max_bytes, "256MiB", 1 << 20, (double)((int64_t)1 << 40),
                  "Results that are kept for repeated polls; the oldest are dropped first"),
};
SETTING_SECTION(tinker, tinker_rows);
