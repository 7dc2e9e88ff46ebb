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

/* ?1: which bodies (enum queue_bodies). */
#define SQL_SELECT_JOB                                                                             \
    "select sequence, id, batch, key, needs, priority, state, claims, attempt, cancel, worker,"    \
    " put_ms, claimed_ms, ended_ms, outcome, reason, payload_bytes, result_bytes,"                 \
    " case when ?1 & 1 then (select bytes from payloads p where p.sequence = jobs.sequence) end,"  \
    " case when ?1 & 2 then (select bytes from results r where r.sequence = jobs.sequence) end"    \
    " from jobs "

#define SQL_SELECT_ROW                                                                             \
    "select sequence, claims, change, payload_bytes + result_bytes, state, attempt, cancel,"       \
    " worker from jobs "

/* X(symbol, text). Each connection prepares those that it uses. */
#define SQLITE_STATEMENTS(X)                                                                       \
    X(SQL_BEGIN, "begin immediate")                                                                \
    X(SQL_COMMIT, "commit")                                                                        \
    X(SQL_ROLLBACK, "rollback")                                                                    \
    X(SQL_COUNTERS, "select name, value from counters where name not like 'ended:%'")              \
    X(SQL_COUNTER_SET,                                                                             \
      "insert into counters values (?1, ?2) on conflict (name) do update set value = case"         \
      " when ?3 then value + ?2 else ?2 end")                                                      \
    X(SQL_INSERT,                                                                                  \
      "insert into jobs (sequence, id, batch, key, needs, priority, put_ms, payload_bytes,"        \
      " state) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0) on conflict (id) do nothing")            \
    X(SQL_INSERT_PAYLOAD, "insert into payloads values (?1, ?2)")                                  \
    X(SQL_FIND_ID, SQL_SELECT_ROW "where id = ?1")                                                 \
    X(SQL_REMOVE, "delete from jobs where sequence = ?1")                                          \
    X(SQL_REMOVE_PAYLOAD, "delete from payloads where sequence = ?1")                              \
    X(SQL_REMOVE_RESULT, "delete from results where sequence = ?1")                                \
    X(SQL_FRONT,                                                                                   \
      "select sequence, priority from jobs where state = 0 and needs = ?1 order by priority,"      \
      " sequence limit 1")                                                                         \
    X(SQL_CLAIM,                                                                                   \
      "update jobs set state = 1, claims = claims + 1, attempt = attempt + 1, worker = ?2,"        \
      " lease_boot = ?3, lease_until_ms = ?4, claimed_ms = ?5, change = ?6 where sequence ="       \
      " ?1")                                                                                       \
    X(SQL_LEASE_STATE, SQL_SELECT_ROW "where sequence = ?1 and id = ?2")                           \
    X(SQL_RENEW, "update jobs set lease_boot = ?2, lease_until_ms = ?3 where sequence = ?1")       \
    X(SQL_END,                                                                                     \
      "update jobs set state = ?2, outcome = ?3, reason = ?4, answers = ?5, result_bytes ="        \
      " ?6, ended_ms = ?7, change = ?8, lease_boot = null, lease_until_ms = null where"            \
      " sequence = ?1")                                                                            \
    X(SQL_INSERT_RESULT, "insert into results values (?1, ?2)")                                    \
    X(SQL_RESULT,                                                                                  \
      "select outcome, bytes from jobs left join results using (sequence) where sequence = ?1")    \
    X(SQL_RETURN,                                                                                  \
      "update jobs set state = 0, attempt = ?2, reason = ?3, change = ?4, lease_boot = null,"      \
      " lease_until_ms = null where sequence = ?1")                                                \
    X(SQL_ASK_CANCEL, "update jobs set cancel = 1, change = ?2 where sequence = ?1")               \
    X(SQL_EXPIRED,                                                                                 \
      SQL_SELECT_ROW "where state = 1 and (lease_boot <> ?1 or lease_until_ms <= ?2) limit ?3")    \
    X(SQL_OLDEST_ENDED,                                                                            \
      "select sequence, change, payload_bytes + result_bytes, ended_ms from jobs where change"     \
      " > 0 and state >= 2 order by change limit 1")                                               \
    X(SQL_REGISTRATION_SET, "insert or replace into registrations values (?1, ?2, ?3, ?4)")        \
    X(SQL_REGISTRATION_REMOVE, "delete from registrations where name = ?1")                        \
    X(SQL_REGISTRATIONS_EXPIRE, "delete from registrations where boot <> ?1 or until_ms <= ?2")    \
    X(SQL_REGISTRATIONS,                                                                           \
      "select name, bytes from registrations where boot = ?1 and until_ms > ?2 order by name"      \
      " limit ?3")                                                                                 \
    X(SQL_DOCUMENT_STATE,                                                                          \
      "select version, boot <> ?2 or until_ms > ?3, bytes from documents where name = ?1")         \
    X(SQL_DOCUMENT_SET,                                                                            \
      "insert into documents values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict (name) do update"     \
      " set version = ?2, keep_ms = ?3, boot = ?4, until_ms = ?5, expires_ms = ?6, bytes = ?7")    \
    X(SQL_DOCUMENT_REMOVE, "delete from documents where name = ?1")                                \
    X(SQL_DOCUMENT_GET,                                                                            \
      "select version, expires_ms, bytes from documents where name = ?1 and (boot <> ?2 or"        \
      " until_ms > ?3)")                                                                           \
    X(SQL_DOCUMENTS_BOOT,                                                                          \
      "update documents set boot = ?1, until_ms = ?2 + keep_ms, expires_ms = ?3 + keep_ms"         \
      " where rowid in (select rowid from documents where boot < ?1 or boot > ?1 limit ?4)")       \
    X(SQL_DOCUMENTS_EXPIRE,                                                                        \
      "delete from documents where rowid in (select rowid from documents where boot = ?1 and"      \
      " until_ms <= ?2 limit ?3)")                                                                 \
    X(SQL_GET, SQL_SELECT_JOB "where id = ?2")                                                     \
    X(SQL_GET_SEQUENCE, SQL_SELECT_JOB "where sequence = ?2")                                      \
    X(SQL_FIND, SQL_SELECT_JOB "where key = ?2 and answers = 1 order by change desc limit 1")      \
    X(SQL_LIST, SQL_SELECT_JOB                                                                     \
      "where (?2 < 0 or state = ?2) and sequence < ?3 order by sequence desc limit ?4")            \
    X(SQL_LIST_BATCH, SQL_SELECT_JOB                                                               \
      "where (?2 < 0 or state = ?2) and sequence < ?3 and batch = ?5 and batch <> '' order by"     \
      " sequence desc limit ?4")                                                                   \
    X(SQL_DEPTH,                                                                                   \
      "select priority, count(*), min(put_ms) from jobs where state = 0 group by priority")        \
    X(SQL_RUNNING, "select count(*) from jobs where state = 1")                                    \
    X(SQL_ENDED, "select name, value from counters where name like 'ended:%' order by name")       \
    X(SQL_EVENTS,                                                                                  \
      "select change, id, batch, state, outcome, cancel from jobs where change > ?1 and"           \
      " change > 0 order by change limit ?2")                                                      \
    X(SQL_POSITION,                                                                                \
      "select coalesce(max(case name when 'change' then value end), 0), coalesce(max(case"         \
      " name when 'removed_change' then value end), 0) from counters where name in ('change',"     \
      " 'removed_change')")

