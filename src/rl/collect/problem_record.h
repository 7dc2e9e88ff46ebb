/* problem_record: what earlier steps showed of each problem: how often it was played, the share of
 * its episodes that solved it, and the mean return of each turn, which is a critic's value.
 *
 *   new rate   (1 - memory) rate + memory share of the step; the share, the first time
 *
 * Saved with a checkpoint. Ownership: the caller's storage. Threads: one at a time.
 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct problem_records {
    size_t count, turns;
    struct problem_record {
        double rate; /* NAN: unknown */
        uint64_t uses;
    } * list;
    double *values; /* [count × turns] NAN: unknown */
    json_t *places; /* {ID: index} */
};

/* tasks: [{"problem"}, …] of gym/episode/tasks.h. */
void problem_records_open(struct problem_records *records, const json_t *tasks, size_t turns);
/* A zeroed one is fine. */
void problem_records_close(struct problem_records *records);

/* SIZE_MAX: there is no such problem. */
size_t problem_records_find(const struct problem_records *records, const char *problem);
/* Of one step; returns [turns], NAN: none was judged. */
void problem_records_learn(struct problem_records *records, size_t index, double share,
                           double memory, const double *returns, double critic);
/* 0: unknown. */
double problem_records_value(const struct problem_records *records, size_t index, size_t turn);

/* [[index, rate, uses, [value, …]], …] of those that were played: a new reference; and back.
 * ERR_INPUT. */
json_t *problem_records_state(const struct problem_records *records);
NODISCARD int problem_records_restore(struct problem_records *records, const json_t *state,
                                      struct err *err);
