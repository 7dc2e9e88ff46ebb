/* run_series: the metrics of a run by name and step, read from metrics.jsonl as it grows.
 *
 * Lines of one step make one row; what a later line says counts. A file that becomes shorter is
 * read anew: its run went on from a checkpoint. Half a line at the end waits for its rest.
 *
 * Ownership: the caller's storage; a zeroed one is empty. Threads: one at a time.
 */
#ifndef WARPGYM_RL_RUN_SERIES_H
#define WARPGYM_RL_RUN_SERIES_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_SERIES_ALL SIZE_MAX

struct run_series {
    char *path;
    size_t tail_bytes; /* of the end of the file alone; RUN_SERIES_ALL */
    uint64_t *steps;
    size_t count, room; /* rows */
    struct run_column {
        char *name;
        double *values; /* [room]; NAN: not told */
    } * columns;
    size_t column_count;
    off_t read;    /* bytes */
    size_t number; /* of lines, for errors */
};

void run_series_init(struct run_series *series, const char *path, size_t tail_bytes);
void run_series_deinit(struct run_series *series);
/* What has come since. A file that is not there is empty. ERR_INPUT: FILE:LINE. */
NODISCARD int run_series_read(struct run_series *series, struct err *err);

/* NULL: nobody told it. */
const struct run_column *run_series_find(const struct run_series *series, const char *name);
/* The last value up to `step`, NAN where there is none; *at, unless NULL, its step. */
double run_series_at(const struct run_series *series, const char *name, uint64_t step,
                     uint64_t *at);
/* Of those among the last `over` rows up to `step` that were told; where none was, the last one
 * before them. */
struct run_mean {
    double value;     /* NAN: there is none */
    double deviation; /* of the rows, not of the mean; NAN: of one alone */
    size_t count;
};
struct run_mean run_series_mean(const struct run_series *series, const char *name, uint64_t step,
                                size_t over);

#endif
