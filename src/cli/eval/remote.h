/* eval_remote: the tasks of `warpgym eval` judged by a server, with the same report.
 *
 * A problem goes as its id where it was named by its id and is one of our own suite or not here at
 * all, which is then the server's to find; any other goes as text. Verdicts come back with the
 * problem's id and the candidate's path as they are known here.
 */
#ifndef WARPGYM_CLI_EVAL_REMOTE_H
#define WARPGYM_CLI_EVAL_REMOTE_H

#include "base/settings.h"
#include "cli/eval/report.h"
#include "cli/eval/tasks.h"
#include "cli/options.h"

struct eval_remote {
    const struct settings *settings;
    const char *url;                     /* NULL: client.url */
    const struct cli_words *assignments; /* of --set: those that a stranger may set go along */
    bool timing, fresh;
    int64_t at_once; /* 0: as many as the client sees fit */
    const _Atomic int *cancelled;
    struct eval_tasks *tasks;
};

/* The first `count` tasks. 0 when each has its verdict or its complaint. */
NODISCARD int eval_remote_run(const struct eval_remote *remote, size_t count,
                              struct eval_report *report, struct err *err);

/* Of an evaluation that has ended: its verdict, or where the server has none, one that says so. A
 * new reference. `task` NULL: nothing is known of it here. */
struct remote_evaluation;
json_t *eval_remote_verdict(const struct remote_evaluation *evaluation,
                            const struct batch_task *task);

#endif
