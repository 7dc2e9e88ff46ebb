#include "base/array.h"
#include "queue/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION 0x77677175 /* "wgqu" in the file's header */
#define BUSY_STEP_US 500
#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

/* What each version of the schema adds to the one before; a file's user_version is the number of
 * entries applied. Existing files depend on these texts: never change one, append.
 *
 * Payloads and results have their own tables, and a document's bytes are last in its row, so
 * that reading states reads little. Indexes are partial: queued jobs are in jobs_ready, running
 * ones in jobs_running. */
static const char *const schemas[] = {
    "create table jobs (sequence integer primary key, id text not null unique, batch text not null,"
    " key text not null, needs text not null, priority integer not null, state integer not null,"
    " claims integer not null default 0, attempt integer not null default 0,"
    " cancel integer not null default 0, worker text not null default '',"
    " lease_boot text, lease_until_ms integer, put_ms integer not null,"
    " claimed_ms integer not null default 0, ended_ms integer not null default 0,"
    " outcome text not null default '', reason text not null default '',"
    " answers integer not null default 0, payload_bytes integer not null,"
    " result_bytes integer not null default 0, change integer not null default 0);"
    "create index jobs_ready on jobs (needs, priority, sequence, put_ms) where state = 0;"
    "create index jobs_running on jobs (sequence) where state = 1;"
    "create index jobs_batch on jobs (batch, sequence) where batch <> '';"
    "create index jobs_key on jobs (key, change) where answers = 1;"
    "create index jobs_change on jobs (change) where change > 0;"
    "create table payloads (sequence integer primary key, bytes blob not null);"
    "create table results (sequence integer primary key, bytes blob not null);"
    "create table counters (name text primary key, value integer not null) without rowid;"
    "create table notes (name text primary key, bytes blob not null, boot text not null,"
    " until_ms integer not null) without rowid;"
    "pragma application_id = " NUMBER(APPLICATION) "; pragma user_version = 1",

    "create table documents (name text primary key, version integer not null,"
    " keep_ms integer not null, boot text not null, until_ms integer not null,"
    " expires_ms integer not null, bytes blob not null);"
    "create index documents_time on documents (boot, until_ms);"
    "pragma user_version = 2",
    "alter table notes rename to registrations; pragma user_version = 3",
};

#define SCHEMAS ((int)COUNT(schemas))

static const char *const texts[] = {
#define X(symbol, ...) [symbol] = __VA_ARGS__,
    SQLITE_STATEMENTS(X)
#undef X
};

int sqlite_db_error(struct sqlite_db *db, struct err *err)
{
    int extended = db->handle ? sqlite3_extended_errcode(db->handle) : SQLITE_NOMEM;
    int system = db->handle ? sqlite3_system_errno(db->handle) : 0;
    const char *path = db->path;
    int code = extended & 0xFF;
    if (code == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT))
        code = SQLITE_FULL;
    switch (code) {
    case SQLITE_FULL:
        return err_set(err, ERR_LIMIT, "queue: %s: the disk is full; nothing was written", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, ERR_TIMEOUT, "queue: %s: another process has held its lock for %d ms",
                       path, db->busy_ms);
    case SQLITE_NOTADB:
        return err_set(err, ERR_PROTOCOL, "queue: %s is not an SQLite database; name another file",
                       path);
    case SQLITE_CORRUPT:
        return err_set(err, ERR_PROTOCOL,
                       "queue: %s is damaged (%s); move it away, and a new one is made", path,
                       sqlite3_errmsg(db->handle));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return err_set(err, ERR_IO, "queue: cannot open %s for writing%s%s", path,
                       system ? ": " : "", system ? strerror(system) : "");
    default:
        return err_set(err, ERR_IO, "queue: %s: %s (SQLite error %d)", path,
                       db->handle ? sqlite3_errmsg(db->handle) : "out of memory", extended);
    }
}

/* SQLite's own handler sleeps up to 100 ms, which delays a claim noticeably. */
static int wait_busy(void *context, int calls)
{
    const struct sqlite_db *db = context;
    if ((int64_t)calls * BUSY_STEP_US / 1000 >= db->busy_ms)
        return 0;
    struct timespec step = {.tv_nsec = BUSY_STEP_US * 1000L};
    nanosleep(&step, NULL);
    return 1;
}

