/* http_internal: what the files of the HTTP layer share, and nobody else includes.
 *
 * Three kinds of threads meet here: loops (loop.c), each of which owns its connections and a
 * libmicrohttpd that calls us about them; handler threads (pool.h); and the watcher
 * (watch.c), which keeps all deadlines, notices clients that leave while nobody reads from
 * them, and is the only one that frees a struct http_connection, so that whatever it still has at
 * hand is there.
 *
 * A request goes through turns, and whoever takes one under the request's lock has it alone:
 *
 *   READ ─► RUN ─┬──────────────► READY ─► (libmicrohttpd sends)
 *                └► WAIT ─┬ answer ─▲
 *                         ├ deadline ─► LATE ─► READY
 *                         └ gone, stop ─► GONE, READY with 503
 *
 * From RUN on a handler thread, and in WAIT, libmicrohttpd has the connection suspended: taking it
 * out of there is what resumes it. Locks are taken in the order stream, request, connection, and
 * the server's before a connection's; no callback of a user runs under one, but for the envelope.
 */
#ifndef WARPGYM_SERVER_HTTP_INTERNAL_H
#define WARPGYM_SERVER_HTTP_INTERNAL_H

#include "base/buf.h"
#include "base/hash.h"
#include "server/http/http.h"
#include "server/http/listen.h"
#include "server/http/routes.h"
#include "server/http/target.h"
#include "server/http/timers.h"
#include "server/pool.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

/* A body that is refused is read anyway up to here, so that the connection lives on. */
#define HTTP_DISCARD_BYTES ((size_t)64 << 10)
#define HTTP_HEARTBEAT_NS ((int64_t)15 * 1000000000)
#define HTTP_RETRY_AFTER_S 1 /* of a server that is full: it may be over in a moment */
#define HTTP_STOP_RETRY_AFTER_S 5

enum http_phase {
    PHASE_IDLE, /* between requests, or before the end of one's headers */
    PHASE_BODY,
    PHASE_WORK, /* ours: no deadline */
    PHASE_WAIT,
    PHASE_STREAM,
    PHASE_SEND,
    PHASE_DEAD,   /* had its last words, or is to be closed */
    PHASE_LINGER, /* closed; what the client still sends is thrown away */
};

struct http_connection {
    struct http_timer timer; /* first: the watcher finds the connection by it */
    struct http_server *server;
    struct http_loop *loop;
    struct MHD_Connection *mhd;
    int fd;
    char remote[INET6_ADDRSTRLEN];
    uint64_t answered; /* requests; the loop's thread alone */
    bool linger;       /* the client may still be sending: likewise */

    pthread_mutex_t lock; /* all below */
    enum http_phase phase;
    struct http_request *request; /* the one under way; a reference */
    bool gone;                    /* the client sends no more: maybe it went */
    bool closed;
    struct http_connection *next, **back; /* of the server's list: the server's lock */
    bool buried;                          /* lingers; the watcher alone */
};

enum http_turn { TURN_READ, TURN_RUN, TURN_WAIT, TURN_LATE, TURN_GONE, TURN_READY };

struct http_response {
    struct http_server *server;
    struct http_request *request; /* NULL: none that could be read */
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

/* A part of its request, which it keeps alive while either reference is there. */
struct http_waiter {
    struct http_request *request;
    struct http_wait wait;
    int64_t deadline_ns;
    _Atomic int refs; /* the handle, and the layer's until no callback can come any more */
};

struct http_request {
    _Atomic int refs;
    struct http_server *server;
    int64_t started_ns;

    /* Not changed any more once the request is admitted. */
    struct arena arena;
    const char *raw; /* target */
    char method_name[8];
    char id[65];
    char remote[INET6_ADDRSTRLEN];
    enum http_method method;
    bool head;
    struct http_target target;
    const struct http_binding *binding; /* NULL: no route */
    const char *origin;                 /* that may read the response; NULL: none */
    size_t body_max_bytes;
    bool admitted, refused, has_body;
    bool active; /* counted among those that http_stop waits for */

    /* The thread's whose turn it is. */
    struct buf body;
    json_t *json;
    struct http_response response;
    struct http_response *reply; /* another one, from http_response_new; freed with the request */
    bool pooled, postponed;
    struct http_pair *headers; /* a copy for those who come after the handler */
    size_t header_count;
    struct http_stream *stream;
    int status; /* that was sent; 0: none */

    pthread_mutex_t lock; /* both below */
    enum http_turn turn;
    struct http_connection *connection; /* NULL: libmicrohttpd is done with the request */

