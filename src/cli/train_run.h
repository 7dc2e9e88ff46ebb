/* train_run: a training run from beginning to end, with its progress: what `train` and `runs
 * resume` share. */
#ifndef WARPGYM_CLI_TRAIN_RUN_H
#define WARPGYM_CLI_TRAIN_RUN_H

#include "base/settings.h"
#include "cli/options.h"

struct train_run {
    const char *directory;
    const char *server;                   /* that judges; NULL: as client.url says */
    const struct cli_words *search_paths; /* of problems, before the others */
    bool quiet;
    const char *again; /* the command that goes on: "warpgym train demo.yaml --out DIR" */
};

/* Returns the exit status. Server and search paths become settings, and so part of the run, which
 * goes on without being told them again. */
int train_run(const struct train_run *run, struct settings *settings);

#endif
