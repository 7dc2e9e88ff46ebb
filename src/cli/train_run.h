/* train_run: a training run with its progress, shared by `train` and `runs resume`. */
#pragma once

#include "base/settings.h"
#include "cli/options.h"

struct train_run {
    const char *directory;
    const char *server;            /* judges; NULL: client.url's */
    struct cli_words search_paths; /* of problems, before the others */
    bool quiet;
};

/* Returns the exit status, or a negative code. Server and search paths become settings, and so part
 * of the run, which resumes without them on the command line. */
int train_run(const struct train_run *run, struct settings *settings, struct err *err);
