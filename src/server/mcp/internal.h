/* internal: what the files of the protocol share.
 *
 * Locks: the server's guards sessions and calls; an exchange's guards its answers, and is held
 * while its sink is called. No other lock is taken under the server's. */
#pragma once

#include "server/mcp/mcp.h"
#include "server/mcp/message.h"
#include "server/task_pool.h"

#include <pthread.h>
#include <stdatomic.h>

struct mcp_session {
    struct mcp *mcp;
    char id[MCP_SESSION_BYTES];     /* the transport's */
    char handle[MCP_SESSION_BYTES]; /* what tools call it */
    void *state;                    /* the service's */
    atomic_int refs;                /* the list's until it has closed; its users' */
    bool lasting;
    /* Under the server's lock: all below. */
    struct mcp_session *next;
    const struct mcp_version *version; /* NULL: before `initialize` */
    char client[MCP_CLIENT_BYTES];
    enum mcp_level level;
    int64_t used_ns;
    size_t calls; /* its own, and those that have joined it */
    bool over;
};

struct mcp {
    const struct settings *settings;
    const struct mcp_service *service;
    struct task_pool *quick, *judging;
    pthread_t maintenance_thread;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* of the maintenance thread */
    bool stopping;
    struct mcp_session *sessions;
    size_t session_count;
    struct mcp_call *calls;
};

struct mcp_exchange {
    struct mcp *mcp;
    struct mcp_session *session; /* a reference; NULL */
    struct mcp_sink sink;
    atomic_int refs;
    atomic_bool abandoned;
    pthread_mutex_t lock; /* all below */
    json_t *answers;      /* of a batch, or the only one; NULL: none yet */
    size_t open;          /* open calls, plus one while the messages are read */
    bool batch, over;
};

struct mcp_method;

struct mcp_call {
    struct pool_task work;
    struct mcp *mcp;
    struct mcp_exchange *exchange; /* a reference */
    struct mcp_session *session;   /* the exchange's; NULL */
    struct mcp_session *joined;    /* NULL */
    const struct mcp_method *method;
    const struct mcp_version *version;
    json_t *id, *params; /* params may be NULL */
    json_t *token;       /* of progress; NULL: no progress requested */
    char client[MCP_CLIENT_BYTES];
    enum mcp_level level;
    int64_t begun_ns;
    int code; /* JSON-RPC code of the error, if err's would not do; 0 */
    json_t *data;
    _Atomic int stop;
    struct mcp_call *next; /* under the server's lock: all below */
    bool cancelled;        /* by the client: it expects no answer */
    const char *doing;
    double sent_progress; /* progress last sent */
};

enum mcp_method_flag {
    MCP_ANY_TIME = 1,  /* allowed before `initialize`, too */
    MCP_BLOCKS = 2,    /* not on a transport's thread */
    MCP_HANDSHAKE = 4, /* not for stateless requests */
    MCP_STATELESS = 8, /* for stateless requests alone */
    MCP_PUBLIC = 16,   /* its answer may be cached for all clients */
    MCP_PRIVATE = 32,  /* cached for the same client alone */
};

struct mcp_method {
    const char *name;
    unsigned flags;
    int64_t ttl_ms; /* of PUBLIC and PRIVATE */
    int (*run)(struct mcp_call *call, json_t **result, struct err *err);
};

/* methods.c: NULL: no such method for this kind of request. */
const struct mcp_method *mcp_method_find(const char *name, bool stateless);
/* Whether it runs in the lane of evaluations. */
bool mcp_method_is_long(const struct mcp_call *call);
/* "name version" of a client's info object. */
void mcp_client_text(const json_t *info, char text[MCP_CLIENT_BYTES]);
/* MCP_LEVEL_COUNT: unknown. */
enum mcp_level mcp_level_of(const char *name);

/* mcp.c */

/* With the lock: a call ends its use of it; NULL is fine. True: session_close. */
bool mcp_session_leave(struct mcp_session *session);
/* It has ended, and its last call. */
void mcp_session_close(struct mcp_session *session);
void mcp_cancel(struct mcp *mcp, const struct mcp_session *session, const json_t *id);
void mcp_exchange_notify(struct mcp_exchange *exchange, const json_t *message);
