/* run_tags: under which tags TensorBoard shows a run's metrics: one table, and docs/guide/runs.md.
 *
 * A '*' in a metric stands for digits, "level/3/reward_mean", and goes to the '*' of tag and group.
 * A metric that is not in the table keeps its name. A group shows several in one chart: each member
 * is written into a directory of its own, "Reward_Summary_mean", under the group's tag.
 */
#ifndef WARPGYM_RL_RUN_TAGS_H
#define WARPGYM_RL_RUN_TAGS_H

#include <stdbool.h>
#include <stddef.h>

struct run_tag {
    const char *metric, *tag;
    const char *group, *member; /* NULL: it is in none */
};

extern const struct run_tag run_tags[];
extern const size_t run_tag_count;

/* Histograms: run_histogram's tags. */
#define RUN_REWARDS "Distributions/Rewards"
#define RUN_SPEEDUPS "Distributions/Speedups"
#define RUN_ADVANTAGES "Distributions/Advantages"
/* Texts: run_text's. */
#define RUN_CONFIGURATION "Configuration"
#define RUN_ANSWERS "Samples/Training"
#define RUN_HELD_OUT "Samples/HeldOut"

/* The row; its tag and its group, NULL where it is in none, with digits in place of their '*'
 * (mem_free). NULL: not in the table; *tag is then the metric's name. */
const struct run_tag *run_tag_of(const char *metric, char **tag, char **group);

#endif
