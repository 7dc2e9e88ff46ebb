/* mcp_internal: what the files of the protocol share, and nobody else includes.
 *
 * Locks: the server's guards sessions and calls; an exchange's guards what it answers, and is held
 * while its sink is called. The server's is never held while another is taken.
 */
#ifndef WARPGYM_SERVER_MCP_INTERNAL_H
#define WARPGYM_SERVER_MCP_INTERNAL_H

#include "server/mcp/mcp.h"
#include "server/mcp/message.h"
#include "server/mcp/version.h"
#include "server/task_pool.h"

#include <pthread.h>
#include <stdatomic.h>

struct mcp_session {
    struct mcp *mcp;
    char id[MCP_SESSION_BYTES];
    atomic_int refs;
    bool lasting;
    /* The server's lock: all below. */
    struct mcp_session *next;
    const struct mcp_version *version; /* NULL: before `initialize` */
    char client[MCP_CLIENT_BYTES];
    enum mcp_level level;
    int64_t used_ns;
    size_t calls;
    bool over;
};

struct mcp {
    const struct settings *settings;
    const struct mcp_service *service;
    struct task_pool *quick, *judging;
    pthread_t keeper;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* of the keeper */
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
    size_t open;          /* calls, and one while the messages are read */
    bool batch, over;
};

struct mcp_method;

struct mcp_call {
    struct pool_task work;
    struct mcp *mcp;
    struct mcp_exchange *exchange; /* a reference */
    struct mcp_session *session;   /* the exchange's; NULL */
    const struct mcp_method *method;
    const struct mcp_version *version;
    json_t *id, *params; /* params may be NULL */
    json_t *token;       /* of progress; NULL: nobody follows it */
    char client[MCP_CLIENT_BYTES];
    enum mcp_level level;
    int64_t begun_ns;
    int code; /* of the error, where err's own would not do; 0 */
    json_t *data;
    _Atomic int stop;
    struct mcp_call *next; /* the server's lock: all below */
    bool cancelled;        /* by the client: it wants no answer */
    const char *doing;
    double told; /* progress */
};

enum mcp_method_flag {
    MCP_ANY_TIME = 1,  /* before `initialize`, too */
    MCP_BLOCKS = 2,    /* not on a transport's thread */
    MCP_HANDSHAKE = 4, /* not for requests that speak for themselves */
    MCP_STATELESS = 8, /* for no others */
    MCP_PUBLIC = 16,   /* its answer may be kept and shown to everybody */
    MCP_PRIVATE = 32,  /* to whoever asked */
};

struct mcp_method {
    const char *name;
    unsigned flags;
    int64_t ttl_ms; /* of PUBLIC and PRIVATE */
    int (*run)(struct mcp_call *call, json_t **result, struct err *err);
};

/* methods.c: NULL: there is none of that name for such a request. */
const struct mcp_method *mcp_method_find(const char *name, bool stateless);
/* Whether it is to run in the lane of those that judge. */
bool mcp_method_is_long(const struct mcp_call *call);
/* "name version" of an object of a client's. */
void mcp_client_text(const json_t *info, char text[MCP_CLIENT_BYTES]);
/* MCP_LEVEL_COUNT: there is no such level. */
enum mcp_level mcp_level_of(const char *name);

/* mcp.c */
void mcp_cancel(struct mcp *mcp, const struct mcp_session *session, const json_t *id);
void mcp_exchange_notify(struct mcp_exchange *exchange, const json_t *message);

/* exchange.c: runs a call and ends it. */
void mcp_call_run(struct pool_task *work);

#endif
