/* Asks an HTTP server the same thing over and over, and says how fast the answers come.
 *
 *   http_load [OPTION…] http://ADDRESS:PORT PATH
 *                     rate, p50, p99 and worst of the answers to PATH
 *   http_load [OPTION…] --limit
 *                     the same of a responder inside that writes a fixed answer: what this client
 *                     can measure at most
 *
 *   --connections N   that ask without pause, each the next thing after the last answer (64)
 *   --seconds S       to measure, after a tenth of it to warm up (5)
 *   --waiters N       further connections, that ask --wait-path, and again when answered (0)
 *   --wait-path PATH
 *   --post FILE       POST of that file, as JSON
 *   --token TOKEN
 *
 * One thread, epoll, keep-alive, no pipelining. Exit status 1 when a connection fails or an
 * answer's status is not 2xx.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 65536
#define POST_BYTES ((size_t)16 << 20)
#define EVENTS 256
#define SLOTS 4096 /* of the latencies: 64 for each doubling */

struct options {
    size_t connections, waiters;
    double seconds;
    const char *url, *path, *wait_path, *post, *token;
    bool limit;
};

struct asker {
    int fd;
    bool waits; /* not measured */
    const char *text;
    size_t text_bytes, sent;
    int64_t asked_ns;
    char head[1024]; /* of the answer, as far as it has come */
    size_t head_bytes, body_left;
};

struct tally {
    uint64_t answers, waited, refused, broken;
    uint64_t slots[SLOTS];
    int64_t worst_ns;
};

/* 64 steps for each power of two: within 1.6 %. */
static size_t slot_of(int64_t ns)
{
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;
    if (value < 64)
        return value;
    int shift = 63 - __builtin_clzll(value) - 6;
    size_t slot = ((size_t)shift + 1) * 64 + (size_t)((value >> shift) & 63);
    return slot < SLOTS ? slot : SLOTS - 1;
}

static double slot_ms(size_t slot)
{
    if (slot < 64)
        return (double)slot * 1e-6;
    return (double)((64 + slot % 64) << (slot / 64 - 1)) * 1e-6;
}

static double quantile_ms(const struct tally *tally, double part)
{
    uint64_t wanted = (uint64_t)(part * (double)tally->answers), seen = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        seen += tally->slots[i];
        if (seen > wanted)
            return slot_ms(i);
    }
    return 0;
}

