#include "base/array.h"
#include "queue/sqlite.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP_MAX 512 /* operations of one commit: bounds how long the first one waits */

static const struct {
    const char *name;
    size_t offset;
} counters[] = {
    {"sequence", offsetof(struct sqlite_tally, sequence)},
    {"change", offsetof(struct sqlite_tally, change)},
    {"removed_change", offsetof(struct sqlite_tally, removed_change)},
    {"kept", offsetof(struct sqlite_tally, kept)},
    {"kept_bytes", offsetof(struct sqlite_tally, kept_bytes)},
    {"lost", offsetof(struct sqlite_tally, lost)},
    {"documents", offsetof(struct sqlite_tally, documents)},
    {"version", offsetof(struct sqlite_tally, version)},
};

#define COUNTERS COUNT(counters)

static int64_t *tally_counter(struct sqlite_tally *tally, size_t i)
{
    return (int64_t *)((char *)tally + counters[i].offset);
}

/* Other processes change the counters too, so read them again under the lock. */
static int read_tally(struct sqlite_store *store, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    store->tally = (struct sqlite_tally){0};
    int result = sqlite_db_start(&store->writer, SQL_COUNTERS, &statement, err, "");
    while (sqlite_db_next(&store->writer, statement, &result, err)) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        for (size_t i = 0; name && i < COUNTERS; i++)
            if (strcmp(name, counters[i].name) == 0)
                *tally_counter(&store->tally, i) = sqlite3_column_int64(statement, 1);
    }
    return result;
}

static int transaction_begin(struct sqlite_store *store, struct err *err)
{
    int result = sqlite_db_run(&store->writer, SQL_BEGIN, err, "");
    if (result < 0)
        return result;
    result = read_tally(store, err);
    store->committed = store->tally;
    return result;
}

static int write_tally(struct sqlite_store *store, struct err *err)
{
    struct sqlite_tally *tally = &store->tally;
    int result = 0;
    for (size_t i = 0; i < COUNTERS && result == 0; i++)
        if (*tally_counter(tally, i) != *tally_counter(&store->committed, i))
            result = sqlite_db_run(&store->writer, SQL_COUNTER_SET, err, "sii", counters[i].name,
                                   *tally_counter(tally, i), INT64_C(0));
    for (size_t i = 0; i < tally->ended_count && result == 0; i++) {
        char name[QUEUE_WORD_BYTES + 8];
        snprintf(name, sizeof name, "ended:%s", tally->ended[i].outcome);
        result = sqlite_db_run(&store->writer, SQL_COUNTER_SET, err, "sii", name,
                               tally->ended[i].count, INT64_C(1));
    }
    return result;
}

static void transaction_roll_back(struct sqlite_store *store)
{
    /* SQLite may have rolled back by itself after a full disk or an I/O error. */
    if (!sqlite3_get_autocommit(store->writer.handle))
        (void)!sqlite_db_run(&store->writer, SQL_ROLLBACK, NULL, "");
}

static int transaction_commit(struct sqlite_store *store, struct err *err)
{
    int result = write_tally(store, err);
    return result < 0 ? result : sqlite_db_run(&store->writer, SQL_COMMIT, err, "");
}

/* Readers of the file see the commit before others are woken. */
static void wake_others(struct sqlite_store *store)
{
    if (store->tally.claimable) {
        queue_wake(&store->queue);
        if (pwrite(store->wake_fd, "", 1, 0) == 1)
            return;
    }
    if (store->tally.claimable || store->tally.notify)
        futimens(store->wake_fd, NULL);
}

/* Applies the whole list in one transaction. */
static int group_apply(struct sqlite_store *store, struct sqlite_operation *first, struct err *err)
{
    int result = transaction_begin(store, err);
    for (struct sqlite_operation *at = first; at && result == 0; at = at->next)
        result = at->apply(store, at->arguments, err);
    if (result == 0)
        result = transaction_commit(store, err);
    if (result < 0)
        transaction_roll_back(store);
    else
        wake_others(store);
    return result;
}

static void operation_done(struct sqlite_operation *operation, int result, const struct err *err)
{
    if (result < 0 && operation->err)
        *operation->err = *err;
    operation->result = result;
    sem_post(&operation->done);
}

static void group_run(struct sqlite_store *store, struct sqlite_operation *first)
{
    struct err err = {0};
    int result = group_apply(store, first, &err);
    /* One payload that exceeds the limit must not fail the others. */
    bool apart = result == ERR_LIMIT && first->next;
    for (struct sqlite_operation *at = first, *next; at; at = next) {
        next = at->next;
        if (apart) {
            at->next = NULL;
            result = group_apply(store, at, &err);
        }
        operation_done(at, result, &err);
    }
}

/* Up to GROUP_MAX operations in their order; NULL: closing. */
static struct sqlite_operation *group_take(struct sqlite_store *store)
{
    pthread_mutex_lock(&store->pending_lock);
    while (!store->pending && !store->closing)
        pthread_cond_wait(&store->pending_some, &store->pending_lock);
    struct sqlite_operation *first = store->pending, **last = &store->pending;
    for (size_t i = 0; *last && i < GROUP_MAX; i++)
        last = &(*last)->next;
    store->pending = *last;
    *last = NULL;
    if (!store->pending)
        store->pending_end = &store->pending;
    pthread_mutex_unlock(&store->pending_lock);
    return first;
}

static void *write_all(void *argument)
{
    struct sqlite_store *store = argument;
    struct sqlite_operation *first;
    while ((first = group_take(store)))
        group_run(store, first);
    return NULL;
}

int sqlite_writer_start(struct sqlite_store *store, struct err *err)
{
    pthread_mutex_init(&store->pending_lock, NULL);
    pthread_cond_init(&store->pending_some, NULL);
    store->pending_end = &store->pending;
    int result = pthread_create(&store->writer_thread, NULL, write_all, store);
    if (result == 0)
        return 0;
    store->pending_end = NULL;
    return err_sys(err, result, "queue: cannot start the writer thread");
}

void sqlite_writer_stop(struct sqlite_store *store)
{
    if (!store->pending_end)
        return;
    pthread_mutex_lock(&store->pending_lock);
    store->closing = true;
    pthread_cond_signal(&store->pending_some);
    pthread_mutex_unlock(&store->pending_lock);
    pthread_join(store->writer_thread, NULL);
    pthread_cond_destroy(&store->pending_some);
    pthread_mutex_destroy(&store->pending_lock);
}

int sqlite_submit(struct sqlite_store *store, sqlite_apply *apply, void *arguments, struct err *err)
{
    struct sqlite_operation operation = {.apply = apply, .arguments = arguments, .err = err};
    sem_init(&operation.done, 0, 0);
    pthread_mutex_lock(&store->pending_lock);
    *store->pending_end = &operation;
    store->pending_end = &operation.next;
    pthread_cond_signal(&store->pending_some);
    pthread_mutex_unlock(&store->pending_lock);
    while (sem_wait(&operation.done) < 0 && errno == EINTR)
        continue;
    sem_destroy(&operation.done);
    return operation.result;
}
