#include "base/mem.h"
#include "queue/sqlite.h"

/* Bounds one reap, which delays other operations. */
#define LEASES_MAX 256
#define REMOVED_MAX 512

/* Changing a table while a statement reads it repeats or skips rows: read first. */
static int read_expired(struct sqlite_store *store, struct sqlite_row *rows, size_t *count,
                        struct err *err)
{
    sqlite3_stmt *statement = NULL;
    *count = 0;
    int result = sqlite_db_start(&store->writer, SQL_EXPIRED, &statement, err, "sii",
                                 sqlite_boot_id(store), sqlite_boot_ms(store), (int64_t)LEASES_MAX);
    while (*count < LEASES_MAX && sqlite_db_next(&store->writer, statement, &result, err)) {
        sqlite_row_read(statement, &rows[(*count)++]);
    }
    if (*count == LEASES_MAX)
        sqlite3_reset(statement);
    return result;
}

static int return_expired(struct sqlite_store *store, struct queue_reaping *reaping,
                          struct err *err)
{
    struct sqlite_row *rows = mem_alloc(LEASES_MAX * sizeof *rows);
    size_t count;
    int result = read_expired(store, rows, &count, err);
    for (size_t i = 0; i < count && result == 0; i++) {
        bool ended;
        result = sqlite_return(store, &rows[i], NULL, true, &ended, err);
        store->tally.lost++;
        if (ended)
            reaping->lost++;
        else
            reaping->returned++;
    }
    if (count == LEASES_MAX)
        reaping->more = true;
    mem_free(rows);
    return result;
}

/* 1: found the job to remove, the one that ended first. */
static int find_surplus(struct sqlite_store *store, struct sqlite_row *row, struct err *err)
{
    const struct queue_options *options = &store->queue.options;
    const struct sqlite_tally *tally = &store->tally;
    sqlite3_stmt *statement = NULL;
    int result = sqlite_db_first(&store->writer, SQL_OLDEST_ENDED, &statement, err, "");
    if (result < 1)
        return result;
    *row = (struct sqlite_row){.sequence = sqlite3_column_int64(statement, 0),
                               .change = sqlite3_column_int64(statement, 1),
                               .bytes = sqlite3_column_int64(statement, 2)};
    int64_t age_ms = sqlite_wall_ms(store) - sqlite3_column_int64(statement, 3);
    sqlite3_reset(statement);
    return (options->keep_ms && age_ms > options->keep_ms) ||
           (options->keep_jobs && tally->kept > (int64_t)options->keep_jobs) ||
           (options->keep_bytes && tally->kept_bytes > (int64_t)options->keep_bytes);
}

static int remove_surplus(struct sqlite_store *store, struct queue_reaping *reaping,
                          struct err *err)
{
    struct sqlite_row row = {0};
    int result = 0;
    while (reaping->removed < REMOVED_MAX && (result = find_surplus(store, &row, err)) == 1) {
        result = sqlite_remove(store, &row, err);
        if (result < 0)
            break;
        reaping->removed++;
    }
    if (reaping->removed == REMOVED_MAX)
        reaping->more = true;
    return result < 0 ? result : 0;
}

static int apply_reap(struct sqlite_store *store, void *arguments, struct err *err)
{
    struct queue_reaping *reaping = arguments;
    *reaping = (struct queue_reaping){0};
    int result = return_expired(store, reaping, err);
    if (result == 0)
        result = remove_surplus(store, reaping, err);
    if (result == 0)
        result = sqlite_db_run(&store->writer, SQL_REGISTRATIONS_EXPIRE, err, "si",
                               sqlite_boot_id(store), sqlite_boot_ms(store));
    return result == 0 ? sqlite_documents_reap(store, reaping, err) : result;
}

int sqlite_reap(struct queue *queue, struct queue_reaping *reaping, struct err *err)
{
    return sqlite_submit((struct sqlite_store *)queue, apply_reap, reaping, err);
}

struct registration {
    const char *name;
    const void *bytes;
    size_t count;
    int64_t keep_ms;
};

static int apply_register(struct sqlite_store *store, void *arguments, struct err *err)
{
    const struct registration *registration = arguments;
    if (registration->count == 0)
        return sqlite_db_run(&store->writer, SQL_REGISTRATION_REMOVE, err, "s", registration->name);
    return sqlite_db_run(&store->writer, SQL_REGISTRATION_SET, err, "sbsi", registration->name,
                         registration->bytes, registration->count, sqlite_boot_id(store),
                         sqlite_boot_ms(store) + registration->keep_ms);
}

int sqlite_register(struct queue *queue, const char *name, const void *bytes, size_t count,
                    int64_t keep_ms, struct err *err)
{
    struct registration registration = {name, bytes, count, keep_ms};
    return sqlite_submit((struct sqlite_store *)queue, apply_register, &registration, err);
}
