/* watch_web: the dashboard for runs alone, without a queue. */
#pragma once

#include "cli/cli.h"

/* The runs that the call's words name; without one those of ./runs; one directory that is no run
 * is a folder of runs. Serves until a signal. */
NODISCARD int runs_watch_web(struct cli_call *call, struct err *err);
