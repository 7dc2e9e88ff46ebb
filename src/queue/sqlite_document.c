#include "queue/sqlite.h"

#include <string.h>

#define REAPED_MAX 256 /* bounds one reap, which delays other operations */

struct document_put {
    const char *name;
    const void *bytes;
    size_t count;
    int64_t version, keep_ms;
    bool *written;
};

/* The document's row as stored. */
struct stored_document {
    bool row;        /* the row exists; it may have expired */
    int64_t version; /* 0: no document */
    bool same;       /* its bytes equal those to be written: it may be this very write */
};

static bool is_same(sqlite3_stmt *statement, const struct document_put *put, int64_t version)
{
    if (put->version != 0 && version != put->version + 1)
        return false;
    size_t count = (size_t)sqlite3_column_bytes(statement, 2);
    return count == put->count &&
           (count == 0 || memcmp(sqlite3_column_blob(statement, 2), put->bytes, count) == 0);
}

static int read_stored(struct sqlite_store *store, const struct document_put *put,
                       struct stored_document *stored_document, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    *stored_document = (struct stored_document){0};
    int result = sqlite_db_first(&store->writer, SQL_DOCUMENT_STATE, &statement, err, "ssi",
                                 put->name, sqlite_boot_id(store), sqlite_boot_ms(store));
    if (result < 1)
        return result;
    stored_document->row = true;
    if (sqlite3_column_int(statement, 1)) {
        stored_document->version = sqlite3_column_int64(statement, 0);
        stored_document->same = stored_document->version != put->version &&
                                is_same(statement, put, stored_document->version);
    }
    sqlite3_reset(statement);
    return 0;
}

static int apply_document_put(struct sqlite_store *store, void *arguments, struct err *err)
{
    const struct document_put *put = arguments;
    struct sqlite_tally *tally = &store->tally;
    struct stored_document stored_document;
    int result = read_stored(store, put, &stored_document, err);
    if (result < 0)
        return result;
    *put->written = stored_document.version == put->version || stored_document.same;
    if (stored_document.version != put->version)
        return 0;
    int64_t version = put->version == 0 ? tally->version + 1 : put->version + 1;
    if (version > tally->version)
        tally->version = version;
    tally->documents += !stored_document.row;
    return sqlite_db_run(&store->writer, SQL_DOCUMENT_SET, err, "siisiib", put->name, version,
                         put->keep_ms, sqlite_boot_id(store), sqlite_boot_ms(store) + put->keep_ms,
                         sqlite_wall_ms(store) + put->keep_ms, put->bytes, put->count);
}

int sqlite_document_put(struct queue *queue, const char *name, const void *bytes, size_t count,
                        int64_t version, int64_t keep_ms, bool *written, struct err *err)
{
    struct document_put put = {name, bytes, count, version, keep_ms, written};
    return sqlite_submit((struct sqlite_store *)queue, apply_document_put, &put, err);
}

struct document_remove {
    const char *name;
    bool *removed;
};

static int apply_document_remove(struct sqlite_store *store, void *arguments, struct err *err)
{
    const struct document_remove *remove = arguments;
    const struct document_put named = {.name = remove->name};
    struct stored_document stored_document;
    int result = read_stored(store, &named, &stored_document, err);
    if (result < 0)
        return result;
    *remove->removed = stored_document.version != 0;
    if (!stored_document.row)
        return 0;
    store->tally.documents--;
    return sqlite_db_run(&store->writer, SQL_DOCUMENT_REMOVE, err, "s", remove->name);
}

int sqlite_document_remove(struct queue *queue, const char *name, bool *removed, struct err *err)
{
    struct document_remove remove_it = {name, removed};
    return sqlite_submit((struct sqlite_store *)queue, apply_document_remove, &remove_it, err);
}

/* The time that the machine was off is unknown, so documents of an earlier boot get their whole
 * lifetime again. */
int sqlite_documents_reap(struct sqlite_store *store, struct queue_reaping *reaping,
                          struct err *err)
{
    struct sqlite_db *db = &store->writer;
    const char *boot = sqlite_boot_id(store);
    int64_t boot_ms = sqlite_boot_ms(store);
    int result = sqlite_db_run(db, SQL_DOCUMENTS_BOOT, err, "siii", boot, boot_ms,
                               sqlite_wall_ms(store), (int64_t)REAPED_MAX);
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