enum sqlite_statement {
#define X(symbol, ...) symbol,
    SQLITE_STATEMENTS(X)
#undef X
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

struct sqlite_store;
typedef int sqlite_apply(struct sqlite_store *store, void *arguments, struct err *err);

struct sqlite_operation {
    /* Runs inside a transaction; may run twice, if the first transaction is rolled back. */
    sqlite_apply *apply;
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
/* Reads a row of an SQL_SELECT_JOB statement. */
void sqlite_db_job(sqlite3_stmt *statement, struct queue_job *job);

/* sqlite_writer.c */

NODISCARD int sqlite_writer_start(struct sqlite_store *store, struct err *err);
void sqlite_writer_stop(struct sqlite_store *store);
/* Runs `apply` in the writer thread and returns when it is committed. */
NODISCARD int sqlite_submit(struct sqlite_store *store, sqlite_apply *apply, void *arguments,
                            struct err *err);

/* sqlite_events.c */

NODISCARD int sqlite_events_start(struct sqlite_store *store, struct err *err);
void sqlite_events_stop(struct sqlite_store *store);

/* sqlite_put.c, sqlite_attempt.c */

/* The row of a job that an operation is about to change. */
struct sqlite_row {
    int64_t sequence, claims, change, bytes;
    int state, attempt;
    bool cancel_requested;
    char worker[QUEUE_NAME_BYTES];
};

/* Reads a row of an SQL_SELECT_ROW statement. */
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
