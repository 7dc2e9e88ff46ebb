/* tensorboard: tensorboard/ of a run: the event file of this process, and one for each member of a
 * group of metrics; under which tags the metrics appear (one table, and docs/guide/runs.md).
 *
 * A '*' in a metric stands for digits, "level/3/reward_mean", and is copied to the '*' of tag and
 * group. A metric that is not in the table keeps its name. A group shows several metrics in one
 * chart: each member is written to a directory of its own, "Reward_Summary_mean", under the group's
 * tag.
 *
 * Ownership: the caller's storage. Threads: one at a time. Errors: those of event_file.h.
 */
#pragma once

#include "base/settings.h"
#include "rl/run/event_file.h"

#include <jansson.h>

#define TENSORBOARD_DIRECTORY "tensorboard"

/* Tags of histograms (run_histogram). */
#define RUN_REWARDS "Distributions/Rewards"
#define RUN_SPEEDUPS "Distributions/Speedups"
#define RUN_ADVANTAGES "Distributions/Advantages"
/* Tags of texts (run_text). */
#define RUN_CONFIGURATION "Configuration"
#define RUN_ANSWERS "Samples/Training"
#define RUN_HELD_OUT "Samples/HeldOut"

struct tensorboard_tag {
    const char *metric, *tag;
    const char *group, *member; /* NULL: none */
};

extern const struct tensorboard_tag tensorboard_tags[];
extern const size_t tensorboard_tag_count;

/* The row of a metric; *tag and *group (NULL without one) with digits for their '*' (mem_free).
 * NULL: not in the table; *tag is then the metric's name. */
const struct tensorboard_tag *tensorboard_tag_of(const char *metric, char **tag, char **group);

struct tensorboard {
    char *directory;
    uint64_t first_step;
    struct event_file main;
    struct tensorboard_member {
        struct tensorboard_member *next;
        char *directory;
        struct event_file events;
    } * members;
};

/* `directory` of the run. */
NODISCARD int tensorboard_open(struct tensorboard *tensorboard, const char *directory,
                               uint64_t first_step, struct err *err);
/* A zeroed one is fine. */
void tensorboard_close(struct tensorboard *tensorboard);
/* Writes every number of `metrics`; null is left out. */
NODISCARD int tensorboard_metrics(struct tensorboard *tensorboard, uint64_t step,
                                  const json_t *metrics, struct err *err);

/* Writes the sections that say what is learned and how: train, gym, policy, lm, check; "gym/turns".
 * The run is named by its directory. */
NODISCARD int tensorboard_hparams(struct event_file *events, const char *directory,
                                  const struct settings *settings, struct err *err);
