#include "queue/sqlite.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int sqlite_readers_open(struct sqlite_store *store, struct err *err)
{
    pthread_mutex_init(&store->reader_lock, NULL);
    pthread_cond_init(&store->reader_free, NULL);
    int result = 0;
    for (size_t i = 0; i < SQLITE_READERS && result == 0; i++) {
        struct sqlite_reader *reader = &store->readers[i];
        result = sqlite_db_open(&reader->db, store->path, store->queue.options.call_ms, false, err);
        reader->next = store->idle;
        store->idle = reader;
    }
    return result;
}

void sqlite_readers_close(struct sqlite_store *store)
{
    for (size_t i = 0; i < SQLITE_READERS; i++)
        sqlite_db_close(&store->readers[i].db);
}

static struct sqlite_reader *reader_take(struct sqlite_store *store)
{
    pthread_mutex_lock(&store->reader_lock);
    while (!store->idle)
        pthread_cond_wait(&store->reader_free, &store->reader_lock);
    struct sqlite_reader *reader = store->idle;
    store->idle = reader->next;
    pthread_mutex_unlock(&store->reader_lock);
    return reader;
}

static void reader_give(struct sqlite_store *store, struct sqlite_reader *reader)
{
    pthread_mutex_lock(&store->reader_lock);
    reader->next = store->idle;
    store->idle = reader;
    pthread_cond_signal(&store->reader_free);
    pthread_mutex_unlock(&store->reader_lock);
}

/* A store's error must not look like ERR_MISSING. */
static int read_one(struct queue *queue, enum sqlite_statement which, const char *what,
                    const char *name, unsigned bodies, struct queue_job *job, struct err *err)
{
    struct sqlite_store *store = (struct sqlite_store *)queue;
    struct sqlite_reader *reader = reader_take(store);
    sqlite3_stmt *statement = NULL;
    int result = sqlite_db_first(&reader->db, which, &statement, err, "is", (int64_t)bodies, name);
    if (result == 1) {
        sqlite_db_job(statement, job);
        sqlite3_reset(statement);
        result = 0;
    } else if (result == 0) {
        result = err_set(err, ERR_MISSING, "queue: no %s '%s'", what, name);
    }
    reader_give(store, reader);
    return result;
}

int sqlite_get(struct queue *queue, const char *id, unsigned bodies, struct queue_job *job,
               struct err *err)
{
    return read_one(queue, SQL_GET, "job", id, bodies, job, err);
}

int sqlite_find(struct queue *queue, const char *key, unsigned bodies, struct queue_job *job,
                struct err *err)
{
    return read_one(queue, SQL_FIND, "result for", key, bodies, job, err);
}

int sqlite_list(struct queue *queue, const struct queue_filter *filter, struct queue_job *jobs,
                size_t limit, size_t *count, struct err *err)
{
    struct sqlite_store *store = (struct sqlite_store *)queue;
    struct sqlite_reader *reader = reader_take(store);
    sqlite3_stmt *statement = NULL;
    int result = sqlite_db_start(&reader->db, filter->batch ? SQL_LIST_BATCH : SQL_LIST, &statement,
                                 err, filter->batch ? "iiiis" : "iiii", (int64_t)filter->bodies,
                                 (int64_t)filter->state,
                                 filter->before > 0 ? filter->before : INT64_MAX, (int64_t)limit,
                                 filter->batch);
    while (*count < limit && sqlite_db_next(&reader->db, statement, &result, err)) {
        sqlite_db_job(statement, &jobs[(*count)++]);
    }
    if (*count == limit)
        sqlite3_reset(statement);
    reader_give(store, reader);
    return result;
}

int sqlite_registrations(struct queue *queue, struct queue_registration *registrations,
                         size_t limit, size_t *count, struct err *err)
{
    struct sqlite_store *store = (struct sqlite_store *)queue;
    struct sqlite_reader *reader = reader_take(store);
    sqlite3_stmt *statement = NULL;
    int result = sqlite_db_start(&reader->db, SQL_REGISTRATIONS, &statement, err, "sii",
                                 sqlite_boot_id(store), sqlite_boot_ms(store), (int64_t)limit);
    while (*count < limit && sqlite_db_next(&reader->db, statement, &result, err)) {
        struct queue_registration *registration = &registrations[(*count)++];
        sqlite_db_text(statement, 0, registration->name, sizeof registration->name);
        registration->count = (size_t)sqlite3_column_bytes(statement, 1);
        registration->bytes = mem_copy(sqlite3_column_blob(statement, 1), registration->count);
    }
    if (*count == limit)
        sqlite3_reset(statement);
    reader_give(store, reader);
    return result;
}

