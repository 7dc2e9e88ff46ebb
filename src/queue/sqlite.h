/* sqlite: the parts of the embedded store.
 *
 *   callers ──► sqlite_submit ──► writer thread: BEGIN IMMEDIATE, all that is pending, COMMIT
 *   callers ──► sqlite_reader: a pool of read-only connections
 *   inotify on PATH-wake ──► event thread: reads changes, notifies watchers, wakes claims
 *
 * One connection and one thread do all writes, so concurrent callers share one fsync (group commit)
 * and statements need no lock. If a group fails, each of its operations runs again in its own
 * transaction, so that an operation that exceeds a limit fails alone.
 *
 * Processes notify each other of commits by touching PATH-wake: a write if a job may be claimable,
 * a new timestamp if only watchers care. The log file itself does not serve: its last write
 * precedes its fsync, and the commit is visible only after that. */
#pragma once

#include "queue/store.h"

#include <semaphore.h>
#include <sqlite3.h>
#include <stdatomic.h>

#define SQLITE_READERS 4
#define SQLITE_BOOT_BYTES 64

/* The texts are in sqlite_db.c; each connection prepares those that it uses. */
enum sqlite_statement {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_COUNTERS,
    SQL_COUNTER_SET,
    SQL_INSERT,
    SQL_INSERT_PAYLOAD,
    SQL_FIND_ID,
    SQL_REMOVE,
    SQL_REMOVE_PAYLOAD,
    SQL_REMOVE_RESULT,
    SQL_FRONT,
    SQL_CLAIM,
    SQL_LEASE_STATE,
    SQL_RENEW,
    SQL_END,
    SQL_INSERT_RESULT,
    SQL_RESULT,
    SQL_RETURN,
    SQL_ASK_CANCEL,
    SQL_EXPIRED,
    SQL_OLDEST_ENDED,
    SQL_REGISTRATION_SET,
    SQL_REGISTRATION_REMOVE,
    SQL_REGISTRATIONS_EXPIRE,
    SQL_REGISTRATIONS,
    SQL_DOCUMENT_STATE,
    SQL_DOCUMENT_SET,
    SQL_DOCUMENT_REMOVE,
    SQL_DOCUMENT_GET,
    SQL_DOCUMENTS_BOOT,
    SQL_DOCUMENTS_EXPIRE,
    SQL_GET,
    SQL_GET_SEQUENCE,
    SQL_FIND,
    SQL_LIST,
    SQL_LIST_BATCH,
    SQL_DEPTH,
    SQL_RUNNING,
    SQL_ENDED,
    SQL_EVENTS,
    SQL_POSITION,
    SQL_COUNT
};

/* One connection; used by one thread at a time. */
struct sqlite_db {
    sqlite3 *handle;
    sqlite3_stmt *statements[SQL_COUNT];
    const char *path;
    int busy_ms;
};

/* Counters that a transaction accumulates, written once before it commits. */
struct sqlite_tally {
    int64_t sequence, change; /* the last ones assigned */
    int64_t
        removed_change; /* highest change of a removed job: event readers before it missed events */
    int64_t kept, kept_bytes; /* ended jobs */
    int64_t lost;
    int64_t documents, version; /* number of documents; highest version assigned */
    struct {
        char outcome[QUEUE_WORD_BYTES];
        int64_t count;
    } ended[QUEUE_OUTCOMES_MAX]; /* of this transaction */
    size_t ended_count;
    bool claimable; /* a job may be claimable */
    bool notify;    /* watchers must be notified */
};

struct sqlite_operation {
    /* Runs inside a transaction; may run twice, if the first transaction is rolled back. */
    int (*apply)(struct sqlite_operation *operation, struct err *err);
    struct sqlite_store *store;
    void *arguments;
    struct err *err;
    int result;
    sem_t done;
    struct sqlite_operation *next;
};

struct sqlite_reader {
    struct sqlite_db db;
    struct sqlite_reader *next;
};

struct sqlite_store {
    struct queue queue; /* first */
    char *path;
    const struct queue_clock *clock;
    int wake_fd; /* PATH-wake */

    struct sqlite_db writer; /* used by the writer thread, like the counters */
    struct sqlite_tally tally;
    struct sqlite_tally committed;
    pthread_t writer_thread;
    pthread_mutex_t pending_lock;
    pthread_cond_t pending_some;
    struct sqlite_operation *pending, **pending_end;
    bool closing;

    pthread_mutex_t reader_lock;
    pthread_cond_t reader_free;
    struct sqlite_reader readers[SQLITE_READERS], *idle;

    struct sqlite_db event_db; /* used by the event thread */
    pthread_t event_thread;
    int event_inotify, event_stop; /* job_events_stop: an eventfd */
    int64_t event_position;
};

static inline const char *sqlite_boot_id(const struct sqlite_store *store)
{
    return store->clock->boot_id(store->clock->context);
}

