#include "base/array.h"
#include "queue/sqlite.h"

#include <stdio.h>
#include <string.h>

int sqlite_row_find(struct sqlite_store *store, const char *id, int64_t sequence,
                    struct sqlite_row *row, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    struct sqlite_db *db = &store->writer;
    int result = sequence
                     ? sqlite_db_first(db, SQL_LEASE_STATE, &statement, err, "is", sequence, id)
                     : sqlite_db_first(db, SQL_FIND_ID, &statement, err, "s", id);
    if (result == 1) {
        sqlite_row_read(statement, row);
        sqlite3_reset(statement);
    }
    return result;
}

void sqlite_row_read(sqlite3_stmt *statement, struct sqlite_row *row)
{
    row->sequence = sqlite3_column_int64(statement, 0);
    row->claims = sqlite3_column_int64(statement, 1);
    row->change = sqlite3_column_int64(statement, 2);
    row->bytes = sqlite3_column_int64(statement, 3);
    row->state = sqlite3_column_int(statement, 4);
    row->attempt = sqlite3_column_int(statement, 5);
    row->cancel_requested = sqlite3_column_int(statement, 6) != 0;
    sqlite_db_text(statement, 7, row->worker, sizeof row->worker);
}

int64_t sqlite_change(struct sqlite_store *store)
{
    store->tally.notify = true;
    return ++store->tally.change;
}

/* The table's last entry counts all outcomes that do not fit into it. */
static void count_ended(struct sqlite_tally *tally, const char *outcome)
{
    size_t i = 0;
    while (i < tally->ended_count && strcmp(tally->ended[i].outcome, outcome) != 0)
        i++;
    if (i == QUEUE_OUTCOMES_MAX)
        i--;
    else if (i == tally->ended_count) {
        tally->ended_count++;
        snprintf(tally->ended[i].outcome, QUEUE_WORD_BYTES, "%s",
                 i == QUEUE_OUTCOMES_MAX - 1 ? "other" : outcome);
    }
    tally->ended[i].count++;
}

int sqlite_end(struct sqlite_store *store, const struct sqlite_row *row,
               const struct queue_result *result, struct err *err)
{
    struct sqlite_db *db = &store->writer;
    int64_t now_ms = sqlite_wall_ms(store);
    bool cancelled = strcmp(result->outcome, QUEUE_CANCELLED_OUTCOME) == 0;
    int64_t state = cancelled ? QUEUE_CANCELLED : QUEUE_DONE;
    int code = sqlite_db_run(db, SQL_END, err, "iissiiii", row->sequence, state, result->outcome,
                             result->reason ? result->reason : "", (int64_t)result->answers_key,
                             (int64_t)result->count, now_ms, sqlite_change(store));
    if (code == 0 && result->bytes)
        code = sqlite_db_run(db, SQL_INSERT_RESULT, err, "ib", row->sequence, result->bytes,
                             result->count);
    store->tally.kept++;
    store->tally.kept_bytes += row->bytes + (int64_t)result->count;
    count_ended(&store->tally, result->outcome);
    return code;
}

int sqlite_remove(struct sqlite_store *store, const struct sqlite_row *row, struct err *err)
{
    struct sqlite_db *db = &store->writer;
    static const enum sqlite_statement statements[] = {SQL_REMOVE, SQL_REMOVE_PAYLOAD,
                                                       SQL_REMOVE_RESULT};
    int result = 0;
    for (size_t i = 0; i < COUNT(statements) && result == 0; i++)
        result = sqlite_db_run(db, statements[i], err, "i", row->sequence);
    store->tally.kept--;
    store->tally.kept_bytes -= row->bytes;
    if (row->change > store->tally.removed_change)
        store->tally.removed_change = row->change;
    return result;
}

struct put {
    struct queue_submission *submissions;
    size_t count;
};

