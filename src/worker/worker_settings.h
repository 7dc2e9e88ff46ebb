/* worker_settings: the section worker.*. */
#pragma once

#include "base/settings.h"

struct worker_settings {
    struct optional_int slots;
    int64_t heartbeat_ms, drain_ms;
    const char *listen; /* "": none */
};
SETTINGS_OF(worker)
