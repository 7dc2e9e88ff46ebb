/* data: which problems a run trains on, in which order, and which it is measured on.
 *
 * The order of an epoch is a permutation made of (seed, epoch) alone: a place in it is two numbers.
 * No problem is in both sets: what train.held_out names, or train.held_out_share draws, is taken
 * out of train.problems.
 *
 * Ownership: tasks belong to the data. Threads: one at a time.
 */
#ifndef WARPGYM_RL_COLLECT_TRAIN_DATA_H
#define WARPGYM_RL_COLLECT_TRAIN_DATA_H

#include "base/err.h"
#include "base/hash.h"
#include "base/settings.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct train_data {
    json_t *train, *held_out;    /* [{"problem"}, …] of gym/episode/tasks.h */
    char digest[HASH_HEX_BYTES]; /* of both, in their order: whoever goes on has the same */
    uint64_t seed;
    size_t *order; /* of `epoch` */
    uint64_t epoch;
};

/* A place between two problems; zero is the beginning. */
struct train_data_position {
    uint64_t epoch;
    size_t index;
};

/* ERR_INPUT: nothing is left to train on; ERR_MISSING: no such problem. */
NODISCARD int train_data_open(struct train_data *data, const struct settings *settings,
                              const char *const *search_paths, size_t search_path_count,
                              struct err *err);
/* A zeroed one is fine. */
void train_data_close(struct train_data *data);

/* The next `count` problems, a new reference; behind an epoch's last one comes the next epoch. */
json_t *train_data_draw(struct train_data *data, struct train_data_position *place, size_t count);
/* Problems of a list of words as train.problems has them, a new reference. */
NODISCARD int train_data_tasks(const char *text, const struct settings *settings,
                               const char *const *search_paths, size_t search_path_count,
                               json_t **tasks, struct err *err);

#endif
