/* eval_remote: judges the tasks of `warpgym eval` on a server, with the same report.
 *
 * A problem is sent as its id if it was named by its id and is in our own suite or unknown here,
 * so that the server finds it; any other is sent as text. Verdicts return with the problem's id
 * and the candidate's path as they are known here. */
#pragma once

#include "base/settings.h"
#include "cli/eval/report.h"
#include "cli/eval/tasks.h"
#include "cli/options.h"

struct eval_remote {
    const struct settings *settings;
    const char *url;                     /* NULL: client.url */
    const struct cli_words *assignments; /* of --set: those that a client may set are sent */
    bool timing, fresh;
    int64_t at_once; /* 0: the client's default */
    const _Atomic int *cancelled;
    struct eval_tasks *tasks;
};

/* Judges the first `count` tasks. 0 when each has its verdict or its error. */
NODISCARD int eval_remote_run(const struct eval_remote *remote, size_t count,
                              struct eval_report *report, struct err *err);
