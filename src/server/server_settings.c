#include "server/server_settings.h"

#include "base/setting.h"

#define HOUR_MS 3600000

#define SECTION server
static const struct setting_row server_rows[] = {
    SETTING_TEXT(listen, "127.0.0.1:10907",
                 "Address and port of the HTTP server: 127.0.0.1:10907, [::1]:10907; port 0: a "
                 "free one"),
    SETTING_SECRET(token, "none", "Bearer token that requests need; also WARPGYM_TOKEN",
                   .absent = "none"),
    SETTING_BOOL(insecure, "false",
                 "Whether to serve addresses that other machines reach without a token"),
    SETTING_TEXT(allowed_hosts, "",
                 "Names besides localhost by which clients may address a server on loopback, "
                 "separated by commas"),
    SETTING_TEXT(allowed_origins, "",
                 "Web origins whose pages may use the API (CORS), separated by commas; *: all"),
    SETTING_TEXT(runs, "none",
                 "Folder of training runs that the dashboard shows, as `warpgym runs list` does",
                 .absent = "none"),
    SETTING_INT(threads, "2", 1, 64, "Threads that serve connections"),
    SETTING_INT(handler_threads, "64", 1, 1024,
                "Threads for requests that wait for disks and databases"),
    SETTING_INT(handler_queue, "1024", 1, 65536,
                "Requests that wait for such a thread; more get 503"),
    SETTING_INT(max_connections, "4096", 1, 65536,
                "Connections at a time; more wait to be accepted"),
    SETTING_INT(max_per_address, "0", 0, 65536,
                "Connections from one address at a time, more are closed at once; 0: without "
                "limit"),
    SETTING_BYTES(body_max_bytes, "16MiB", 1024, 1 << 30,
                  "Largest body of a request; a larger one gets 413"),
    SETTING_INT(queue_max, "200000", 1, 1000000000, "Queued jobs above which submissions get 429"),
    SETTING_INT(episodes_max, "100000", 1, 1000000000,
                "Kept episodes above which new ones get 429"),
    SETTING_FLOAT(remembered_speedup, "3", 0, 1e9,
                  "Speedup up to which KernelGYM's routes answer a text from another task's "
                  "verdict; what is faster is measured again"),
    SETTING_DURATION(header_timeout_ms, "10s", 1, HOUR_MS,
                     "Time limit from a connection to the end of its first request's headers; "
                     "then 408"),
    SETTING_DURATION(body_timeout_ms, "60s", 1, HOUR_MS,
                     "Time limit of a request's body; then 408"),
    SETTING_DURATION(idle_timeout_ms, "75s", 1, HOUR_MS,
                     "Longest pause between two requests of one connection; then it is closed"),
    SETTING_DURATION(send_timeout_ms, "60s", 1, HOUR_MS,
                     "Time limit for a client to read a response; then the connection is closed"),
};
SETTING_SECTION(server, server_rows);

#undef SECTION
#define SECTION mcp
static const struct setting_row mcp_rows[] = {
    SETTING_DURATION(idle_ms, "1h", 1000, 604800000,
                     "How long an unused session of `warpgym mcp` is kept; then its episodes end"),
};
SETTING_SECTION(mcp, mcp_rows);
