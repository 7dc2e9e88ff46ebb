/* exam: a checkpoint of a run plays problems: the same prompts, judge and policy as in training,
 * with nothing trained. Its trajectories go to a directory that `warpgym report` reads.
 *
 * The run may be under way: nothing of it is written. Threads: checkpoint_evaluation_run keeps its
 * thread.
 */
#ifndef WARPGYM_RL_COLLECT_CHECKPOINT_EVALUATION_H
#define WARPGYM_RL_COLLECT_CHECKPOINT_EVALUATION_H

#include "base/err.h"
#include "base/settings.h"

#include <stddef.h>

struct checkpoint_evaluation_options {
    const struct settings
        *settings;         /* of the run, or changed; train.evaluate_* says how to sample */
    const char *directory; /* of the run */
    const char *where;     /* the checkpoint's; NULL: the model that the run began with */
    const char *problems;  /* words as train.problems has them; "": those that it held out */
    const char *out;       /* a directory that is made; trajectories.jsonl in it */
    const char *const *search_paths;
    size_t search_path_count;
    const char *server;
    const _Atomic int *cancelled;
    void (*tell)(void *context, size_t done, size_t all); /* turns; or NULL */
    void *context;
};

struct checkpoint_evaluation_result {
    size_t problems, samples, lost; /* lost: of the samples, those that were not played */
    char why[256];                  /* the first of them */
};

NODISCARD int checkpoint_evaluation_run(const struct checkpoint_evaluation_options *options,
                                        struct checkpoint_evaluation_result *result,
                                        struct err *err);

#endif
