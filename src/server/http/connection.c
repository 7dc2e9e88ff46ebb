#include "server/http/internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "server/server_settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_MS 2000
#define LINGER_MAX 256 /* connections at a time */
#define LINGER_BYTES ((size_t)1 << 20)
#define LAST_WORDS_BYTES ((size_t)16 << 10)

static void name_remote(const struct sockaddr *address, char out[INET6_ADDRSTRLEN])
{
    static const char mapped[] = "::ffff:";
    char text[INET6_ADDRSTRLEN] = "?";
    if (address && address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, sizeof text);
    else if (address && address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text, sizeof text);
    bool four = strncmp(text, mapped, sizeof mapped - 1) == 0 && strchr(text, '.');
    snprintf(out, INET6_ADDRSTRLEN, "%s", four ? text + sizeof mapped - 1 : text);
}

/* With the server's lock. */
static bool is_too_many(const struct http_server *server, const char *remote)
{
    int64_t max = server_settings(server->settings)->max_per_address, count = 0;
    for (const struct http_connection *at = server->live; at && max > 0; at = at->next)
        count += strcmp(at->remote, remote) == 0;
    return max > 0 && count >= max;
}

void http_connection_open(struct http_loop *loop, struct MHD_Connection *mhd, void **context)
{
    struct http_server *server = loop->server;
    struct http_connection *connection = mem_alloc(sizeof *connection);
    connection->server = server;
    connection->loop = loop;
    connection->mhd = mhd;
    connection->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    name_remote(MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr,
                connection->remote);
    pthread_mutex_init(&connection->lock, NULL);
    http_timer_init(&connection->timer);
    pthread_mutex_lock(&server->lock);
    bool many = is_too_many(server, connection->remote);
    connection->next = server->live;
    connection->back = &server->live;
    if (server->live)
        server->live->back = &connection->next;
    server->live = connection;
    pthread_mutex_unlock(&server->lock);
    metric_shift(server->connections, 1);
    *context = connection;
    http_connection_watch(connection, false);
    http_connection_set_deadline(connection, server_settings(server->settings)->header_timeout_ms);
    if (many) {
        pthread_mutex_lock(&connection->lock);
        connection->phase = PHASE_DEAD;
        shutdown(connection->fd, SHUT_RDWR);
        pthread_mutex_unlock(&connection->lock);
    }
}

void http_connection_resume(struct http_connection *connection)
{
    MHD_resume_connection(connection->mhd);
    http_loop_wake(connection->loop);
}

void http_connection_set_deadline(struct http_connection *connection, int64_t after_ms)
{
    int64_t due_ns = after_ms < 0 ? HTTP_TIMER_NEVER : clock_now_ns() + after_ms * 1000000;
    if (http_timers_set(&connection->server->timers, &connection->timer, due_ns))
        http_watch_wake(connection->server);
}

bool http_connection_enter(struct http_connection *connection, enum http_phase phase,
                           int64_t after_ms)
{
    pthread_mutex_lock(&connection->lock);
    bool alive = connection->phase != PHASE_DEAD;
    if (alive)
        connection->phase = phase;
    pthread_mutex_unlock(&connection->lock);
    if (alive)
        http_connection_set_deadline(connection, after_ms);
    return alive;
}

void http_connection_send_final(struct http_connection *connection, struct http_request *request,
                                int status, const char *code, const char *text)
{
    struct http_response response;
    struct buf bytes;
    buf_init(&bytes, LAST_WORDS_BYTES);
    http_response_init(&response, connection->server, request);
    http_refuse(&response, status, code, "%s", text);
    http_response_write(&response, &bytes);
    /* Bytes that do not fit into the empty socket buffer are dropped. */
    ssize_t sent = send(connection->fd, bytes.data, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)sent;
    shutdown(connection->fd, SHUT_WR);
    connection->phase = PHASE_DEAD;
    if (request)
        request->status = status;
    http_response_deinit(&response);
    buf_deinit(&bytes);
}

/* Edge-triggered, for the connection's whole life. libmicrohttpd does not ask for the peer's
 * shutdown event, and misses it when it arrives together with the last bytes. */
void http_connection_watch(struct http_connection *connection, bool again)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = connection};
    (void)epoll_ctl(connection->server->epoll_fd, again ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
                    connection->fd, &event);
}

/* Pending input is still read; then libmicrohttpd finds the end. */
void http_connection_shut_reading(struct http_connection *connection)
{
    shutdown(connection->fd, SHUT_RD);
}

struct ending {
    bool peer_open;  /* it has not shut down its side */
    bool said;       /* it sent something that is unread */
    bool unanswered; /* it sent something, and got no answer */
};

static struct ending ending_inspect(const struct http_connection *connection)
{
    char byte;
    struct tcp_info info = {0};
    socklen_t count = sizeof info;
    ssize_t peeked = recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    struct ending ending = {
        .peer_open = peeked > 0 || (peeked < 0 && errno == EAGAIN),
        .said = peeked > 0,
    };
    if (peeked < 0 && errno != EAGAIN)
        return ending;
    if (getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &count) == 0)
        ending.unanswered = info.tcpi_bytes_received > 0 && info.tcpi_bytes_sent == 0;
    return ending;
}