static int connect_to(const struct sockaddr_in *address)
{
    const int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) < 0) {
        fprintf(stderr, "http_load: cannot connect: %s\n", strerror(errno));
        exit(1);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* The socket blocks in writing alone: requests are small, or the server reads them. */
static bool ask(struct asker *asker, int64_t now_ns)
{
    asker->asked_ns = now_ns;
    asker->head_bytes = asker->body_left = 0;
    for (asker->sent = 0; asker->sent < asker->text_bytes;) {
        ssize_t count = send(asker->fd, asker->text + asker->sent, asker->text_bytes - asker->sent,
                             MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        asker->sent += (size_t)count;
    }
    return true;
}

/* Takes what has come of an answer. 1: it is whole; 0: not yet; -1: this is none. */
static int take(struct asker *asker, const char *bytes, size_t count, int *status)
{
    if (asker->body_left > 0) {
        if (count > asker->body_left)
            return -1;
        asker->body_left -= count;
        return asker->body_left == 0;
    }
    if (asker->head_bytes + count >= sizeof asker->head && asker->head_bytes > 0)
        return -1;
    size_t kept = sizeof asker->head - 1 - asker->head_bytes;
    kept = count < kept ? count : kept;
    memcpy(asker->head + asker->head_bytes, bytes, kept);
    asker->head[asker->head_bytes + kept] = '\0';
    const char *end = strstr(asker->head, "\r\n\r\n");
    const char *length = strcasestr(asker->head, "\r\nContent-Length:");
    if (!end) {
        asker->head_bytes += kept;
        return kept < count ? -1 : 0;
    }
    if (!length || length > end || strncmp(asker->head, "HTTP/1.1 ", 9) != 0)
        return -1;
    *status = (int)strtol(asker->head + 9, NULL, 10);
    size_t body = strtoull(length + strlen("\r\nContent-Length:"), NULL, 10);
    size_t there = asker->head_bytes + count - (size_t)(end + 4 - asker->head);
    if (there > body)
        return -1;
    asker->body_left = body - there;
    return asker->body_left == 0;
}

static bool serve_answer(struct asker *asker, struct tally *tally)
{
    static char bytes[READ_BYTES];
    int status = 200;
    ssize_t count = recv(asker->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN)
        return true;
    int whole = count > 0 ? take(asker, bytes, (size_t)count, &status) : -1;
    if (whole < 0)
        return false;
    tally->refused += status / 100 != 2;
    if (whole == 0)
        return true;
    int64_t now_ns = clock_now_ns(), spent_ns = now_ns - asker->asked_ns;
    if (asker->waits) {
        tally->waited++;
    } else {
        tally->answers++;
        tally->slots[slot_of(spent_ns)]++;
        tally->worst_ns = spent_ns > tally->worst_ns ? spent_ns : tally->worst_ns;
    }
    return ask(asker, now_ns);
}

static void run_for(int epoll_fd, double seconds, struct tally *tally)
{
    struct epoll_event events[EVENTS];
    int64_t until_ns = clock_now_ns() + (int64_t)(seconds * 1e9);
    while (clock_now_ns() < until_ns) {
        int count = epoll_wait(epoll_fd, events, EVENTS, clock_left_ms(until_ns));
        for (int i = 0; i < count; i++) {
            struct asker *asker = events[i].data.ptr;
            if (serve_answer(asker, tally))
                continue;
            tally->broken++;
            epoll_ctl(epoll_fd, EPOLL_CTL_DEL, asker->fd, NULL);
        }
    }
}

static char *request_text(const struct options *options, const char *path, bool post, size_t *count)
{
    char *body = NULL;
    size_t body_bytes = 0;
    struct err err;
    if (post && file_read(options->post, POST_BYTES, &body, &body_bytes, &err) < 0) {
        fprintf(stderr, "http_load: %s\n", err.text);
        exit(1);
    }
    char *token = options->token ? mem_printf("Authorization: Bearer %s\r\n", options->token)
                                 : mem_strdup("");
    char *length = post ? mem_printf("Content-Type: application/json\r\nContent-Length: %zu\r\n",
                                     body_bytes)
                        : mem_strdup("");
    char *text = mem_printf("%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n", post ? "POST" : "GET",
                            path, token, length);
    size_t head_bytes = strlen(text);
    text = mem_resize(text, head_bytes + body_bytes + 1);
    if (body)
        memcpy(text + head_bytes, body, body_bytes);
    *count = head_bytes + body_bytes;
    mem_free(body);
    mem_free(token);
    mem_free(length);
    return text;
}

static void report(const struct tally *tally, double seconds, const char *what)
{
    printf("%s: %.0f answers/s, p50 %.3f ms, p99 %.3f ms, worst %.3f ms\n", what,
           (double)tally->answers / seconds, quantile_ms(tally, 0.5), quantile_ms(tally, 0.99),
           (double)tally->worst_ns * 1e-6);
    if (tally->waited)
        printf("waiters: %llu answers\n", (unsigned long long)tally->waited);
    if (tally->refused || tally->broken)
        printf("%llu answers were refusals, %llu connections broke\n",
               (unsigned long long)tally->refused, (unsigned long long)tally->broken);
}

static int measure(const struct options *options, const struct sockaddr_in *address)
{
    size_t count = options->connections + options->waiters, text_bytes, wait_bytes = 0;
    struct asker *askers = mem_alloc(count * sizeof *askers);
    char *text = request_text(options, options->path, options->post != NULL, &text_bytes);
    char *wait = options->waiters ? request_text(options, options->wait_path, false, &wait_bytes)
                                  : NULL;
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct tally tally = {0};
    /* The waiters first: they are there before anybody is measured. */
    for (size_t i = 0; i < count; i++) {
        struct asker *asker = &askers[i];
        asker->waits = i < options->waiters;
        asker->text = asker->waits ? wait : text;
        asker->text_bytes = asker->waits ? wait_bytes : text_bytes;
        asker->fd = connect_to(address);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = asker};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, asker->fd, &event);
        tally.broken += !ask(asker, clock_now_ns());
    }
    run_for(epoll_fd, options->seconds / 10, &tally);
    uint64_t broken = tally.broken, refused = tally.refused;
    tally = (struct tally){.broken = broken, .refused = refused};
    int64_t start_ns = clock_now_ns();
    run_for(epoll_fd, options->seconds, &tally);
    report(&tally, clock_ms_since(start_ns) * 1e-3,
           options->limit ? "this client's limit" : options->path);
    for (size_t i = 0; i < count; i++)
        close(askers[i].fd);
    close(epoll_fd);
    mem_free(askers);
    mem_free(text);
    mem_free(wait);
    return tally.refused || tally.broken || tally.answers == 0;
}

