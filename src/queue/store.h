/* store: what a store implements (queue.h has the contracts), and what queue.c does for both:
 * checks arguments, waits for jobs, notifies watchers.
 *
 * A store's struct begins with a struct queue. Its thread calls queue_wake when a job may have
 * become claimable and queue_notify when any process changed jobs. */
#pragma once

#include "queue/queue.h"

#include <pthread.h>

/* `place`: the text after the scheme. A failure leaves nothing open. */
typedef int queue_store_open(struct queue **out, const char *place,
                             const struct queue_options *options, struct err *err);
typedef void queue_store_close(struct queue *queue);
typedef int queue_store_probe(struct queue *queue, struct err *err);
typedef int queue_store_put(struct queue *queue, struct queue_submission *submissions, size_t count,
                            struct err *err);
typedef int queue_store_cancel(struct queue *queue, const char *id, enum queue_state *state,
                               struct err *err);
/* `job` is zeroed; a failure may leave bytes in it. Likewise below. */
typedef int queue_store_get(struct queue *queue, const char *id, unsigned bodies,
                            struct queue_job *job, struct err *err);
typedef int queue_store_find(struct queue *queue, const char *key, unsigned bodies,
                             struct queue_job *job, struct err *err);
typedef int queue_store_list(struct queue *queue, const struct queue_filter *filter,
                             struct queue_job *jobs, size_t limit, size_t *count, struct err *err);
typedef int queue_store_stats(struct queue *queue, struct queue_stats *stats, struct err *err);
/* Does not wait. */
typedef int queue_store_claim(struct queue *queue, const struct queue_claim *claim,
                              struct queue_job *job, bool *got, struct err *err);
typedef int queue_store_renew(struct queue *queue, const struct queue_job *const *jobs,
                              size_t count, int64_t lease_ms, enum queue_lease_state *lease_states,
                              struct err *err);
typedef int queue_store_finish(struct queue *queue, const struct queue_job *job,
                               const struct queue_result *result,
                               enum queue_finish_result *finish_result, struct err *err);
typedef int queue_store_fail(struct queue *queue, const struct queue_job *job, const char *reason,
                             bool counts, struct err *err);
typedef int queue_store_reap(struct queue *queue, struct queue_reaping *reaping, struct err *err);
typedef int queue_store_register_worker(struct queue *queue, const char *name, const void *bytes,
                                        size_t count, int64_t keep_ms, struct err *err);
typedef int queue_store_registrations(struct queue *queue, struct queue_registration *registrations,
                                      size_t limit, size_t *count, struct err *err);
typedef int queue_store_document_put(struct queue *queue, const char *name, const void *bytes,
                                     size_t count, int64_t version, int64_t keep_ms, bool *written,
                                     struct err *err);
typedef int queue_store_document_get(struct queue *queue, const char *name,
                                     struct queue_document *document, struct err *err);
typedef int queue_store_document_remove(struct queue *queue, const char *name, bool *removed,
                                        struct err *err);

struct queue_store {
    const char *scheme; /* "sqlite:" */
    queue_store_open *open;
    queue_store_close *close;
    queue_store_probe *probe;
    queue_store_put *put;
    queue_store_cancel *cancel;
    queue_store_get *get;
    queue_store_find *find;
    queue_store_list *list;
    queue_store_stats *stats;
    queue_store_claim *claim;
    queue_store_renew *renew;
    queue_store_finish *finish;
    queue_store_fail *fail;
    queue_store_reap *reap;
    queue_store_register_worker *register_worker;
    queue_store_registrations *registrations;
    queue_store_document_put *document_put;
    queue_store_document_get *document_get;
    queue_store_document_remove *document_remove;
};

extern const struct queue_store queue_sqlite, queue_redis;

struct queue {
    const struct queue_store *store;
    struct queue_options options; /* defaults filled in */
    char *name;
    pthread_mutex_t lock;
    pthread_cond_t ready; /* on CLOCK_MONOTONIC */
    uint64_t wakes;       /* under the lock, like `interrupted` */
    bool interrupted;
    pthread_mutex_t watch_lock; /* held while watchers are notified */
    struct queue_watcher *watchers;
};

/* For a store's open and close. Copies `name`. */
void queue_init(struct queue *queue, const struct queue_store *store, const char *name,
                const struct queue_options *options);
void queue_deinit(struct queue *queue);

void queue_wake(struct queue *queue);
void queue_notify(struct queue *queue, const struct queue_event *events, size_t count);

/* Copies what fits, cut at a character of UTF-8. */
void queue_copy(char *out, size_t size, const char *text, size_t count);
