/* run_board: tensorboard/ of a run: the event file of this process, and one for each member of a
 * group of metrics (rl/run/tags.h).
 *
 * Threads: one at a time.
 */
#ifndef WARPGYM_RL_RUN_BOARD_H
#define WARPGYM_RL_RUN_BOARD_H

#include "rl/run/events.h"

#include <jansson.h>

#define RUN_BOARD "tensorboard"

struct run_board {
    char *directory;
    uint64_t first_step;
    struct events main;
    struct run_board_member {
        struct run_board_member *next;
        char *directory;
        struct events events;
    } * members;
};

/* `directory` of the run. */
NODISCARD int run_board_open(struct run_board *board, const char *directory, uint64_t first_step,
                             struct err *err);
/* A zeroed one is fine. */
void run_board_close(struct run_board *board);

/* Every number of `metrics`; null is left out. */
NODISCARD int run_board_metrics(struct run_board *board, uint64_t step, const json_t *metrics,
                                struct err *err);

#endif
