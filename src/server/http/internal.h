/* internal: what the files of the HTTP layer share.
 *
 * Three kinds of threads: loops (loop.c), each of which owns its connections and a libmicrohttpd
 * that calls back about them; handler threads (task_pool.h); and the watcher (watch.c), which
 * keeps all deadlines, notices clients that disconnect while nothing reads from them, and alone
 * frees a struct http_connection, so that its pending events stay valid.
 *
 * A request goes through turns; the thread that takes a turn under the request's lock owns the
 * request for its duration:
 *
 *   READ ─► RUN ─┬──────────────► READY ─► (libmicrohttpd sends)
 *               └► WAIT ─┬ answer ─▲
 *                        ├ deadline ─► LATE ─► READY
 *                        └ gone, stop ─► GONE, READY with 503
 *
 * From RUN on a handler thread on, and in WAIT, libmicrohttpd has the connection suspended;
 * leaving these turns resumes it. Lock order: stream, request, connection; the server's before a
 * connection's. No user's callback runs under a lock, except the envelope. */
#pragma once

#include "base/buf.h"
#include "base/hash.h"
#include "server/http/http.h"
#include "server/http/listen.h"
#include "server/http/route_match.h"
#include "server/http/target.h"
#include "server/http/timers.h"
#include "server/task_pool.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

/* A refused body is read up to here, so that the connection survives. */
#define HTTP_DISCARD_BYTES ((size_t)64 << 10)
#define HTTP_HEARTBEAT_NS ((int64_t)15 * 1000000000)
#define HTTP_RETRY_AFTER_S 1 /* of a full server: may pass in a moment */
#define HTTP_STOP_RETRY_AFTER_S 5

enum http_phase {
    PHASE_IDLE, /* between requests, or before the end of one's headers */
    PHASE_BODY,
    PHASE_WORK, /* with a handler: no deadline */
    PHASE_WAIT,
    PHASE_STREAM,
    PHASE_SEND,
    PHASE_DEAD,   /* final answer sent, or about to close */
    PHASE_LINGER, /* closed; remaining input is drained */
};

struct http_connection {
    struct http_timer timer; /* first: the watcher converts it to the connection */
    struct http_server *server;
    struct http_loop *loop;
    struct MHD_Connection *mhd;
    int fd;
    char remote[INET6_ADDRSTRLEN];
    uint64_t answered; /* requests; used by the loop's thread alone */
    bool linger;       /* the client may still be sending: likewise */

    pthread_mutex_t lock; /* all below */
    enum http_phase phase;
    struct http_request *request; /* the one in progress; a reference */
    bool gone;                    /* the client shut down its side: it may be gone */
    bool closed;
    struct http_connection *next, **back; /* of the server's list: under the server's lock */
    bool freed;                           /* lingers; used by the watcher alone */
};

enum http_turn { TURN_READ, TURN_RUN, TURN_WAIT, TURN_LATE, TURN_GONE, TURN_READY };

struct http_response {
    struct http_server *server;
    struct http_request *request; /* NULL: it could not be parsed */
    int status;
    bool filled;
    char type[64];
    char *body;
    size_t count;
    struct {
        char *name, *value;
    } * headers;
    size_t header_count;
};

/* A part of its request, which it keeps alive while either reference exists. */
struct http_waiter {
    struct http_request *request;
    struct http_wait wait;
    int64_t deadline_ns;
    _Atomic int refs; /* the handle's, and the layer's while callbacks may come */
};

struct http_request {
    _Atomic int refs;
    struct http_server *server;
    int64_t started_ns;

    /* Constant once the request is admitted. */
    struct arena arena;
    const char *raw; /* target */
    char method_name[8];
    char id[65];
    char remote[INET6_ADDRSTRLEN];
    enum http_method method;
    bool head;
    struct http_target target;
    const struct http_binding *binding; /* NULL: no route */
    const char *origin;                 /* allowed to read the response; NULL: none */
    size_t body_max_bytes;
    bool admitted, refused, has_body;
    bool active; /* counted among those that http_stop waits for */

    /* Owned by the thread that has the turn. */
    struct buf body;
    json_t *json;
    struct http_response response;
    struct http_response *reply; /* from http_response_new; freed with the request */
    bool pooled, postponed;
    struct http_pair *headers; /* a copy for use after the handler */
    size_t header_count;
    struct http_stream *stream;
    int status; /* as sent; 0: none */

    pthread_mutex_t lock; /* both below */
    enum http_turn turn;
    struct http_connection *connection; /* NULL: libmicrohttpd is done with the request */

    struct http_waiter waiter;
    struct pool_task work; /* of a handler thread */
};

enum http_command { HTTP_RUN, HTTP_QUIET /* stop accepting */, HTTP_QUIT };

/* A thread and its connections. */
struct http_loop {
    struct http_server *server;
    struct MHD_Daemon *daemon;
    pthread_t thread;
    int wake_fd;
    _Atomic int command; /* enum http_command */
};

