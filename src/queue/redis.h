/* redis: the parts of the store for many machines.
 *
 *   callers ──► redis_script ──► a connection of the pool ──► one Lua script: all or nothing
 *   event thread: XREAD BLOCK on the streams `events` and `wake` ──► watchers, waiting claims
 *
 * One script makes all changes that belong together (redis/NAME.lua, after redis/prelude.lua, which
 * lists the keys, and redis/attempt.lua). Redis runs scripts one after the other and writes each to
 * its append-only file as a whole. The clock is the server's.
 *
 * Every script may be sent twice: if an answer is lost, the call connects again and repeats it
 * until options.call_ms are over. A put then joins itself, a finish finds its own result, a
 * document its own bytes; a claim whose answer was lost is a lease that expires. */
#pragma once

#include "base/mem.h"
#include "queue/redis_url.h"
#include "queue/store.h"

#include <hiredis/hiredis.h>

#define REDIS_PREFIX "warpgym:"

/* X(symbol, name): the scripts, redis/NAME.lua. */
#define REDIS_SCRIPTS(X)                                                                           \
    X(REDIS_PUT, put)                                                                              \
    X(REDIS_CANCEL, cancel)                                                                        \
    X(REDIS_FIND, find)                                                                            \
    X(REDIS_LIST, list)                                                                            \
    X(REDIS_STATS, stats)                                                                          \
    X(REDIS_CLAIM, claim)                                                                          \
    X(REDIS_RENEW, renew)                                                                          \
    X(REDIS_FINISH, finish)                                                                        \
    X(REDIS_FAIL, fail)                                                                            \
    X(REDIS_REAP, reap)                                                                            \
    X(REDIS_REGISTER, register)                                                                    \
    X(REDIS_REGISTRATIONS, registrations)                                                          \
    X(REDIS_DOCUMENT_PUT, document_put)                                                            \
    X(REDIS_DOCUMENT_REMOVE, document_remove)

enum redis_script {
#define X(symbol, name) symbol,
    REDIS_SCRIPTS(X)
#undef X
        REDIS_SCRIPT_COUNT
};

/* hiredis's own reply functions, and those with a bound (redis_reply_bound). */
struct redis_functions {
    redisReplyObjectFunctions standard, bounded;
};

struct redis_link {
    redisContext *context;
    struct redis_link *next;
};

struct redis_store {
    struct queue queue; /* first */
    struct redis_url url;
    struct redis_functions functions;
    struct {
        char *text;
        char sha[41];
    } scripts[REDIS_SCRIPT_COUNT];
    pthread_mutex_t pool_lock;
    struct redis_link *idle;
    size_t idle_count;
    bool event_thread_started;
    pthread_t event_thread;
    int event_stop; /* an eventfd */
    int64_t event_position;
};

/* The words of one command. Texts must live until it is sent; the arena holds numbers. */
struct redis_words {
    struct arena arena;
    const char **items;
    size_t *sizes;
    size_t count, capacity;
};

void redis_words_deinit(struct redis_words *words);
void redis_words_bytes(struct redis_words *words, const void *bytes, size_t count);
/* One word for each of `kinds`, as for sqlite_db_start: i int64_t, s const char * (NULL: ""),
 * b const void * and size_t; and f for a bool, "1" or "0". */
void redis_words_add(struct redis_words *words, const char *kinds, ...);
void redis_words_vadd(struct redis_words *words, const char *kinds, va_list args);

/* redis_link.c */

/* Connects, logs in, selects the database. */
NODISCARD int redis_connect(struct redis_store *store, int timeout_ms, redisContext **out,
                            struct err *err);
/* Fill err for a broken connection, and for an error reply. */
int redis_broken(const struct redis_store *store, const redisContext *context, struct err *err);
int redis_refused(const struct redis_store *store, const redisReply *reply, struct err *err);
/* One command and its reply, the caller's (freeReplyObject). Retries until options.call_ms, or
 * the given time, are over. */
NODISCARD int redis_call_within(struct redis_store *store, const struct redis_words *words,
                                int within_ms, redisReply **reply, struct err *err);
NODISCARD int redis_call(struct redis_store *store, const struct redis_words *words,
                         redisReply **reply, struct err *err);
void redis_pool_close(struct redis_store *store);

/* redis_script.c */

void redis_scripts_init(struct redis_store *store);
void redis_scripts_deinit(struct redis_store *store);
/* To call a script: redis_script_begin with its ARGV (redis_words_add), redis_script. */
void redis_script_begin(struct redis_store *store, enum redis_script script,
                        struct redis_words *words, const char *kinds, ...);
/* `type`: the expected REDIS_REPLY_…; any other is ERR_PROTOCOL. Frees the words in any case. */
NODISCARD int redis_script(struct redis_store *store, enum redis_script script,
                           struct redis_words *words, int type, redisReply **reply,
                           struct err *err);
/* The same for a script that returns a number from `low` to `high`. */
NODISCARD int redis_script_number(struct redis_store *store, enum redis_script script,
                                  struct redis_words *words, int64_t low, int64_t high,
                                  int64_t *number, struct err *err);

/* redis_reply.c */

/* Replies are untrusted: each function validates what it reads. */

/* Copies the functions of a fresh reader; then makes a reader refuse arrays larger than any
 * reply of ours. The functions must outlive it. */
void redis_reply_functions(struct redis_functions *functions, const redisReader *reader);
void redis_reply_bound(struct redis_functions *functions, redisReader *reader);

extern const char redis_fields[]; /* names of a record's fields, separated by spaces */
/* True: an array of a record's fields and of the requested bodies. */
bool redis_reply_job(const redisReply *reply, unsigned bodies, struct queue_job *job);
/* The fields version, expires_ms and bytes; false too if the first is null (no document). */
bool redis_reply_document(const redisReply *reply, struct queue_document *document);
/* A whole number in an integer or a text; `other` if there is none. */
int64_t redis_reply_number(const redisReply *reply, int64_t other);
/* Text of a reply, cut to size; "" for any other type. */
void redis_reply_text(const redisReply *reply, char *out, size_t size);
/* One entry of the event stream. */
bool redis_reply_event(const redisReply *reply, struct queue_event *event);
/* ERR_PROTOCOL. */
int redis_reply_strange(const struct redis_store *store, struct err *err);

/* redis_events.c */

NODISCARD int redis_events_start(struct redis_store *store, struct err *err);
void redis_events_stop(struct redis_store *store);

/* redis_work.c, redis_read.c */

queue_store_put redis_put;
queue_store_cancel redis_cancel;
queue_store_claim redis_claim;
queue_store_renew redis_renew;
queue_store_finish redis_finish;
queue_store_fail redis_fail;
queue_store_reap redis_reap;
queue_store_register_worker redis_register;

queue_store_get redis_get;
queue_store_find redis_find;
queue_store_list redis_list;
queue_store_stats redis_stats;
queue_store_registrations redis_registrations;

queue_store_document_put redis_document_put;
queue_store_document_get redis_document_get;
queue_store_document_remove redis_document_remove;
