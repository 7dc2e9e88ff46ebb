/* redis_server: a Redis of the test's own, on a free port of the loopback, in a directory below
 * TMPDIR. It dies with the process that started it. */
#pragma once

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <sys/types.h>

struct redis_server {
    pid_t pid; /* 0: not running */
    int port;
    bool durable; /* every write is on disk before its answer */
    const char *password;
    char directory[128];
    char url[256];
};

/* Prints why there can be none, and returns false. */
bool redis_server_usable(void);
/* `server` is zeroed but for what it should be like. Ends the process where it does not come up. */
void redis_server_start(struct redis_server *server);
/* With this signal; waits for its end. Its files stay: start brings it back on the same port. */
void redis_server_end(struct redis_server *server, int signal_number);
/* Ends it and removes its files. */
void redis_server_remove(struct redis_server *server);
/* A connection; ends the process where there is none. The caller's (redisFree). */
redisContext *redis_server_connect(const struct redis_server *server);
/* The reply to one command, formatted as redisCommand does; the caller's. */
redisReply *redis_server_ask(redisContext *context, const char *format, ...);
