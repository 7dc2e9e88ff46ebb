#include "queue/sqlite.h"

#include <stdio.h>
#include <string.h>

struct claim {
    const struct queue_claim *wanted;
    struct queue_job *job;
    bool *got;
};

/* The sequence of the next job, 0: none. */
static int find_front(struct sqlite_store *store, const struct queue_claim *wanted,
                      int64_t *sequence, struct err *err)
{
    int64_t best = QUEUE_PRIORITIES;
    *sequence = 0;
    for (size_t i = 0; i < wanted->needs_count; i++) {
        sqlite3_stmt *statement = NULL;
        int result = sqlite_db_first(&store->writer, SQL_FRONT, &statement, err, "s",
                                     wanted->needs[i]);
        if (result < 0)
            return result;
        if (result == 0)
            continue;
        int64_t found = sqlite3_column_int64(statement, 0);
        int64_t priority = sqlite3_column_int64(statement, 1);
        sqlite3_reset(statement);
        if (priority < best || (priority == best && found < *sequence)) {
            best = priority;
            *sequence = found;
        }
    }
    return 0;
}

static int apply_claim(struct sqlite_store *store, void *arguments, struct err *err)
{
    const struct claim *claim = arguments;
    struct sqlite_db *db = &store->writer;
    sqlite3_stmt *statement = NULL;
    int64_t sequence;
    queue_job_deinit(claim->job);
    *claim->got = false;
    int result = find_front(store, claim->wanted, &sequence, err);
    if (result < 0 || sequence == 0)
        return result;
    result = sqlite_db_run(db, SQL_CLAIM, err, "issiii", sequence, claim->wanted->worker,
                           sqlite_boot_id(store), sqlite_boot_ms(store) + claim->wanted->lease_ms,
                           sqlite_wall_ms(store), sqlite_change(store));
    if (result == 0)
        result = sqlite_db_first(db, SQL_GET_SEQUENCE, &statement, err, "ii",
                                 (int64_t)QUEUE_PAYLOAD, sequence);
    if (result < 1)
        return result < 0 ? result
                          : err_set(err, ERR_INTERNAL, "queue: a claimed job has no record");
    sqlite_db_job(statement, claim->job);
    sqlite3_reset(statement);
    *claim->got = true;
    return 0;
}

int sqlite_claim(struct queue *queue, const struct queue_claim *claim, struct queue_job *job,
                 bool *got, struct err *err)
{
    struct claim operation = {claim, job, got};
    return sqlite_submit((struct sqlite_store *)queue, apply_claim, &operation, err);
}

struct renew {
    const struct queue_job *const *jobs;
    size_t count;
    int64_t lease_ms;
    enum queue_lease_state *lease_states;
};

static bool lease_is_held(const struct sqlite_row *row, const struct queue_job *job)
{
    return row->state == QUEUE_RUNNING && row->claims == job->claims;
}

static int apply_renew(struct sqlite_store *store, void *arguments, struct err *err)
{
    const struct renew *renew = arguments;
    int result = 0;
    for (size_t i = 0; i < renew->count && result == 0; i++) {
        const struct queue_job *job = renew->jobs[i];
        struct sqlite_row row = {0};
        result = sqlite_row_find(store, job->id, job->sequence, &row, err);
        renew->lease_states[i] = QUEUE_LOST;
        if (result == 1 && lease_is_held(&row, job)) {
            renew->lease_states[i] = row.cancel_requested ? QUEUE_CANCEL_REQUESTED : QUEUE_HELD;
            result = sqlite_db_run(&store->writer, SQL_RENEW, err, "isi", row.sequence,
                                   sqlite_boot_id(store), sqlite_boot_ms(store) + renew->lease_ms);
        } else if (result == 1) {
            result = 0;
        }
    }
    return result;
}

int sqlite_renew(struct queue *queue, const struct queue_job *const *jobs, size_t count,
                 int64_t lease_ms, enum queue_lease_state *lease_states, struct err *err)
{
    struct renew renew = {jobs, count, lease_ms, lease_states};
    return sqlite_submit((struct sqlite_store *)queue, apply_renew, &renew, err);
}

struct finish {
    const struct queue_job *job;
    const struct queue_result *result;
    enum queue_finish_result *finish_result;
};

