/* evaluate: how good a policy is, on problems that it is not trained on.
 *
 * The episodes are those of training (same prompts, turns, judge), collected by collector.h, and measured
 * as `warpgym report` does: every problem and every sample that was asked for counts, whatever
 * became of it.
 *
 *   eval/correct_rate            samples with a turn that is correct; eval/pass@1 is the same
 *   eval/pass@K                  K = 1, 5, and all samples, as far as there are so many
 *   eval/fast_1, fast_2          problems with a sample that is correct and so many times as fast
 *   eval/compile_rate            turns that compile
 *   eval/mean_speedup, geometric_mean_speedup   of the problems' best, of those correct and timed
 *   eval/return                  of first turns
 *   eval/problems                that were asked for
 *   eval/lost_samples            that were not played, or not judged
 *   eval/level/N/…               the same of "levelN/…"
 *
 * Lost samples count as not solved. Where all are lost nothing is known of the policy, and
 * these two are all that is told.
 *
 * Intervals, curves and comparisons: `warpgym report` on the trajectories.
 */
#ifndef WARPGYM_RL_COLLECT_EVALUATION_H
#define WARPGYM_RL_COLLECT_EVALUATION_H

#include "rl/collect/collector.h"

#define EVALUATION_LEVELS 10
#define EVALUATION_DIRECTORY "evaluations" /* of a run */

/* 3 of "level3/17"; 0: it has none. */
size_t evaluation_level_of(const char *problem);

/* Numbers by name into `metrics`; an episode that was not played at all is a sample that is
 * missing. `samples` of each task were asked for. */
void evaluation_measure(const struct rl_rollout *rollouts, size_t count, size_t samples,
                        json_t *metrics);
/* Where the evaluation behind that step lies; the caller's. */
char *evaluation_path(const char *directory, uint64_t step);
/* A line for each episode that was played to its end (docs/reference/trajectories.md), in one step. */
NODISCARD int evaluation_write(const struct rl_rollout *rollouts, size_t count, const char *path,
                               struct err *err);

#endif
