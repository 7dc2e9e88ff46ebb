/* eval_report: verdicts on their way out: a table for people, one JSON line each for programs, a
 * file that a restart continues. */
#ifndef WARPGYM_CLI_EVAL_REPORT_H
#define WARPGYM_CLI_EVAL_REPORT_H

#include "cli/progress.h"
#include "cli/table.h"
#include "judge/batch.h"

#include <jansson.h>

struct eval_report {
    bool json;
    bool timed; /* what the output file holds without a time is judged again */
    int out_fd; /* -1: none */
    const char *out_path;
    struct table *table;
    struct progress *progress;
    uint64_t passed, failed, broken; /* broken: infrastructure_error */
    bool write_failed;
    struct buf profile; /* of the only candidate; empty: none, or several */
    bool resumable;     /* the output is a file, not a pipe or a device */
};

/* `out_path` NULL: none. Opens it for appending; a last line that a crash cut short is removed. A
 * pipe or a device is only written to. */
NODISCARD int eval_report_init(struct eval_report *report, bool json, bool timed,
                               const char *out_path, struct err *err);
/* Ends progress and prints the table. */
void eval_report_finish(struct eval_report *report, double elapsed_s);
void eval_report_deinit(struct eval_report *report);

/* Removes from `tasks` (count updated) what the output file already holds a final verdict for: the
 * same problem (its hash), candidate text and path. Returns how many. */
size_t eval_report_skip(const struct eval_report *report, struct batch_task *tasks, size_t *count);

/* One verdict (docs/reference/verdict.md), of this process or of a server. Not from two threads at
 * a time. */
void eval_report_json(struct eval_report *report, const json_t *verdict);

/* For batch_run. */
void eval_report_verdict(void *context, const struct batch_task *task,
                         const struct verdict *verdict);
void eval_report_tick(void *context);

#endif
