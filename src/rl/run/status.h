/* run_status: status.json of a run: {"phase", "step", "steps", "done", "all", "why", "time"}, for
 * people who look on. "finished" is the phase of a run whose steps are all done.
 *
 * Threads: any.
 */
#ifndef WARPGYM_RL_RUN_STATUS_H
#define WARPGYM_RL_RUN_STATUS_H

#include "base/err.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_STATUS "status.json"
#define RUN_FINISHED "finished"

struct run_status {
    char *path;
    pthread_mutex_t lock;
    const char *phase; /* that was told last */
    uint64_t steps;
    int64_t told_ns;
};

void run_status_init(struct run_status *status, const char *directory);
void run_status_deinit(struct run_status *status);
/* Best effort. steps, all 0: not known. */
void run_status_tell(struct run_status *status, const char *phase, uint64_t step, uint64_t steps,
                     size_t done, size_t all);
NODISCARD int run_status_finish(struct run_status *status, uint64_t step, const char *why,
                                struct err *err);

#endif
