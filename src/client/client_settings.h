/* client_settings: the section client.*. */
#pragma once

#include "base/settings.h"

struct client_settings {
    const char *url;     /* "": none */
    const char *token;   /* "": auto */
    const char *ca_file; /* "": auto */
    int64_t connect_timeout_ms, timeout_ms, retry_budget_ms;
};
SETTINGS_OF(client)