static inline int64_t sqlite_boot_ms(const struct sqlite_store *store)
{
    return store->clock->boot_ms(store->clock->context);
}

static inline int64_t sqlite_wall_ms(const struct sqlite_store *store)
{
    return store->clock->wall_ms(store->clock->context);
}

/* sqlite_db.c */

/* `create`: makes the file and its schema if they are missing. */
NODISCARD int sqlite_db_open(struct sqlite_db *db, const char *path, int busy_ms, bool create,
                             struct err *err);
void sqlite_db_close(struct sqlite_db *db);
/* SQLite's last error as an error of ours. */
int sqlite_db_error(struct sqlite_db *db, struct err *err);
/* Binds `kinds` to the arguments: i int64_t, s const char *, b const void * and size_t. Then
 * sqlite_db_next for each row: false behind the last one, where the statement is reset, and with
 * *result < 0 after an error. */
NODISCARD int sqlite_db_start(struct sqlite_db *db, enum sqlite_statement which, sqlite3_stmt **out,
                              struct err *err, const char *kinds, ...);
NODISCARD bool sqlite_db_next(struct sqlite_db *db, sqlite3_stmt *statement, int *result,
                              struct err *err);
/* For one row: 1 a row (the caller resets the statement), 0 none, negative an error. */
NODISCARD int sqlite_db_first(struct sqlite_db *db, enum sqlite_statement which, sqlite3_stmt **out,
                              struct err *err, const char *kinds, ...);
/* For a statement without rows. */
NODISCARD int sqlite_db_run(struct sqlite_db *db, enum sqlite_statement which, struct err *err,
                            const char *kinds, ...);
/* Text of a column, cut to size; "" for NULL. */
void sqlite_db_text(sqlite3_stmt *statement, int column, char *out, size_t size);
/* Reads a row of a JOB statement. */
void sqlite_db_job(sqlite3_stmt *statement, struct queue_job *job);

/* sqlite_writer.c */

NODISCARD int sqlite_writer_start(struct sqlite_store *store, struct err *err);
void sqlite_writer_stop(struct sqlite_store *store);
/* Runs `apply` in the writer thread and returns when it is committed. */
NODISCARD int sqlite_submit(struct sqlite_store *store,
                            int (*apply)(struct sqlite_operation *operation, struct err *err),
                            void *arguments, struct err *err);

/* sqlite_events.c */

NODISCARD int sqlite_events_start(struct sqlite_store *store, struct err *err);
void sqlite_events_stop(struct sqlite_store *store);

/* sqlite_put.c, sqlite_run.c */

/* The row of a job that an operation is about to change. */
struct sqlite_row {
    int64_t sequence, claims, change, bytes;
    int state, attempt;
    bool cancel_requested;
    char worker[QUEUE_NAME_BYTES];
};

/* Reads a row of a ROW statement. */
void sqlite_row_read(sqlite3_stmt *statement, struct sqlite_row *row);
/* Assigns the number of a change that watchers see. */
int64_t sqlite_change(struct sqlite_store *store);
/* 1 found, 0 not found; by id alone if sequence is 0. */
NODISCARD int sqlite_row_find(struct sqlite_store *store, const char *id, int64_t sequence,
                              struct sqlite_row *row, struct err *err);
NODISCARD int sqlite_end(struct sqlite_store *store, const struct sqlite_row *row,
                         const struct queue_result *result, struct err *err);
NODISCARD int sqlite_remove(struct sqlite_store *store, const struct sqlite_row *row,
                            struct err *err);
/* Ends a running job's attempt without a result: queues it again, or ends the job (*ended).
 * `why` is NULL for a lost lease; `counts` as in queue_fail. */
NODISCARD int sqlite_return(struct sqlite_store *store, const struct sqlite_row *row,
                            const char *why, bool counts, bool *ended, struct err *err);

queue_store_put sqlite_put;
queue_store_cancel sqlite_cancel;
queue_store_claim sqlite_claim;
queue_store_renew sqlite_renew;
queue_store_finish sqlite_finish;
queue_store_fail sqlite_fail;

/* sqlite_reap.c, sqlite_document.c, sqlite_read.c */

queue_store_reap sqlite_reap;
queue_store_register_worker sqlite_register;

queue_store_document_put sqlite_document_put;
queue_store_document_remove sqlite_document_remove;
/* Removes a bounded number of expired documents; inside a transaction. */
NODISCARD int sqlite_documents_reap(struct sqlite_store *store, struct queue_reaping *reaping,
                                    struct err *err);

queue_store_probe sqlite_probe;
queue_store_get sqlite_get;
queue_store_find sqlite_find;
queue_store_list sqlite_list;
queue_store_stats sqlite_queue_stats;
queue_store_registrations sqlite_registrations;
queue_store_document_get sqlite_document_get;
int sqlite_readers_open(struct sqlite_store *store, struct err *err);
void sqlite_readers_close(struct sqlite_store *store);