/* Any read is a request, and any request has the same answer. */
static void *respond(void *argument)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                 "Content-Length: 12\r\n\r\n{\"ok\":true}\n";
    int listener = *(const int *)argument, epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[EVENTS], event = {.events = EPOLLIN, .data.fd = listener};
    char bytes[4096];
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(epoll_fd, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                event.data.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event.data.fd, &event);
            } else if (recv(fd, bytes, sizeof bytes, 0) <= 0 ||
                       send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL) < 0) {
                close(fd);
            }
        }
    }
    return NULL;
}

static int measure_limit(struct options *options)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t count = sizeof address;
    pthread_t thread;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 1024) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &count) < 0 ||
        pthread_create(&thread, NULL, respond, &listener) != 0) {
        fprintf(stderr, "http_load: cannot start the responder: %s\n", strerror(errno));
        return 1;
    }
    options->path = "/";
    options->waiters = 0;
    return measure(options, &address);
}

static int usage(const char *why)
{
    fprintf(stderr, "http_load: %s; bench/http_load.c begins with its options\n", why);
    return 2;
}

static bool read_option(struct options *options, const char *name, const char *value)
{
    const struct {
        const char *name, **text;
    } texts[] = {{"--wait-path", &options->wait_path},
                 {"--post", &options->post},
                 {"--token", &options->token}};
    const struct {
        const char *name;
        size_t *count;
    } counts[] = {{"--connections", &options->connections}, {"--waiters", &options->waiters}};
    if (!value)
        return false;
    if (strcmp(name, "--seconds") == 0) {
        options->seconds = strtod(value, NULL);
        return options->seconds > 0;
    }
    for (size_t i = 0; i < COUNT(texts); i++)
        if (strcmp(texts[i].name, name) == 0) {
            *texts[i].text = value;
            return true;
        }
    for (size_t i = 0; i < COUNT(counts); i++)
        if (strcmp(counts[i].name, name) == 0) {
            *counts[i].count = strtoul(value, NULL, 10);
            return true;
        }
    return false;
}

static bool read_url(const char *url, struct sockaddr_in *address)
{
    char host[64];
    const char *text = strncmp(url, "http://", 7) == 0 ? url + 7 : url;
    const char *colon = strchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof host)
        return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

int main(int argc, char **argv)
{
    struct options options = {.connections = 64, .seconds = 5};
    struct sockaddr_in address = {0};
    struct rlimit limit;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--limit") == 0)
            options.limit = true;
        else if (strncmp(argv[i], "--", 2) != 0 && !options.url)
            options.url = argv[i];
        else if (strncmp(argv[i], "--", 2) != 0 && !options.path)
            options.path = argv[i];
        else if (read_option(&options, argv[i], argv[i + 1]))
            i++;
        else
            return usage(argv[i]);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (options.limit)
        return measure_limit(&options);
    if (!options.url || !options.path || (options.waiters && !options.wait_path))
        return usage("URL and PATH are needed, and --wait-path for --waiters");
    if (!read_url(options.url, &address))
        return usage("the URL is not http://ADDRESS:PORT, with an address of version 4");
    return measure(&options, &address);
}
