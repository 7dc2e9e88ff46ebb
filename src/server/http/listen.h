/* http_listen: the address that a server is bound to, and the Host names that it accepts.
 *
 * A server on loopback answers only to names of loopback (and those in server.allowed_hosts): a
 * page in a browser on this machine can make its own name resolve to 127.0.0.1, and would
 * otherwise read every answer (DNS rebinding). */
#pragma once

#include "base/err.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define HTTP_PORT 10907

struct http_listen {
    int fd; /* -1: none */
    int port;
    bool loopback;
    char address[INET6_ADDRSTRLEN + 16]; /* "http://[::1]:10907" */
};

/* "127.0.0.1:10907", "[::1]:0", "::1", "localhost"; else ERR_INPUT. Resolves names. */
NODISCARD int http_listen_parse(const char *text, struct sockaddr_storage *out, socklen_t *count,
                                struct err *err);
bool http_listen_is_loopback(const struct sockaddr_storage *address);
/* Binds and listens; `out` is closed with http_listen_close. */
NODISCARD int http_listen_open(const char *text, struct http_listen *out, struct err *err);
void http_listen_close(struct http_listen *listen);

/* Whether a Host header names this machine: localhost, a literal address, or one of `names`
 * (separated by commas). */
bool http_host_is_listed(const char *host, const char *names);
/* Whether `name` is among `names`, separated by commas; ignores case. */
bool http_list_contains(const char *name, size_t count, const char *names);