/* 1: inserted, 0: the id exists. */
static int insert_job(struct sqlite_store *store, struct queue_submission *one, struct err *err)
{
    struct sqlite_db *db = &store->writer;
    int64_t sequence = store->tally.sequence + 1;
    int64_t now_ms = sqlite_wall_ms(store);
    int result = sqlite_db_run(db, SQL_INSERT, err, "issssiii", sequence, one->put_id,
                               one->batch ? one->batch : "", one->key ? one->key : "", one->needs,
                               (int64_t)one->priority, now_ms, (int64_t)one->payload_bytes);
    if (result < 0 || sqlite3_changes(db->handle) == 0)
        return result;
    store->tally.sequence = sequence;
    result = sqlite_db_run(db, SQL_INSERT_PAYLOAD, err, "ib", sequence, one->payload,
                           one->payload_bytes);
    if (result == 0 && one->result) {
        struct sqlite_row row = {.sequence = sequence, .bytes = (int64_t)one->payload_bytes};
        result = sqlite_end(store, &row, one->result, err);
    } else {
        store->tally.claimable = true;
    }
    return result < 0 ? result : 1;
}

static int put_one(struct sqlite_store *store, struct queue_submission *one, struct err *err)
{
    struct sqlite_row row = {0};
    one->put_result = QUEUE_PUT_NEW;
    int result = insert_job(store, one, err);
    if (result != 0)
        return result < 0 ? result : 0;
    result = sqlite_row_find(store, one->put_id, 0, &row, err);
    if (result < 0)
        return result;
    if (result == 0)
        return err_set(err, ERR_INTERNAL, "queue: job '%s' both exists and is missing",
                       one->put_id);
    if (row.state == QUEUE_QUEUED || row.state == QUEUE_RUNNING) {
        one->put_result = QUEUE_PUT_JOINED;
        return 0;
    }
    one->put_result = one->force ? QUEUE_PUT_REPLACED : QUEUE_PUT_ANSWERED;
    if (!one->force)
        return 0;
    result = sqlite_remove(store, &row, err);
    if (result == 0)
        result = insert_job(store, one, err);
    return result < 0 ? result : 0;
}

static int apply_put(struct sqlite_store *store, void *arguments, struct err *err)
{
    const struct put *put = arguments;
    int result = 0;
    for (size_t i = 0; i < put->count && result == 0; i++)
        result = put_one(store, &put->submissions[i], err);
    return result;
}

int sqlite_put(struct queue *queue, struct queue_submission *submissions, size_t count,
               struct err *err)
{
    struct put put = {submissions, count};
    return sqlite_submit((struct sqlite_store *)queue, apply_put, &put, err);
}

struct cancel {
    const char *id;
    enum queue_state *state;
};

static int apply_cancel(struct sqlite_store *store, void *arguments, struct err *err)
{
    const struct cancel *cancel = arguments;
    struct sqlite_row row = {0};
    int result = sqlite_row_find(store, cancel->id, 0, &row, err);
    if (result < 0)
        return result;
    /* Not an error inside the transaction, which would fail the other operations in it. */
    *cancel->state = result == 0 ? QUEUE_STATES : (enum queue_state)row.state;
    if (result == 0 || row.state == QUEUE_DONE || row.state == QUEUE_CANCELLED)
        return 0;
    if (row.state == QUEUE_RUNNING)
        return row.cancel_requested ? 0
                                    : sqlite_db_run(&store->writer, SQL_ASK_CANCEL, err, "ii",
                                                    row.sequence, sqlite_change(store));
    *cancel->state = QUEUE_CANCELLED;
    const struct queue_result ended = {.outcome = QUEUE_CANCELLED_OUTCOME,
                                       .reason = "cancelled before a worker claimed it"};
    return sqlite_end(store, &row, &ended, err);
}

int sqlite_cancel(struct queue *queue, const char *id, enum queue_state *state, struct err *err)
{
    struct cancel cancel = {id, state};
    int result = sqlite_submit((struct sqlite_store *)queue, apply_cancel, &cancel, err);
    if (result == 0 && *state == QUEUE_STATES)
        return err_set(err, ERR_MISSING, "queue: no job '%s'", id);
    return result;
}
