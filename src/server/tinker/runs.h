/* runs: an adapter that is trained, with its gradients and its optimiser, as long as it is in
 * memory.
 *
 * Ownership: references; the table has one, and each request of a run. Threads: three parts, each
 * with its own rule. "With the lock" is that of state.h.
 */
#pragma once

#include "base/json.h"
#include "lm/weights/adapter.h"
#include "server/tinker/names.h"

#include <stdatomic.h>

#include <uthash.h>

struct tinker_queued;
struct tinker_service;

struct tinker_run {
    /* Constant. */
    char id[TINKER_ID_BYTES], session[TINKER_ID_BYTES];
    struct lm_lora lora;
    bool mlp, attention;
    uint64_t seed;
    json_t *metadata; /* the user's, or NULL */
    int64_t created_ms;
    atomic_size_t refs;
    /* The training thread's. */
    struct lm_model *model; /* NULL: not yet, or unloaded */
    struct lm_trainer *trainer;
    bool torn;        /* a checkpoint was loaded only in part */
    char *failed;     /* why a pass since the last step failed, or NULL */
    uint64_t unnamed; /* sets of sampler weights without a name so far */
    /* Under the lock; the queue's, but for `closed`. */
    bool closed;  /* unloaded, or its session ended: what waits is cancelled */
    int64_t next; /* number of the request that is due */
    struct tinker_queued *requests;
    size_t waiting;
    uint64_t served; /* when a request of it last ran: the least recent one is due */
    UT_hash_handle hh;
};

/* The table (table.h); with the lock. */
struct tinker_run *tinker_run_get(const struct tinker_service *service, const char *id);
void tinker_run_put(struct tinker_service *service, struct tinker_run *entry);
void tinker_run_remove(struct tinker_service *service, struct tinker_run *entry);
/* With the lock: those of a session. */
void tinker_runs_close(struct tinker_service *service, const char *session);
/* With the lock: their ids, a new list. */
json_t *tinker_runs_of(const struct tinker_service *service, const char *session);
/* The training thread's: those that were closed and for which nothing waits. */
void tinker_runs_unload_closed(struct tinker_service *service);
/* No thread runs any more: all, and what waits for them. */
void tinker_runs_free(struct tinker_service *service);

struct tinker_run *tinker_run_ref(struct tinker_run *run);
/* The training thread's: its weights go. */
void tinker_run_unload(struct tinker_run *run);
/* NULL is fine. */
void tinker_run_unref(struct tinker_run *run);
/* Without the lock: no request is taken any more. */
void tinker_run_close(struct tinker_service *service, struct tinker_run *run);
/* ERR_INPUT: it has no weights, or only a part of a checkpoint's. */
NODISCARD int tinker_run_check(const struct tinker_run *run, struct err *err);
