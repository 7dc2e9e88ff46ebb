#include "server/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BACKLOG 1024
#define NAME_BYTES 256

/* "[ADDRESS]:PORT", "ADDRESS:PORT" or "ADDRESS"; a bare IPv6 address has no port. */
static int split_address(const char *text, char name[NAME_BYTES], long *port, struct err *err)
{
    const char *colon = strrchr(text, ':'), *end;
    bool bracket = *text == '[';
    if (bracket) {
        const char *close = strchr(text, ']');
        if (!close || (close[1] && close[1] != ':'))
            return err_set(err, ERR_INPUT, "'%.100s' is not [ADDRESS]:PORT", text);
        colon = close[1] ? close + 1 : NULL;
        end = close;
        text++;
    } else {
        colon = colon == strchr(text, ':') ? colon : NULL;
        end = colon ? colon : text + strlen(text);
    }
    *port = HTTP_PORT;
    if (colon) {
        char *rest;
        *port = strtol(colon + 1, &rest, 10);
        if (colon[1] < '0' || colon[1] > '9' || *rest || *port > 65535)
            return err_set(err, ERR_INPUT, "'%.100s' is not a port", colon + 1);
    }
    if (end == text || (size_t)(end - text) >= NAME_BYTES)
        return err_set(err, ERR_INPUT, "'%.100s' is not ADDRESS:PORT", text);
    memcpy(name, text, (size_t)(end - text));
    name[end - text] = '\0';
    return 0;
}

int http_listen_parse(const char *text, struct sockaddr_storage *out, socklen_t *count,
                      struct err *err)
{
    char name[NAME_BYTES] = "", service[8];
    long port = 0;
    *out = (struct sockaddr_storage){0};
    *count = 0;
    int result = split_address(text, name, &port, err);
    if (result < 0)
        return result;
    snprintf(service, sizeof service, "%ld", port);
    struct addrinfo *found,
        wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int code = getaddrinfo(name, service, &wanted, &found);
    if (code != 0)
        return err_set(err, ERR_INPUT, "cannot resolve '%.100s': %s", name, gai_strerror(code));
    memcpy(out, found->ai_addr, found->ai_addrlen);
    *count = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

bool http_listen_is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->ss_family != AF_INET6)
        return false;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

/* Reads the bound address: port 0 has become a real one. */
static void read_bound_address(struct http_listen *listen)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } bound = {.six = {0}};
    socklen_t count = sizeof bound;
    char text[INET6_ADDRSTRLEN] = "?";
    if (getsockname(listen->fd, &bound.any, &count) < 0)
        return;
    bool six = bound.any.sa_family == AF_INET6;
    const void *address = six ? (const void *)&bound.six.sin6_addr : &bound.four.sin_addr;
    inet_ntop(bound.any.sa_family, address, text, sizeof text);
    listen->port = ntohs(six ? bound.six.sin6_port : bound.four.sin_port);
    snprintf(listen->address, sizeof listen->address, six ? "http://[%s]:%d" : "http://%s:%d", text,
             listen->port);
}

int http_listen_open(const char *text, struct http_listen *out, struct err *err)
{
    struct sockaddr_storage address = {0};
    socklen_t count = 0;
    const int one = 1, zero = 0;
    *out = (struct http_listen){.fd = -1};
    int result = http_listen_parse(text, &address, &count, err);
    if (result < 0)
        return result;
    out->loopback = http_listen_is_loopback(&address);
    out->fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (out->fd < 0)
        return err_sys(err, errno, "cannot create a socket for %.100s", text);
    setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    /* Accepted sockets inherit it: clients whose machine is gone are closed some day. */
    setsockopt(out->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    if (address.ss_family == AF_INET6) /* "[::]" serves IPv4 too */
        setsockopt(out->fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(out->fd, (const struct sockaddr *)&address, count) < 0 ||
        listen(out->fd, BACKLOG) < 0) {
        result = err_sys(err, errno, "cannot listen on %.100s", text);
        http_listen_close(out);
        return result;
    }
    read_bound_address(out);
    return 0;
}

void http_listen_close(struct http_listen *listen)
{
    if (listen->fd >= 0)
        close(listen->fd);
    listen->fd = -1;
}

bool http_list_contains(const char *name, size_t count, const char *names)
{
    while (*names) {
        names += strspn(names, ", ");
        size_t length = strcspn(names, ", ");
        if (length > 0 && length == count && strncasecmp(names, name, count) == 0)
            return true;
        names += length;
    }
    return false;
}

bool http_host_is_listed(const char *host, const char *names)
{
    char name[NAME_BYTES] = "";
    long port;
    struct in6_addr ignored;
    if (split_address(host, name, &port, NULL) < 0)
        return false;
    return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &ignored) == 1 ||
           inet_pton(AF_INET6, name, &ignored) == 1 ||
           http_list_contains(name, strlen(name), names);
}