/* libmicrohttpd is about to close the socket. On a malformed request line it closes without an
 * answer: for the first one of a connection the answer is sent here. And if a client is still
 * sending, closing would reset the connection and discard the answer that it has not read yet:
 * then the watcher gets a duplicate of the descriptor, and drains it for a moment. */
void http_connection_close(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    bool stopping = atomic_load(&server->stopping);
    pthread_mutex_lock(&connection->lock);
    struct ending ending = ending_inspect(connection);
    if (connection->phase == PHASE_IDLE && connection->answered == 0 && ending.unanswered &&
        !stopping) {
        http_connection_send_final(connection, NULL, 400, "malformed",
                                   "this is not an HTTP request");
        connection->linger = true;
    }
    epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    connection->closed = true;
    bool linger = ending.peer_open && (connection->linger || ending.said) && !stopping;
    connection->fd = linger ? dup(connection->fd) : -1;
    connection->phase = linger && connection->fd >= 0 ? PHASE_LINGER : PHASE_DEAD;
    pthread_mutex_unlock(&connection->lock);
    http_timers_remove(&server->timers, &connection->timer);
    metric_shift(server->connections, -1);

    pthread_mutex_lock(&server->lock);
    *connection->back = connection->next;
    if (connection->next)
        connection->next->back = connection->back;
    bool wake = server->dead == NULL;
    connection->next = server->dead;
    server->dead = connection;
    pthread_mutex_unlock(&server->lock);
    if (wake)
        http_watch_wake(server);
}

static void connection_free(struct http_connection *connection)
{
    http_timers_remove(&connection->server->timers, &connection->timer);
    if (connection->fd >= 0)
        close(connection->fd);
    pthread_mutex_destroy(&connection->lock);
    mem_free(connection);
}

/* Passes a closed connection to the watcher, its only user from here on: no locks. */
void http_connection_free_closed(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = connection};
    if (connection->phase != PHASE_LINGER || server->lingering >= LINGER_MAX ||
        epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) < 0) {
        connection_free(connection);
        return;
    }
    server->lingering++;
    connection->freed = true;
    connection->answered = 0; /* from here on: bytes drained */
    shutdown(connection->fd, SHUT_WR);
    http_connection_set_deadline(connection, LINGER_MS);
}

static void end_linger(struct http_connection *connection)
{
    connection->server->lingering--;
    epoll_ctl(connection->server->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    connection_free(connection);
}

static void linger_drain(struct http_connection *connection)
{
    char bytes[16384];
    ssize_t count = recv(connection->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0)
        connection->answered += (uint64_t)count;
    bool over = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
    if (over || connection->answered > LINGER_BYTES)
        end_linger(connection);
}

/* Whether the client has sent anything since its last answer. */
static bool request_has_begun(const struct http_connection *connection)
{
    struct tcp_info info = {0};
    socklen_t count = sizeof info;
    if (connection->request)
        return true;
    return connection->answered == 0 &&
           getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &count) == 0 &&
           info.tcpi_bytes_received > 0;
}

static void request_timed_out(struct http_connection *connection)
{
    struct http_request *request = connection->phase == PHASE_BODY ? connection->request : NULL;
    if (request || request_has_begun(connection))
        http_connection_send_final(connection, request, 408, "too_slow",
                                   "the request took too long to arrive");
    connection->phase = PHASE_DEAD;
    shutdown(connection->fd, SHUT_RDWR);
}

void http_connection_timeout(struct http_connection *connection, int64_t now_ns)
{
    struct http_request *request = NULL;
    if (connection->freed) {
        end_linger(connection);
        return;
    }
    pthread_mutex_lock(&connection->lock);
    bool due = !connection->closed && atomic_load(&connection->timer.due_ns) <= now_ns;
    enum http_phase phase = connection->phase;
    if (due && (phase == PHASE_WAIT || phase == PHASE_STREAM) && connection->request)
        request = http_request_ref(connection->request);
    else if (due && (phase == PHASE_IDLE || phase == PHASE_BODY))
        request_timed_out(connection);
    else if (due && phase == PHASE_SEND) {
        connection->phase = PHASE_DEAD;
        shutdown(connection->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&connection->lock);
    if (!request)
        return;
    if (phase == PHASE_WAIT) {
        http_waiter_late(request, now_ns);
    } else {
        http_connection_set_deadline(connection, HTTP_HEARTBEAT_NS / 1000000);
        http_stream_heartbeat(request->stream);
    }
    http_request_unref(request);
}

void http_connection_event(struct http_connection *connection)
{
    struct http_request *request = NULL;
    if (connection->freed) {
        linger_drain(connection);
        return;
    }
    pthread_mutex_lock(&connection->lock);
    enum http_phase phase = connection->phase;
    if (!connection->closed) {
        connection->gone = true;
        if (connection->request && (phase == PHASE_WAIT || phase == PHASE_STREAM))
            request = http_request_ref(connection->request);
        else if (phase == PHASE_IDLE || phase == PHASE_BODY)
            http_connection_shut_reading(connection);
    }
    pthread_mutex_unlock(&connection->lock);
    if (!request)
        return;
    if (phase == PHASE_WAIT)
        http_waiter_gone(request);
    else
        http_stream_lost(request->stream);
    http_request_unref(request);
}