static int db_execute(struct sqlite_db *db, const char *text, struct err *err)
{
    return sqlite3_exec(db->handle, text, NULL, NULL, NULL) == SQLITE_OK ? 0
                                                                         : sqlite_db_error(db, err);
}

static int read_number(struct sqlite_db *db, const char *text, int64_t *number, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db->handle, text, -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    int code = result == SQLITE_ROW ? 0 : sqlite_db_error(db, err);
    *number = code == 0 ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code;
}

/* The version of its schema; 0: the file is empty. */
static int version_of(struct sqlite_db *db, struct err *err)
{
    int64_t application = 0, version = 0, tables = 0;
    int result = read_number(db, "pragma application_id", &application, err);
    if (result == 0)
        result = read_number(db, "pragma user_version", &version, err);
    if (result == 0)
        result = read_number(db, "select count(*) from sqlite_schema", &tables, err);
    if (result < 0)
        return result;
    if (application == 0 && version == 0 && tables == 0)
        return 0;
    if (application != APPLICATION || version < 1)
        return err_set(err, ERR_PROTOCOL,
                       "queue: %s is the database of another program; name another file", db->path);
    if (version > SCHEMAS)
        return err_set(err, ERR_UNSUPPORTED,
                       "queue: %s has schema %d of a newer warpgym (this one supports up to %d)",
                       db->path, (int)version, SCHEMAS);
    return (int)version;
}

/* In one transaction: another process may be making the tables meanwhile. */
static int look_at_version(struct sqlite_db *db, struct err *err)
{
    int result = db_execute(db, "begin", err);
    if (result == 0)
        result = version_of(db, err);
    sqlite3_exec(db->handle, "rollback", NULL, NULL, NULL);
    return result;
}

/* Switching to WAL needs the file exclusively and does not wait for it. */
static int use_log(struct sqlite_db *db, struct err *err)
{
    for (int i = 0;; i++) {
        if (sqlite3_exec(db->handle, "pragma journal_mode = wal", NULL, NULL, NULL) == SQLITE_OK)
            break;
        if ((sqlite3_errcode(db->handle) & 0xFF) != SQLITE_BUSY || !wait_busy(db, i))
            return sqlite_db_error(db, err);
    }
    return db_execute(db,
                      "pragma synchronous = full; pragma journal_size_limit = 67108864;"
                      "pragma cache_size = -8000",
                      err);
}

/* If several processes create or migrate the schema at once, one wins; the others find it
 * finished. */
static int make_schema(struct sqlite_db *db, struct err *err)
{
    int result = db_execute(db, "begin immediate", err);
    if (result < 0)
        return result;
    int version = version_of(db, err);
    result = version < 0 ? version : 0;
    for (int i = version; i < SCHEMAS && result == 0; i++)
        result = db_execute(db, schemas[i], err);
    if (result == 0)
        return db_execute(db, "commit", err);
    sqlite3_exec(db->handle, "rollback", NULL, NULL, NULL);
    return result;
}

int sqlite_db_open(struct sqlite_db *db, const char *path, int busy_ms, bool create,
                   struct err *err)
{
    *db = (struct sqlite_db){.path = path, .busy_ms = busy_ms};
    if (create) {
        /* Private to this user; SQLite gives its other files this file's mode. */
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            return err_sys(err, errno, "queue: %s", path);
        close(fd);
    }
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    int result = sqlite3_open_v2(path, &db->handle, flags, NULL) == SQLITE_OK
                     ? 0
                     : sqlite_db_error(db, err);
    if (result == 0) {
        sqlite3_extended_result_codes(db->handle, 1);
        sqlite3_busy_handler(db->handle, wait_busy, db);
        result = look_at_version(db, err);
    }
    if (result >= 0)
        result = use_log(db, err);
    if (result == 0 && create)
        result = make_schema(db, err);
    if (result < 0)
        sqlite_db_close(db);
    return result;
}

