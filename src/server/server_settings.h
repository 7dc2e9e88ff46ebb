/* server_settings: the sections server.* and mcp.*. */
#pragma once

#include "base/settings.h"

struct server_settings {
    const char *listen;
    const char *token; /* "": none */
    bool insecure;
    const char *allowed_hosts, *allowed_origins;
    const char *runs; /* "": none */
    int64_t threads, handler_threads, handler_queue, max_connections, max_per_address;
    uint64_t body_max_bytes;
    int64_t queue_max, episodes_max;
    double remembered_speedup;
    int64_t header_timeout_ms, body_timeout_ms, idle_timeout_ms, send_timeout_ms;
};
SETTINGS_OF(server)

struct mcp_settings {
    int64_t idle_ms;
};
SETTINGS_OF(mcp)
