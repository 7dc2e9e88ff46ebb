/* tinker_settings: the section tinker.*, of `warpgym lm serve --tinker`. */
#pragma once

#include "base/settings.h"

struct tinker_settings {
    double alpha;
    int64_t batch_tokens;
    bool recompute;
    int64_t max_runs, max_samplers, unnamed;
    int64_t session_timeout_ms, poll_ms, order_timeout_ms, archive_timeout_ms;
    uint64_t results_max_bytes;
};
SETTINGS_OF(tinker)
