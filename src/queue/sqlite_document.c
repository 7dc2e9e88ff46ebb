#include "queue/sqlite.h"

#include <string.h>

#define REAPED_MAX 256 /* one reap's work: other operations wait for it */

/* ------------------------------------------------------------------------------------------ put */

struct document_put {
    const char *name;
    const void *bytes;
    size_t count;
    int64_t version, keep_ms;
    bool *written;
};

/* What stands under the name now. */
struct standing {
    bool row;        /* there is one, whose time may be up */
    int64_t version; /* 0: there is no document */
    bool same;       /* it has the bytes that are to be written, and may be this very write */
};

static bool is_same(sqlite3_stmt *statement, const struct document_put *put, int64_t version)
{
    if (put->version != 0 && version != put->version + 1)
        return false;
    size_t count = (size_t)sqlite3_column_bytes(statement, 2);
    return count == put->count &&
           (count == 0 || memcmp(sqlite3_column_blob(statement, 2), put->bytes, count) == 0);
}

static int look(struct sqlite_store *store, const struct document_put *put,
                struct standing *standing, struct err *err)
{
    const struct queue_clock *clock = store->clock;
    sqlite3_stmt *statement = NULL;
    *standing = (struct standing){0};
    int result = sqlite_db_start(&store->writer, SQL_DOCUMENT_LOOK, &statement, err, "ssi",
                                 put->name, clock->boot_id(clock->context),
                                 clock->boot_ms(clock->context));
    if (result == 0)
        result = sqlite_db_step(&store->writer, statement, err);
    if (result < 1)
        return result;
    standing->row = true;
    if (sqlite3_column_int(statement, 1)) {
        standing->version = sqlite3_column_int64(statement, 0);
        standing->same = standing->version != put->version &&
                         is_same(statement, put, standing->version);
    }
    sqlite3_reset(statement);
    return 0;
}

static int apply_put(struct sqlite_operation *operation, struct err *err)
{
    const struct document_put *put = operation->arguments;
    struct sqlite_store *store = operation->store;
    struct sqlite_tally *tally = &store->tally;
    const struct queue_clock *clock = store->clock;
    struct standing standing;
    int result = look(store, put, &standing, err);
    if (result < 0)
        return result;
    *put->written = standing.version == put->version || standing.same;
    if (standing.version != put->version)
        return 0;
    int64_t version = put->version == 0 ? tally->version + 1 : put->version + 1;
    if (version > tally->version)
        tally->version = version;
    tally->documents += !standing.row;
    return sqlite_db_run(&store->writer, SQL_DOCUMENT_SET, err, "siisiib", put->name, version,
                         put->keep_ms, clock->boot_id(clock->context),
                         clock->boot_ms(clock->context) + put->keep_ms,
                         clock->wall_ms(clock->context) + put->keep_ms, put->bytes, put->count);
}

int sqlite_document_put(struct queue *queue, const char *name, const void *bytes, size_t count,
                        int64_t version, int64_t keep_ms, bool *written, struct err *err)
{
    struct document_put put = {name, bytes, count, version, keep_ms, written};
    return sqlite_submit((struct sqlite_store *)queue, apply_put, &put, err);
}

/* -------------------------------------------------------------------------------------- the end */

struct document_remove {
    const char *name;
    bool *removed;
};

static int apply_remove(struct sqlite_operation *operation, struct err *err)
{
    const struct document_remove *remove = operation->arguments;
    struct sqlite_store *store = operation->store;
    const struct document_put named = {.name = remove->name};
    struct standing standing;
    int result = look(store, &named, &standing, err);
    if (result < 0)
        return result;
    *remove->removed = standing.version != 0;
    if (!standing.row)
        return 0;
    store->tally.documents--;
    return sqlite_db_run(&store->writer, SQL_DOCUMENT_REMOVE, err, "s", remove->name);
}

int sqlite_document_remove(struct queue *queue, const char *name, bool *removed, struct err *err)
{
    struct document_remove remove_it = {name, removed};
    return sqlite_submit((struct sqlite_store *)queue, apply_remove, &remove_it, err);
}

/* How long the machine was off is not known: those of an earlier boot begin their time anew. */
int sqlite_documents_reap(struct sqlite_store *store, struct queue_reaping *reaping,
                          struct err *err)
{
    struct sqlite_db *db = &store->writer;
    const struct queue_clock *clock = store->clock;
    const char *boot = clock->boot_id(clock->context);
    int64_t boot_ms = clock->boot_ms(clock->context);
    int result = sqlite_db_run(db, SQL_DOCUMENTS_BOOT, err, "siii", boot, boot_ms,
                               clock->wall_ms(clock->context), (int64_t)REAPED_MAX);
    if (result < 0)
        return result;
    reaping->more |= sqlite3_changes(db->handle) == REAPED_MAX;
    result = sqlite_db_run(db, SQL_DOCUMENTS_EXPIRE, err, "sii", boot, boot_ms,
                           (int64_t)REAPED_MAX);
    if (result < 0)
        return result;
    reaping->expired = (uint64_t)sqlite3_changes(db->handle);
    reaping->more |= reaping->expired == REAPED_MAX;
    store->tally.documents -= (int64_t)reaping->expired;
    return 0;
}