    struct http_waiter waiter;
    struct pool_work work; /* of a handler thread */
};

enum http_command { HTTP_RUN, HTTP_QUIET /* accept nobody any more */, HTTP_QUIT };

/* A thread and the connections that it serves. */
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
    char token_hash[HASH_HEX_BYTES]; /* "": none is asked for */
    uint32_t id_prefix;
    _Atomic uint32_t next_id;
    struct metric_table *metrics;
    struct metric_series *connections, *waiting, *streams;

    struct http_loop *loops;
    size_t loop_count;
    bool started;
    _Atomic bool stopping;
    struct pool *pool; /* handler threads */

    struct http_timers timers;
    int epoll_fd, wake_fd;
    pthread_t watcher;

    pthread_mutex_t lock; /* all below */
    pthread_cond_t calm;  /* `active` became 0 */
    struct http_connection *live, *dead;
    size_t active; /* whole requests that libmicrohttpd is not done with */
    size_t lingering;
    bool quit;
};

/* request.c */
struct http_request *http_request_new(struct http_connection *connection, const char *raw);
struct http_request *http_request_ref(struct http_request *request);
void http_request_unref(struct http_request *request);
void http_request_keep_headers(struct http_request *request);

/* admit.c: all that can be said of a request before its body. False: the response is a
 * refusal; *early: it must go out at once, because the body is not to be read. */
bool http_admit(struct http_request *request, const char *method, const char *version, bool *early);

/* response.c */
void http_response_init(struct http_response *response, struct http_server *server,
                        struct http_request *request);
void http_response_deinit(struct http_response *response);
struct MHD_Response *http_response_make(struct http_response *response);
/* The whole of it as bytes, for the socket itself. */
void http_response_write(const struct http_response *response, struct buf *out);

/* turn.c: what happens to an admitted request. */
enum MHD_Result http_turn_proceed(struct http_request *request);
enum MHD_Result http_turn_receive(struct http_request *request, const char *bytes, size_t count);
enum MHD_Result http_turn_queue(struct http_request *request);
/* On a handler thread, with a reference of its own. False: they have a full queue. */
bool http_request_push(struct http_request *request);

/* waiter.c: called by the watcher and by http_stop. */
void http_waiter_late(struct http_request *request, int64_t now_ns);
void http_waiter_gone(struct http_request *request);
void http_waiter_stop(struct http_request *request);
/* No callback will come any more. */
void http_waiter_unref(struct http_waiter *waiter);

/* stream.c */
struct MHD_Response *http_stream_response(struct http_request *request);
void http_stream_free(struct http_stream *stream); /* with its request; NULL is fine */
void http_stream_beat(struct http_stream *stream);
void http_stream_lost(struct http_stream *stream);
void http_stream_stop(struct http_stream *stream);
void http_stream_over(struct http_stream *stream); /* libmicrohttpd is done with it */

/* loop.c */
NODISCARD int http_loop_start(struct http_loop *loop, struct http_server *server,
                              unsigned connections_max, struct err *err);
void http_loop_wake(struct http_loop *loop);
void http_loop_tell(struct http_loop *loop, enum http_command command);
/* After HTTP_QUIT, and when no connection is suspended. */
void http_loop_join(struct http_loop *loop);

/* watch.c */
NODISCARD int http_watch_start(struct http_server *server, struct err *err);
void http_watch_stop(struct http_server *server);
void http_watch_wake(struct http_server *server);

/* connection.c */
void http_connection_open(struct http_loop *loop, struct MHD_Connection *mhd, void **context);
void http_connection_close(struct http_connection *connection);
void http_connection_free(struct http_connection *connection);
/* Of one that is suspended, from any thread. */
void http_connection_resume(struct http_connection *connection);
/* Moves its deadline, `after_ms` from now; negative: there is none. */
void http_connection_due(struct http_connection *connection, int64_t after_ms);
/* False: it is dead. */
bool http_connection_enter(struct http_connection *connection, enum http_phase phase,
                           int64_t after_ms);
/* With the lock held: a refusal straight to the socket, where libmicrohttpd takes no response. */
void http_connection_last_words(struct http_connection *connection, struct http_request *request,
                                int status, const char *code, const char *text);
/* Has the watcher tell when the client goes; `again`: at once, if it has. */
void http_connection_watch(struct http_connection *connection, bool again);
/* With the lock held: nothing will come any more, and libmicrohttpd must notice. */
void http_connection_no_more(struct http_connection *connection);
/* Of the watcher. */
void http_connection_timeout(struct http_connection *connection, int64_t now_ns);
void http_connection_event(struct http_connection *connection);
void http_connection_bury(struct http_connection *connection);

#endif