void sqlite_db_close(struct sqlite_db *db)
{
    for (size_t i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(db->statements[i]);
    sqlite3_close(db->handle);
    *db = (struct sqlite_db){0};
}

static int statement_bind(sqlite3_stmt *statement, const char *kinds, va_list args)
{
    int result = SQLITE_OK;
    for (int i = 1; *kinds && result == SQLITE_OK; kinds++, i++) {
        if (*kinds == 'i') {
            result = sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
        } else if (*kinds == 's') {
            result = sqlite3_bind_text(statement, i, va_arg(args, const char *), -1, SQLITE_STATIC);
        } else {
            const void *bytes = va_arg(args, const void *);
            size_t count = va_arg(args, size_t);
            /* A null pointer would bind SQL's null. */
            result = sqlite3_bind_blob64(statement, i, count ? bytes : "", count, SQLITE_STATIC);
        }
    }
    return result;
}

static int statement_start(struct sqlite_db *db, enum sqlite_statement which, sqlite3_stmt **out,
                           struct err *err, const char *kinds, va_list args)
{
    sqlite3_stmt **statement = &db->statements[which];
    if (!*statement && sqlite3_prepare_v3(db->handle, texts[which], -1, SQLITE_PREPARE_PERSISTENT,
                                          statement, NULL) != SQLITE_OK)
        return sqlite_db_error(db, err);
    *out = *statement;
    sqlite3_reset(*statement);
    return statement_bind(*statement, kinds, args) == SQLITE_OK ? 0 : sqlite_db_error(db, err);
}

int sqlite_db_start(struct sqlite_db *db, enum sqlite_statement which, sqlite3_stmt **out,
                    struct err *err, const char *kinds, ...)
{
    va_list args;
    va_start(args, kinds);
    int result = statement_start(db, which, out, err, kinds, args);
    va_end(args);
    return result;
}

static int statement_step(struct sqlite_db *db, sqlite3_stmt *statement, struct err *err)
{
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        return 1;
    int code = result == SQLITE_DONE ? 0 : sqlite_db_error(db, err);
    sqlite3_reset(statement);
    return code;
}

bool sqlite_db_next(struct sqlite_db *db, sqlite3_stmt *statement, int *result, struct err *err)
{
    int step = *result == 0 ? statement_step(db, statement, err) : 0;
    if (step < 0)
        *result = step;
    return step == 1;
}

int sqlite_db_first(struct sqlite_db *db, enum sqlite_statement which, sqlite3_stmt **out,
                    struct err *err, const char *kinds, ...)
{
    va_list args;
    va_start(args, kinds);
    int result = statement_start(db, which, out, err, kinds, args);
    va_end(args);
    return result < 0 ? result : statement_step(db, *out, err);
}

int sqlite_db_run(struct sqlite_db *db, enum sqlite_statement which, struct err *err,
                  const char *kinds, ...)
{
    sqlite3_stmt *statement = NULL;
    va_list args;
    va_start(args, kinds);
    int result = statement_start(db, which, &statement, err, kinds, args);
    va_end(args);
    return result < 0 ? result : statement_step(db, statement, err);
}

void sqlite_db_text(sqlite3_stmt *statement, int column, char *out, size_t size)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    queue_copy(out, size, text ? (const char *)text : "",
               (size_t)sqlite3_column_bytes(statement, column));
}

static char *column_bytes(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return NULL;
    const void *bytes = sqlite3_column_blob(statement, column);
    return mem_copy(bytes, (size_t)sqlite3_column_bytes(statement, column));
}

void sqlite_db_job(sqlite3_stmt *statement, struct queue_job *job)
{
    job->sequence = sqlite3_column_int64(statement, 0);
    sqlite_db_text(statement, 1, job->id, sizeof job->id);
    sqlite_db_text(statement, 2, job->batch, sizeof job->batch);
    sqlite_db_text(statement, 3, job->key, sizeof job->key);
    sqlite_db_text(statement, 4, job->needs, sizeof job->needs);
    job->priority = (enum queue_priority)sqlite3_column_int(statement, 5);
    job->state = (enum queue_state)sqlite3_column_int(statement, 6);
    job->claims = sqlite3_column_int64(statement, 7);
    job->attempt = sqlite3_column_int(statement, 8);
    job->cancel_requested = sqlite3_column_int(statement, 9) != 0;
    sqlite_db_text(statement, 10, job->worker, sizeof job->worker);
    job->put_ms = sqlite3_column_int64(statement, 11);
    job->claimed_ms = sqlite3_column_int64(statement, 12);
    job->ended_ms = sqlite3_column_int64(statement, 13);
    sqlite_db_text(statement, 14, job->outcome, sizeof job->outcome);
    sqlite_db_text(statement, 15, job->reason, sizeof job->reason);
    job->payload_bytes = (size_t)sqlite3_column_int64(statement, 16);
    job->result_bytes = (size_t)sqlite3_column_int64(statement, 17);
    job->payload = column_bytes(statement, 18);
    job->result = column_bytes(statement, 19);
}
