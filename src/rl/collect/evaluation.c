#include "rl/collect/evaluation.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gym/report/metrics.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The next smaller double of a power of two: at least p times as fast, as kernel-rl counts it, is
 * more than this. */
#define JUST_BELOW(p) ((p) * (1 - DBL_EPSILON / 2))

#define NAME_BYTES 64

/* The rollouts of each task are adjacent. */
struct set {
    struct arena arena;
    struct gym_problem *problems;
    size_t *levels;
    size_t count;
};

size_t evaluation_level_of(const char *problem)
{
    if (strncmp(problem, "level", 5) != 0 || problem[5] < '1' || problem[5] > '9' ||
        problem[6] != '/')
        return 0;
    return (size_t)(problem[5] - '0');
}

static struct gym_turn make_turn(const struct rl_turn *turn)
{
    return (struct gym_turn){
        .speedup = turn->speedup > 0 ? turn->speedup : 0,
        .reward = turn->reward,
        .status = gym_status_of(json_text_at(turn->record, "status")),
        .format_ok = turn->format_ok,
        .compiled = turn->compiled,
        .correct = turn->correct,
        .excluded = turn->excluded,
        .cheated = turn->cheated,
    };
}

static struct gym_sample make_sample(struct arena *arena, const struct rl_rollout *rollout)
{
    struct gym_turn *turns = arena_alloc(arena, (rollout->count + 1) * sizeof *turns);
    for (size_t i = 0; i < rollout->count; i++)
        turns[i] = make_turn(&rollout->turns[i]);
    return (struct gym_sample){
        .turns = turns,
        .turn_count = rollout->count,
        .first_return = json_number_value(json_object_get(rollout->trajectory, "return")),
    };
}

static void make_set(struct set *set, const struct rl_rollout *rollouts, size_t count, size_t asked)
{
    *set = (struct set){0};
    set->problems = arena_alloc(&set->arena, (count + 1) * sizeof *set->problems);
    set->levels = arena_alloc(&set->arena, (count + 1) * sizeof *set->levels);
    for (size_t i = 0, end; i < count; i = end) {
        struct gym_problem *problem = &set->problems[set->count];
        struct gym_sample *samples = arena_alloc(&set->arena, (asked + 1) * sizeof *samples);
        for (end = i; end < count && rollouts[end].task == rollouts[i].task; end++)
            if (rollouts[end].trajectory && problem->sample_count < asked)
                samples[problem->sample_count++] = make_sample(&set->arena, &rollouts[end]);
        problem->samples = samples;
        problem->asked = asked;
        set->levels[set->count++] = evaluation_level_of(rollouts[i].problem);
    }
}

static bool is_in_level(const struct set *set, size_t problem, size_t level)
{
    return level == 0 || set->levels[problem] == level;
}

/* level 0: all problems. NAN: no value. */
static double measure_set(const struct set *set, const struct gym_measure *measure_set,
                          size_t level)
{
    struct gym_term *terms = mem_alloc((set->count + 1) * sizeof *terms);
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++)
        if (is_in_level(set, i, level))
            terms[count++] = gym_term(measure_set, &set->problems[i]);
    double value = gym_estimate(terms, count, gym_measures[measure_set->kind].scale, NULL).value;
    mem_free(terms);
    return value;
}

/* The arithmetic mean, as in the original code. */
static double mean_speedup(const struct set *set, size_t level)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        size_t correct;
        double best = gym_best_sample(&set->problems[i], &correct);
        if (best > 0 && is_in_level(set, i, level)) {
            sum += best;
            count++;
        }
    }
    return count > 0 ? sum / (double)count : NAN;
}

static void put_metric(json_t *metrics, size_t level, const char *name, double value)
{
    char key[NAME_BYTES];
    if (isnan(value))
        return;
    if (level > 0)
        snprintf(key, sizeof key, "eval/level/%zu/%s", level, name);
    else
        snprintf(key, sizeof key, "eval/%s", name);
    json_put(metrics, key, json_number(value));
}

static void put_level_metrics(const struct set *set, size_t level, size_t samples, json_t *metrics)
{
    static const struct {
        const char *name;
        struct gym_measure measure;
    } rows[] = {
        {"correct_rate", {.kind = GYM_FAST_SAMPLES}},
        {"compile_rate", {.kind = GYM_COMPILED, .turn = GYM_ALL_TURNS}},
        {"fast_1", {.kind = GYM_FAST_PROBLEMS, .p = JUST_BELOW(1)}},
        {"fast_2", {.kind = GYM_FAST_PROBLEMS, .p = JUST_BELOW(2)}},
        {"geometric_mean_speedup", {.kind = GYM_SPEEDUP_SOLVED}},
        {"return", {.kind = GYM_RETURN}},
    };
    const size_t ks[] = {1, 5, samples};
    char name[NAME_BYTES];
    for (size_t i = 0; i < COUNT(rows); i++)
        put_metric(metrics, level, rows[i].name, measure_set(set, &rows[i].measure, level));
    for (size_t i = 0; i < COUNT(ks); i++) {
        const struct gym_measure pass = {.kind = GYM_PASS, .k = ks[i]};
        snprintf(name, sizeof name, "pass@%zu", ks[i]);
        if (ks[i] <= samples)
            put_metric(metrics, level, name, measure_set(set, &pass, level));
    }
    put_metric(metrics, level, "mean_speedup", mean_speedup(set, level));
}

/* Counts a level's samples, and those without a judged turn, which say nothing about the policy. */
static size_t count_samples(const struct set *set, size_t level, size_t asked, size_t *lost)
{
    size_t count = 0;
    *lost = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct gym_problem *problem = &set->problems[i];
        if (!is_in_level(set, i, level))
            continue;
        count += asked;
        *lost += asked - problem->sample_count;
        for (size_t s = 0; s < problem->sample_count; s++)
            *lost += gym_is_lost(&problem->samples[s]);
    }
    return count;
}

void evaluation_measure(const struct rl_rollout *rollouts, size_t count, size_t samples,
                        json_t *metrics)
{
    struct set set;
    make_set(&set, rollouts, count, samples);
    for (size_t level = 0; level < EVALUATION_LEVELS; level++) {
        size_t lost, all = count_samples(&set, level, samples, &lost);
        if (level == 0)
            put_metric(metrics, level, "problems", (double)set.count);
        if (all > 0)
            put_metric(metrics, level, "lost_samples", (double)lost);
        if (lost < all)
            put_level_metrics(&set, level, samples, metrics);
    }
    arena_deinit(&set.arena);
}

char *evaluation_path(const char *directory, uint64_t step)
{
    return mem_printf("%s/" EVALUATION_DIRECTORY "/step-%06" PRIu64 ".jsonl", directory, step);
}

static int write_trajectory(int fd, const json_t *trajectory, const char *path, struct err *err)
{
    struct buf line;
    buf_init(&line, LIMIT_TRAJECTORY_BYTES);
    int result = json_line_write(trajectory, &line, err);
    if (result < 0)
        err_prefix(err, "%s", path);
    else
        result = file_write_fd(fd, path, line.data, line.len, err);
    buf_deinit(&line);
    return result;
}

int evaluation_write(const struct rl_rollout *rollouts, size_t count, const char *path,
                     struct err *err)
{
    struct file_new file;
    int result = file_new_open(&file, path, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count && result == 0; i++)
        if (rollouts[i].trajectory)
            result = write_trajectory(file.fd, rollouts[i].trajectory, path, err);
    return file_new_end(&file, result, 0644, err);
}