int sqlite_document_get(struct queue *queue, const char *name, struct queue_document *document,
                        struct err *err)
{
    struct sqlite_store *store = (struct sqlite_store *)queue;
    struct sqlite_reader *reader = reader_take(store);
    sqlite3_stmt *statement = NULL;
    int result = sqlite_db_first(&reader->db, SQL_DOCUMENT_GET, &statement, err, "ssi", name,
                                 sqlite_boot_id(store), sqlite_boot_ms(store));
    if (result == 1) {
        document->version = sqlite3_column_int64(statement, 0);
        document->expires_ms = sqlite3_column_int64(statement, 1);
        document->count = (size_t)sqlite3_column_bytes(statement, 2);
        document->bytes = mem_copy(sqlite3_column_blob(statement, 2), document->count);
        sqlite3_reset(statement);
        result = 0;
    } else if (result == 0) {
        result = err_set(err, ERR_MISSING, "queue: no document '%s'", name);
    }
    reader_give(store, reader);
    return result;
}

static int read_depth(struct sqlite_store *store, struct sqlite_db *db, struct queue_stats *stats,
                      struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int64_t now_ms = sqlite_wall_ms(store);
    int result = sqlite_db_start(db, SQL_DEPTH, &statement, err, "");
    while (sqlite_db_next(db, statement, &result, err)) {
        size_t priority = (size_t)sqlite3_column_int64(statement, 0) % QUEUE_PRIORITIES;
        int64_t oldest_ms = now_ms - sqlite3_column_int64(statement, 2);
        stats->priorities[priority].depth = (uint64_t)sqlite3_column_int64(statement, 1);
        stats->priorities[priority].oldest_ms = oldest_ms > 0 ? oldest_ms : 0;
    }
    return result;
}

static int read_ended(struct sqlite_db *db, struct queue_stats *stats, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite_db_start(db, SQL_ENDED, &statement, err, "");
    while (sqlite_db_next(db, statement, &result, err)) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        if (name && stats->ended_count < QUEUE_OUTCOMES_MAX) {
            size_t i = stats->ended_count++;
            snprintf(stats->ended[i].outcome, QUEUE_WORD_BYTES, "%s", strchr(name, ':') + 1);
            stats->ended[i].count = (uint64_t)sqlite3_column_int64(statement, 1);
        }
    }
    return result;
}

static int read_counters(struct sqlite_db *db, struct queue_stats *stats, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite_db_start(db, SQL_COUNTERS, &statement, err, "");
    while (sqlite_db_next(db, statement, &result, err)) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        uint64_t value = (uint64_t)sqlite3_column_int64(statement, 1);
        if (name && strcmp(name, "kept") == 0)
            stats->kept = value;
        else if (name && strcmp(name, "lost") == 0)
            stats->lost_leases = value;
        else if (name && strcmp(name, "documents") == 0)
            stats->documents = value;
    }
    if (result < 0)
        return result;
    result = sqlite_db_first(db, SQL_RUNNING, &statement, err, "");
    if (result < 1)
        return result;
    stats->running = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return 0;
}

int sqlite_queue_stats(struct queue *queue, struct queue_stats *stats, struct err *err)
{
    struct sqlite_store *store = (struct sqlite_store *)queue;
    struct sqlite_reader *reader = reader_take(store);
    int result = read_depth(store, &reader->db, stats, err);
    if (result == 0)
        result = read_ended(&reader->db, stats, err);
    if (result == 0)
        result = read_counters(&reader->db, stats, err);
    reader_give(store, reader);
    return result;
}

int sqlite_probe(struct queue *queue, struct err *err)
{
    struct sqlite_store *store = (struct sqlite_store *)queue;
    struct sqlite_reader *reader = reader_take(store);
    sqlite3_stmt *statement = NULL;
    int result = sqlite_db_first(&reader->db, SQL_POSITION, &statement, err, "");
    if (result == 1)
        sqlite3_reset(statement);
    reader_give(store, reader);
    return result < 0 ? result : 0;
}
