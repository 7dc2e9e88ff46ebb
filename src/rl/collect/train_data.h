/* train_data: the problems of a run: those to train on, their order, and those held out.
 *
 * The order of an epoch is a permutation that depends on (seed, epoch) only: a position is two
 * numbers. With another train.order than `shuffled` it depends on `records`, too, which a
 * checkpoint has. No problem is in both sets: problems that train.held_out names, or
 * train.held_out_share draws, are removed from train.problems.
 *
 * Ownership: tasks belong to the data. Threads: one at a time. Errors: ERR_INPUT, ERR_MISSING.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/settings.h"
#include "rl/collect/problem_record.h"
#include "rl/collect/train_order.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct train_data {
    json_t *train, *held_out;    /* [{"problem"}, …] of gym/episode/tasks.h */
    char digest[HASH_HEX_BYTES]; /* of both, in order: a resumed run must have the same */
    uint64_t seed;
    size_t *order; /* of `epoch` */
    struct train_order kind;
    struct problem_records records; /* of `train` */
    uint64_t epoch;
};

/* A position between two problems; zero is the beginning. */
struct train_data_position {
    uint64_t epoch;
    size_t index;
};

/* ERR_INPUT: no problem is left to train on; ERR_MISSING: no such problem. */
NODISCARD int train_data_open(struct train_data *data, const struct settings *settings,
                              const struct paths_list *search_paths, struct err *err);
/* A zeroed one is fine. */
void train_data_close(struct train_data *data);

/* The next `count` problems, a new reference; the next epoch follows the last problem of an
 * epoch. */
json_t *train_data_draw(struct train_data *data, struct train_data_position *place, size_t count);
/* The problems of a list of words as in train.problems, a new reference. */
NODISCARD int train_data_tasks(const char *text, const struct settings *settings,
                               const struct paths_list *search_paths, json_t **tasks,
                               struct err *err);
