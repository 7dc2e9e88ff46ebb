/* eval_report: reports verdicts: a table for people, JSON lines for programs, and a file that a
 * restart continues. */
#pragma once

#include "cli/progress.h"
#include "cli/table.h"
#include "judge/batch.h"

struct eval_report {
    bool json;
    bool timed; /* verdicts without a time in the output file are judged again */
    int out_fd; /* -1: none */
    const char *out_path;
    struct table *table;
    struct progress *progress;
    bool quiet;                      /* says nothing of what it waits for */
    double said_s;                   /* the wait that was said last; 0: none */
    uint64_t passed, failed, broken; /* broken: infrastructure_error */
    size_t failed_before;            /* of those that an earlier run has judged */
    bool write_failed;
    struct buf details; /* profile and output of the only candidate; empty: none, or several */
    bool resumable;     /* the output is a file, not a pipe or a device */
};

/* `out_path` NULL: none. Opens it for appending; removes a last line that a crash cut short. A
 * pipe or a device is only written to. */
NODISCARD int eval_report_init(struct eval_report *report, bool json, bool timed,
                               const char *out_path, struct err *err);
/* Ends progress and prints the table. */
void eval_report_finish(struct eval_report *report, double elapsed_s);
void eval_report_deinit(struct eval_report *report);

/* For batch_run, and for each verdict of a server (`task` may be NULL). One thread at a time. */
void eval_report_verdict(void *context, const struct batch_task *task,
                         const struct verdict *judged);
void eval_report_tick(void *context);
