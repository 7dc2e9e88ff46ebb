/* checkpoint_evaluation: evaluates a checkpoint of a run on problems, with the prompts, judge and
 * policy of training, and without training. Its trajectories go to a directory that `warpgym
 * report` reads.
 *
 * The run may be going on: nothing is written to it. Ownership: everything is borrowed for the
 * call. Threads: checkpoint_evaluation_run blocks. Errors: those of the policy, the judge and the
 * files.
 */
#pragma once

#include "base/err.h"
#include "base/paths.h"
#include "base/settings.h"

#include <stddef.h>

struct checkpoint_evaluation_options {
    const struct settings
        *settings;         /* of the run, or changed; train.evaluate_* sets the sampling */
    const char *directory; /* of the run */
    const char *where;     /* the checkpoint's; NULL: the initial model of the run */
    const char *problems;  /* words as in train.problems; "": the held-out problems */
    const char *out;       /* a new directory for trajectories.jsonl */
    const struct paths_list *search_paths;
    const char *server;
    const _Atomic int *cancelled;
    void (*on_progress)(void *context, size_t done, size_t all); /* turns; may be NULL */
    void *context;
};

struct checkpoint_evaluation_result {
    size_t problems, samples, lost; /* lost: samples that could not be played */
    char why[256];                  /* of the first lost sample */
};

NODISCARD int checkpoint_evaluation_run(const struct checkpoint_evaluation_options *options,
                                        struct checkpoint_evaluation_result *result,
                                        struct err *err);
