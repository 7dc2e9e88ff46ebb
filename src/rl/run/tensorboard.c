#include "rl/run/tensorboard.h"

#include "base/array.h"
#include "base/file.h"
#include "base/mem.h"
#include "rl/run/run_settings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const struct tensorboard_tag tensorboard_tags[] = {
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
const size_t tensorboard_tag_count = COUNT(tensorboard_tags);

/* *digits: the digits at the '*'; empty without one. */
static bool tag_matches(const char *pattern, const char *metric, const char **digits, size_t *count)
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

/* The pattern with digits for its '*'. */
static char *fill_tag(const char *pattern, const char *digits, size_t count)
{
    int head = (int)strcspn(pattern, "*");
    const char *rest = pattern + head + (pattern[head] == '*');
    return mem_printf("%.*s%.*s%s", head, pattern, (int)count, digits, rest);
}

const struct tensorboard_tag *tensorboard_tag_of(const char *metric, char **tag, char **group)
{
    const char *digits;
    size_t count;
    *group = NULL;
    for (const struct tensorboard_tag *row = tensorboard_tags;
         row < tensorboard_tags + tensorboard_tag_count; row++)
        if (tag_matches(row->metric, metric, &digits, &count)) {
            *tag = fill_tag(row->tag, digits, count);
            *group = row->group ? fill_tag(row->group, digits, count) : NULL;
            return row;
        }
    *tag = mem_strdup(metric);
    return NULL;
}

int tensorboard_open(struct tensorboard *tensorboard, const char *directory, uint64_t first_step,
                     struct err *err)
{
    *tensorboard = (struct tensorboard){.directory = mem_printf("%s/" TENSORBOARD_DIRECTORY,
                                                                directory),
                                        .first_step = first_step};
    int result = event_file_open(&tensorboard->main, tensorboard->directory, first_step, err);
    if (result < 0) {
        mem_free(tensorboard->directory);
        *tensorboard = (struct tensorboard){0};
    }
    return result;
}

void tensorboard_close(struct tensorboard *tensorboard)
{
    if (!tensorboard->directory)
        return;
    event_file_close(&tensorboard->main);
    for (struct tensorboard_member *member = tensorboard->members, *next; member; member = next) {
        next = member->next;
        event_file_close(&member->events);
        mem_free(member->directory);
        mem_free(member);
    }
    mem_free(tensorboard->directory);
    *tensorboard = (struct tensorboard){0};
}

/* "tensorboard/Reward_Summary_mean", as TensorBoard's add_scalars names it. */
static char *member_directory(const struct tensorboard *tensorboard, const char *group,
                              const char *name)
{
    char *directory = mem_printf("%s/%s_%s", tensorboard->directory, group, name);
    for (char *at = directory + strlen(tensorboard->directory) + 1; *at; at++)
        if (*at == '/' || *at == ' ')
            *at = '_';
    return directory;
}

/* Opened at its first value. */
static int find_member(struct tensorboard *tensorboard, const char *group, const char *name,
                       struct event_file **out, struct err *err)
{
    char *directory = member_directory(tensorboard, group, name);
    for (struct tensorboard_member *member = tensorboard->members; member; member = member->next)
        if (strcmp(member->directory, directory) == 0) {
            mem_free(directory);
            *out = &member->events;
            return 0;
        }
    struct tensorboard_member *member = mem_alloc(sizeof *member);
    int result = event_file_open(&member->events, directory, tensorboard->first_step, err);
    if (result < 0) {
        mem_free(directory);
        mem_free(member);
        return result;
    }
    member->directory = directory;
    member->next = tensorboard->members;
    tensorboard->members = member;
    *out = &member->events;
    return 0;
}

static int put_metric(struct tensorboard *tensorboard, uint64_t step, const char *metric,
                      double value, struct err *err)
{
    char *tag, *group;
    const struct tensorboard_tag *row = tensorboard_tag_of(metric, &tag, &group);
    struct event_file *member;
    int result = event_file_scalar(&tensorboard->main, step, tag, value, err);
    if (result == 0 && group) {
        result = find_member(tensorboard, group, row->member, &member, err);
        if (result == 0)
            result = event_file_scalar(member, step, group, value, err);
    }
    mem_free(group);
    mem_free(tag);
    return result;
}

int tensorboard_metrics(struct tensorboard *tensorboard, uint64_t step, const json_t *metrics,
                        struct err *err)
{
    const char *name;
    json_t *value;
    int result = 0;
    json_object_foreach((json_t *)metrics, name, value)
    {
        if (result == 0 && json_is_number(value))
            result = put_metric(tensorboard, step, name, json_number_value(value), err);
    }
    return result;
}

#define HPARAM_BYTES 1000

static const char *const sections[] = {"train.", "gym.", "policy.", "lm.", "check."};
static const char *const secrets[] = {"policy.token", "policy.url"};

static bool is_hparam(const char *path)
{
    for (size_t i = 0; i < COUNT(secrets); i++)
        if (strcmp(path, secrets[i]) == 0)
            return false;
    for (size_t i = 0; i < COUNT(sections); i++)
        if (strncmp(path, sections[i], strlen(sections[i])) == 0)
            return true;
    return false;
}

static char *hparam_name(const char *path)
{
    char *name = mem_strdup(path);
    for (char *at = name; *at; at++)
        if (*at == '.')
            *at = '/';
    return name;
}

/* A number, or the text without its quotes. */
static void read_hparam(const struct settings *settings, size_t index,
                        struct event_file_hparam *hparam)
{
    struct buf text;
    char *end;
    buf_init(&text, HPARAM_BYTES);
    settings_show_value(settings, index, &text);
    hparam->value = strtod(text.data, &end);
    if (end != text.data && *end == '\0') {
        buf_deinit(&text);
        return;
    }
    hparam->text = run_settings_unquote(text.data);
    buf_deinit(&text);
}

int tensorboard_hparams(struct event_file *events, const char *directory,
                        const struct settings *settings, struct err *err)
{
    struct event_file_hparam *hparams = mem_alloc(settings_count() * sizeof *hparams);
    size_t count = 0;
    for (size_t i = 0; i < settings_count(); i++)
        if (is_hparam(settings_path(i))) {
            hparams[count].name = hparam_name(settings_path(i));
            read_hparam(settings, i, &hparams[count++]);
        }
    int result = event_file_hparams(events, file_basename(directory), hparams, count, err);
    for (size_t i = 0; i < count; i++) {
        mem_free((char *)hparams[i].name);
        mem_free((char *)hparams[i].text);
    }
    mem_free(hparams);
    return result;
}
