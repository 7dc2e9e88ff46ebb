/* trace_index: where the turns of a run's traces.jsonl are, and what a list of them shows.
 *
 * A row for each line, and a trajectory for each step and rollout, whose rows are linked in the
 * order of the file. The index follows the file as it grows. A file that became shorter, or whose
 * last indexed bytes are others now, is read anew: its run resumed from a checkpoint. A line that
 * is no turn is skipped and counted. An incomplete last line is left for the next read.
 *
 * A line costs a scan of its bytes, no tree of JSON, and 40 bytes of memory.
 *
 * Ownership: the caller's storage; a name that a function returns lives until the next read.
 * Threads: one at a time. */
#pragma once

#include "base/err.h"
#include "base/json_scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NONE UINT32_MAX

struct trace_row {
    uint64_t at;    /* of its line in the file */
    uint32_t bytes; /* of the line, without its newline */
    uint32_t turn;
    uint32_t next;  /* row of the trajectory's next turn; TRACE_NONE: it is the last */
    float reward;   /* NAN: excluded */
    float speedup;  /* NAN: not measured */
    int32_t status; /* of gym/report/metrics.h */
};

struct trace_trajectory {
    uint64_t step;
    uint32_t rollout, problem; /* problem: its number in the index */
    uint32_t first, last;      /* rows */
    uint32_t best;             /* the row with the greatest reward; without rewards the last */
    uint32_t turns;
};

struct trace_problem;

struct trace_index {
    char *path;
    struct trace_row *rows;
    struct trace_trajectory *trajectories;
    uint32_t row_count, trajectory_count, row_capacity, trajectory_capacity;
    uint32_t *slots; /* hash table of trajectories: number + 1; 0: free */
    uint32_t slot_count;
    struct trace_problem *problems; /* by name */
    char **names;                   /* [problem_count], by number */
    uint32_t problem_count;
    uint64_t read_bytes, file_bytes; /* indexed; of the file at the last read */
    uint64_t broken;                 /* lines that are no turns */
    uint64_t left_out;               /* turns beyond LIMIT_WEB_TURNS */
    uint64_t generation;             /* rises when the file is read anew */
    uint64_t guard_at;               /* the last bytes that were read, and their hash */
    uint64_t guard_hash;
    uint32_t guard_bytes;
};

void trace_index_init(struct trace_index *index, const char *path);
void trace_index_deinit(struct trace_index *index);
/* Reads new lines, of about `most_bytes` at most; read_bytes < file_bytes: there are more, or half
 * a line. A missing file is empty. ERR_IO. */
NODISCARD int trace_index_read(struct trace_index *index, uint64_t most_bytes, struct err *err);

/* TRACE_NONE: no such trajectory. */
uint32_t trace_index_find(const struct trace_index *index, uint64_t step, uint32_t rollout);
const char *trace_index_problem(const struct trace_index *index, uint32_t trajectory);

struct trace_filter {
    int64_t step;        /* negative: any */
    const char *problem; /* a name, or a part of one if no problem has that name; NULL: any */
    int status;          /* of the best turn; negative: any */
};

/* Numbers of trajectories that match, in the order of the file: of them `limit`, after the first
 * `skip`. Returns how many are in `out`; *matched: how many there are in all. */
size_t trace_index_select(const struct trace_index *index, const struct trace_filter *filter,
                          uint64_t skip, size_t limit, uint32_t *out, uint64_t *matched);
