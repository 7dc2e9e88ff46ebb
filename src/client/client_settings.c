#include "client/client_settings.h"

#include "base/setting.h"
#include "client/http_flow.h"

static int check_url(const char *url, struct err *err)
{
    return http_flow_check_url(url, "client.token", err);
}

#define SECTION client
static const struct setting_row client_rows[] = {
    SETTING_TEXT(url, "none",
                 "Server of `warpgym eval` and `warpgym jobs`, http://host:10907; none: eval "
                 "judges in its own process",
                 .absent = "none", .check = check_url),
    SETTING_SECRET(token, "auto", "Bearer token for that server; auto: WARPGYM_TOKEN",
                   .absent = "auto"),
    SETTING_TEXT(ca_file, "auto",
                 "Certificates (PEM) that verify a server on https; auto: the system's",
                 .absent = "auto"),
    SETTING_DURATION(connect_timeout_ms, "5s", 1, 3600000, "Time limit of connecting to a server"),
    SETTING_DURATION(timeout_ms, "60s", 1, 3600000,
                     "Time limit of an answer, besides the server's own wait"),
    SETTING_DURATION(retry_budget_ms, "2m", 0, 86400000,
                     "How long a request is repeated while the server is unreachable or "
                     "overloaded"),
};
SETTING_SECTION(client, client_rows);
