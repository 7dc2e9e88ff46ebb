/* evaluation: metrics and files of one evaluation of a policy.
 *
 * The episodes are those of training (same prompts, turns, judge), collected by collector.h, and
 * measured as `warpgym report` does: every requested problem and sample counts, whatever became of
 * it.
 *
 *   eval/correct_rate            samples with a correct turn; eval/pass@1 is the same
 *   eval/pass@K                  K = 1, 5, and all samples, if there are that many
 *   eval/fast_1, fast_2          problems with a sample that is correct and so many times as fast
 *   eval/compile_rate            turns that compile
 *   eval/mean_speedup, geometric_mean_speedup   of the problems' best, of those correct and timed
 *   eval/return                  of first turns
 *   eval/problems                requested problems
 *   eval/lost_samples            samples that failed or were not judged
 *   eval/level/N/…               the same of "levelN/…"
 *
 * Lost samples count as not solved. If all are lost, only the last two metrics are written, because
 * nothing is known about the policy. `warpgym report` adds intervals, curves and comparisons.
 *
 * Ownership: everything is borrowed. Threads: pure but for evaluation_write. Errors: ERR_IO,
 * ERR_LIMIT.
 */
#pragma once

#include "rl/collect/collector.h"

#define EVALUATION_LEVELS 10
#define EVALUATION_DIRECTORY "evaluations" /* of a run */

/* 3 for "level3/17"; 0: no level. */
size_t evaluation_level_of(const char *problem);

/* Puts metrics by name into `metrics`; an episode that failed is a missing sample. `samples` of
 * each task were requested. */
void evaluation_measure(const struct rl_rollout *rollouts, size_t count, size_t samples,
                        json_t *metrics);
/* The file of the evaluation after that step; the caller's (mem_free). */
char *evaluation_path(const char *directory, uint64_t step);
/* Writes a line for each complete episode (docs/reference/trajectories.md), atomically. */
NODISCARD int evaluation_write(const struct rl_rollout *rollouts, size_t count, const char *path,
                               struct err *err);