static int result_compare(struct sqlite_store *store, int64_t sequence,
                          const struct queue_result *result,
                          enum queue_finish_result *finish_result, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    char outcome[QUEUE_WORD_BYTES];
    int code = sqlite_db_first(&store->writer, SQL_RESULT, &statement, err, "i", sequence);
    if (code < 1)
        return code;
    sqlite_db_text(statement, 0, outcome, sizeof outcome);
    const void *bytes = sqlite3_column_blob(statement, 1);
    size_t count = (size_t)sqlite3_column_bytes(statement, 1);
    bool same = strcmp(outcome, result->outcome) == 0 && count == result->count &&
                (count == 0 || memcmp(bytes, result->bytes, count) == 0);
    *finish_result = same ? QUEUE_REPEATED : QUEUE_REFUSED;
    sqlite3_reset(statement);
    return 0;
}

static int apply_finish(struct sqlite_store *store, void *arguments, struct err *err)
{
    const struct finish *finish = arguments;
    struct sqlite_row row = {0};
    *finish->finish_result = QUEUE_REFUSED;
    int result = sqlite_row_find(store, finish->job->id, finish->job->sequence, &row, err);
    if (result < 1 || finish->job->claims < 1 || finish->job->claims > row.claims)
        return result < 0 ? result : 0;
    if (row.state == QUEUE_DONE || row.state == QUEUE_CANCELLED)
        return result_compare(store, row.sequence, finish->result, finish->finish_result, err);
    *finish->finish_result = QUEUE_FINISHED;
    return sqlite_end(store, &row, finish->result, err);
}

int sqlite_finish(struct queue *queue, const struct queue_job *job,
                  const struct queue_result *result, enum queue_finish_result *finish_result,
                  struct err *err)
{
    struct finish finish = {job, result, finish_result};
    return sqlite_submit((struct sqlite_store *)queue, apply_finish, &finish, err);
}

static void explain_end(char reason[QUEUE_REASON_BYTES], const struct sqlite_row *row,
                        const char *why, bool last)
{
    const char *close = last ? "; no attempts left" : "";
    if (!why)
        snprintf(reason, QUEUE_REASON_BYTES,
                 "attempt %d was lost: worker %s stopped renewing its lease%s", row->attempt,
                 row->worker, close);
    else
        snprintf(reason, QUEUE_REASON_BYTES, "attempt %d failed: %.400s%s", row->attempt,
                 *why ? why : "the worker gave no reason", close);
}

int sqlite_return(struct sqlite_store *store, const struct sqlite_row *row, const char *why,
                  bool counts, bool *ended, struct err *err)
{
    char reason[QUEUE_REASON_BYTES];
    bool last = counts && row->attempt >= store->queue.options.attempts;
    *ended = true;
    if (row->cancel_requested) {
        const struct queue_result cancelled = {.outcome = QUEUE_CANCELLED_OUTCOME,
                                               .reason = "cancelled while it ran"};
        return sqlite_end(store, row, &cancelled, err);
    }
    explain_end(reason, row, why, last);
    if (last) {
        const struct queue_result lost = {.outcome = QUEUE_LOST_OUTCOME, .reason = reason};
        return sqlite_end(store, row, &lost, err);
    }
    *ended = false;
    store->tally.claimable = true;
    return sqlite_db_run(&store->writer, SQL_RETURN, err, "iisi", row->sequence,
                         (int64_t)(counts ? row->attempt : row->attempt - 1),
                         counts ? reason : (why ? why : ""), sqlite_change(store));
}

struct failing {
    const struct queue_job *job;
    const char *reason;
    bool counts;
};

static int apply_fail(struct sqlite_store *store, void *arguments, struct err *err)
{
    const struct failing *failing = arguments;
    struct sqlite_row row = {0};
    bool ended;
    int result = sqlite_row_find(store, failing->job->id, failing->job->sequence, &row, err);
    if (result < 1 || !lease_is_held(&row, failing->job))
        return result < 0 ? result : 0;
    return sqlite_return(store, &row, failing->reason, failing->counts, &ended, err);
}

int sqlite_fail(struct queue *queue, const struct queue_job *job, const char *reason, bool counts,
                struct err *err)
{
    struct failing failing = {job, reason, counts};
    return sqlite_submit((struct sqlite_store *)queue, apply_fail, &failing, err);
}
