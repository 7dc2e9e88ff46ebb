#include "rl/run/tags.h"

#include "base/array.h"
#include "base/mem.h"

#include <string.h>

const struct run_tag run_tags[] = {
    {"reward/mean", "Reward/Mean", "Reward/Summary", "mean"},
    {"reward/std", "Reward/StdDev", NULL, NULL},
    {"reward/min", "Reward/Min", "Reward/Summary", "min"},
    {"reward/max", "Reward/Max", "Reward/Summary", "max"},
    {"kernel/format_rate", "Kernel/FormatRate", "Kernel/QualityRates", "format"},
    {"kernel/compile_rate", "Kernel/CompileRate", "Kernel/QualityRates", "compile"},
    {"kernel/correct_rate", "Kernel/CorrectRate", "Kernel/QualityRates", "correct"},
    {"kernel/cheat_rate", "Kernel/CheatRate", NULL, NULL},
    {"kernel/mean_speedup", "Kernel/MeanSpeedup", NULL, NULL},
    {"progress/done_frac", "Progress/CompletionFraction", NULL, NULL},
    {"optim/lr", "Optimizer/LearningRate", NULL, NULL},
    {"optim/loss", "Optimizer/Loss", NULL, NULL},
    {"optim/grad_norm", "Optimizer/GradientNorm", NULL, NULL},
    {"batch/num_groups", "Batch/NumGroups", NULL, NULL},
    {"batch/num_trajectories", "Batch/NumTrajectories", NULL, NULL},
    {"time/total", "Timing/Total", NULL, NULL},
    {"time/rollout", "Timing/Rollout", "Timing/Breakdown", "rollout"},
    {"time/assemble_data", "Timing/Assemble_Data", "Timing/Breakdown", "assemble_data"},
    {"time/train", "Timing/Train", "Timing/Breakdown", "train"},
    {"time/save_checkpoint", "Timing/Save_Checkpoint", "Timing/Breakdown", "save_checkpoint"},
    {"time/evaluate", "Timing/Evaluate", "Timing/Breakdown", "evaluate"},
    {"count/format_ok", "Counts/format_ok", NULL, NULL},
    {"count/compiled", "Counts/compiled", NULL, NULL},
    {"count/correct", "Counts/correct", NULL, NULL},
    {"level/*/reward_mean", "PerLevel/Level*/RewardMean", NULL, NULL},
    {"level/*/correct_rate", "PerLevel/Level*/CorrectRate", NULL, NULL},
    {"level/*/compile_rate", "PerLevel/Level*/CompileRate", NULL, NULL},
    {"advantage/mean", "Advantage/Mean", NULL, NULL},
    {"advantage/std", "Advantage/Std", NULL, NULL},
    {"advantage/min", "Advantage/Min", NULL, NULL},
    {"advantage/max", "Advantage/Max", NULL, NULL},
    {"reward_parts/format", "RewardComponents/Format", "RewardComponents/All", "format"},
    {"reward_parts/compile", "RewardComponents/Compile", "RewardComponents/All", "compile"},
    {"reward_parts/correctness", "RewardComponents/Correctness", "RewardComponents/All",
     "correctness"},
    {"reward_parts/speed", "RewardComponents/Speed", "RewardComponents/All", "speed"},
    {"reward_parts/length", "RewardComponents/Length", "RewardComponents/All", "length"},
    {"reward_parts/thinking", "RewardComponents/Thinking", "RewardComponents/All", "thinking"},
    {"reward_parts/coverage", "RewardComponents/Coverage", "RewardComponents/All", "coverage"},
    {"reward_parts/total", "RewardComponents/Total", "RewardComponents/All", "total"},
    {"eval/pass@1", "Eval/Pass@1", NULL, NULL},
    {"eval/pass@5", "Eval/Pass@5", NULL, NULL},
    {"eval/compile_rate", "Eval/CompileRate", "Eval/QualityOverview", "compile"},
    {"eval/correct_rate", "Eval/CorrectRate", "Eval/QualityOverview", "correct"},
    {"eval/fast_1", "Eval/Fast1x", "Eval/QualityOverview", "fast_1x"},
    {"eval/fast_2", "Eval/Fast2x", "Eval/QualityOverview", "fast_2x"},
    {"eval/mean_speedup", "Eval/MeanSpeedup", NULL, NULL},
    {"eval/geometric_mean_speedup", "Eval/GeometricMeanSpeedup", NULL, NULL},
    {"eval/problems", "Eval/Problems", NULL, NULL},
    {"eval/lost_samples", "Eval/LostSamples", NULL, NULL},
    {"eval/level/*/pass@1", "Eval/Level*/Pass@1", NULL, NULL},
    {"eval/level/*/pass@5", "Eval/Level*/Pass@5", NULL, NULL},
    {"eval/level/*/compile_rate", "Eval/Level*/CompileRate", "Eval/Level*/QualityOverview",
     "compile"},
    {"eval/level/*/correct_rate", "Eval/Level*/CorrectRate", "Eval/Level*/QualityOverview",
     "correct"},
    {"eval/level/*/fast_1", "Eval/Level*/Fast1x", "Eval/Level*/QualityOverview", "fast_1x"},
    {"eval/level/*/fast_2", "Eval/Level*/Fast2x", "Eval/Level*/QualityOverview", "fast_2x"},
    {"eval/level/*/mean_speedup", "Eval/Level*/MeanSpeedup", NULL, NULL},
    {"eval/level/*/geometric_mean_speedup", "Eval/Level*/GeometricMeanSpeedup", NULL, NULL},
    {"eval/level/*/lost_samples", "Eval/Level*/LostSamples", NULL, NULL},
};
const size_t run_tag_count = COUNT(run_tags);

/* *digits: what stands for the '*', none where there is no '*'. */
static bool matches(const char *pattern, const char *metric, const char **digits, size_t *count)
{
    size_t head = strcspn(pattern, "*");
    *digits = metric + head;
    *count = 0;
    if (pattern[head] == '\0')
        return strcmp(pattern, metric) == 0;
    if (strncmp(pattern, metric, head) != 0)
        return false;
    *count = strspn(*digits, "0123456789");
    return *count > 0 && strcmp(pattern + head + 1, *digits + *count) == 0;
}

/* The pattern with digits in place of its '*'. */
static char *fill(const char *pattern, const char *digits, size_t count)
{
    int head = (int)strcspn(pattern, "*");
    const char *rest = pattern + head + (pattern[head] == '*');
    return mem_printf("%.*s%.*s%s", head, pattern, (int)count, digits, rest);
}

const struct run_tag *run_tag_of(const char *metric, char **tag, char **group)
{
    const char *digits;
    size_t count;
    *group = NULL;
    for (const struct run_tag *row = run_tags; row < run_tags + run_tag_count; row++)
        if (matches(row->metric, metric, &digits, &count)) {
            *tag = fill(row->tag, digits, count);
            *group = row->group ? fill(row->group, digits, count) : NULL;
            return row;
        }
    *tag = mem_strdup(metric);
    return NULL;
}