enum http_row { ROW_REQUESTS, ROW_SECONDS, ROW_CONNECTIONS, ROW_WAITING, ROW_STREAMS, ROW_COUNT };

struct http_server {
    const struct settings *settings;
    struct http_options options;
    struct http_routes routes;
    struct http_listen listen;
    char token_hash[HASH_HEX_BYTES]; /* "": no token required */
    uint32_t id_prefix;
    _Atomic uint32_t next_id;
    struct metric_table *metrics;
    struct metric_series *connections, *waiting, *streams;

    struct http_loop *loops;
    size_t loop_count;
    bool started;
    _Atomic bool stopping;
    struct task_pool *pool; /* handler threads */

    struct http_timers timers;
    int epoll_fd, wake_fd;
    pthread_t watcher;

    pthread_mutex_t lock; /* all below */
    pthread_cond_t calm;  /* `active` became 0 */
    struct http_connection *live, *dead;
    size_t active; /* requests that libmicrohttpd is not done with */
    size_t lingering;
    bool quit;
};

/* request.c */
struct http_request *http_request_new(struct http_connection *connection, const char *raw);
struct http_request *http_request_ref(struct http_request *request);
void http_request_unref(struct http_request *request);
void http_request_keep_headers(struct http_request *request);
/* Whether the query contains only names of its route. False: the response is a refusal. */
bool http_request_check_query(const struct http_request *request, struct http_response *response);

/* admit.c: decides on a request before its body. False: the response is a refusal; *early: send
 * it at once, without reading the body. */
bool http_admit(struct http_request *request, const char *method, const char *version, bool *early);

/* response.c */
void http_response_init(struct http_response *response, struct http_server *server,
                        struct http_request *request);
void http_response_deinit(struct http_response *response);
struct MHD_Response *http_response_make(struct http_response *response);
/* The whole response as bytes, for writing to the socket directly. */
void http_response_write(const struct http_response *response, struct buf *out);

/* turn.c: the life of an admitted request. */
enum MHD_Result http_turn_proceed(struct http_request *request);
enum MHD_Result http_turn_receive(struct http_request *request, const char *bytes, size_t count);
enum MHD_Result http_turn_queue(struct http_request *request);
/* Runs it on a handler thread, with its own reference. False: the queue is full. */
bool http_request_push(struct http_request *request);

/* waiter.c: called by the watcher and by http_stop. */
void http_waiter_late(struct http_request *request, int64_t now_ns);
void http_waiter_gone(struct http_request *request);
void http_waiter_stop(struct http_request *request);
/* No callback will follow. */
void http_waiter_unref(struct http_waiter *waiter);

/* stream.c */
struct MHD_Response *http_stream_response(struct http_request *request);
void http_stream_free(struct http_stream *stream); /* with its request; NULL is fine */
void http_stream_heartbeat(struct http_stream *stream);
void http_stream_lost(struct http_stream *stream);
void http_stream_stop(struct http_stream *stream);
void http_stream_over(struct http_stream *stream); /* libmicrohttpd is done with it */

/* loop.c */
NODISCARD int http_loop_start(struct http_loop *loop, struct http_server *server,
                              unsigned connections_max, struct err *err);
void http_loop_wake(struct http_loop *loop);
void http_loop_command(struct http_loop *loop, enum http_command command);
/* After HTTP_QUIT, and when no connection is suspended. */
void http_loop_join(struct http_loop *loop);

/* watch.c */
NODISCARD int http_watch_start(struct http_server *server, struct err *err);
void http_watch_stop(struct http_server *server);
void http_watch_wake(struct http_server *server);

/* connection.c */
void http_connection_open(struct http_loop *loop, struct MHD_Connection *mhd, void **context);
void http_connection_close(struct http_connection *connection);
/* Resumes a suspended connection, from any thread. */
void http_connection_resume(struct http_connection *connection);
/* Sets its deadline, `after_ms` from now; negative: none. */
void http_connection_set_deadline(struct http_connection *connection, int64_t after_ms);
/* False: it is dead. */
bool http_connection_enter(struct http_connection *connection, enum http_phase phase,
                           int64_t after_ms);
/* With the lock: writes a refusal directly to the socket, when libmicrohttpd takes no response. */
void http_connection_send_final(struct http_connection *connection, struct http_request *request,
                                int status, const char *code, const char *text);
/* Has the watcher report a disconnect; `again`: also one that was reported before. */
void http_connection_watch(struct http_connection *connection, bool again);
/* With the lock: shuts down reading, so that libmicrohttpd notices the end. */
void http_connection_shut_reading(struct http_connection *connection);
/* For the watcher. */
void http_connection_timeout(struct http_connection *connection, int64_t now_ns);
void http_connection_event(struct http_connection *connection);
void http_connection_free_closed(struct http_connection *connection);
