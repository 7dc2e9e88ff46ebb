/* run_set: the training runs of a dashboard, by name.
 *
 * Those of a folder, which is looked through again at most once a second, and some by themselves. A
 * run that was removed is left out of lists; its record stays until the set goes, so a pointer to
 * one is always valid. What is read of a run is kept, of at most LIMIT_WEB_OPEN_RUNS runs.
 *
 * Ownership: the set owns its runs. Threads: any; run_open locks a run until run_close. */
#pragma once

#include "base/err.h"
#include "rl/run/run_view.h"
#include "server/web/trace_index.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct web_run {
    char *name, *path;
    bool present;          /* the set's lock */
    int64_t used_ns;       /* likewise */
    pthread_mutex_t lock;  /* all below */
    struct run_view brief; /* its state, and the end of its metrics */
    bool is_open;
    struct run_view whole; /* with all of its metrics */
    struct trace_index traces;
};

struct run_set;

struct run_set *run_set_new(const char *folder, const char *const *paths, size_t count);
void run_set_free(struct run_set *set);

/* The runs that there are, by name; at most LIMIT_WEB_RUNS, of *found. Returns how many.
 * ERR_MISSING, ERR_IO: the folder. */
NODISCARD int run_set_list(struct run_set *set, struct web_run **runs, size_t *count, size_t *found,
                           struct err *err);
/* ERR_MISSING: no such run. */
NODISCARD int run_set_find(struct run_set *set, const char *name, struct web_run **run,
                           struct err *err);

/* Locks the run and reads its state and its newest metrics. The caller's web_run_close after 0. */
NODISCARD int web_run_brief(struct web_run *run, struct err *err);
/* The same with all metrics, which the set then keeps. */
NODISCARD int web_run_open(struct run_set *set, struct web_run *run, struct err *err);
void web_run_close(struct web_run *run);
