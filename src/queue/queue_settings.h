/* queue_settings: the section queue.*. */
#pragma once

#include "base/settings.h"

struct queue_settings {
    const char *url; /* "": auto */
    int64_t lease_ms, attempts, keep_ms, keep_jobs;
    uint64_t keep_bytes;
};
SETTINGS_OF(queue)
