/* The metrics of a step's rollouts, and of the method's decisions about them. */
#include "rl/train/train_step.h"

#include "base/array.h"
#include "base/json.h"
#include "rl/collect/evaluation.h"

#include <math.h>
#include <stdio.h>

#define TURNS_LISTED 10
#define NAME_BYTES 64

static void put_metric(void *metrics, const char *name, double value)
{
    json_put(metrics, name, json_number(value));
}

/* Sums of one metric. */
struct figure {
    double sum, squares, least, most;
    size_t count;
};

static void add_value(struct figure *figure, double value)
{
    figure->least = figure->count == 0 || value < figure->least ? value : figure->least;
    figure->most = figure->count == 0 || value > figure->most ? value : figure->most;
    figure->sum += value;
    figure->squares += value * value;
    figure->count++;
}

static double mean_of(const struct figure *figure)
{
    return figure->count > 0 ? figure->sum / (double)figure->count : NAN;
}

static void put_figure(json_t *metrics, const char *name, const struct figure *figure)
{
    char key[NAME_BYTES];
    double middle = mean_of(figure);
    double variance = figure->squares / (double)figure->count - middle * middle;
    const struct {
        const char *end;
        double value;
    } rows[] = {{"mean", middle},
                {"std", sqrt(variance > 0 ? variance : 0)},
                {"min", figure->least},
                {"max", figure->most}};
    for (size_t i = 0; i < COUNT(rows) && figure->count > 0; i++) {
        snprintf(key, sizeof key, "%s/%s", name, rows[i].end);
        put_metric(metrics, key, rows[i].value);
    }
}

/* Counts over turns; excluded ones are ignored. */
struct tally {
    size_t turns, format_ok, compiled, correct, cheated;
    struct figure reward, speedup;
};

static void count_turn(struct tally *tally, const struct rl_turn *turn)
{
    tally->turns++;
    tally->format_ok += turn->format_ok;
    tally->compiled += turn->compiled;
    tally->correct += turn->correct;
    tally->cheated += turn->cheated;
    add_value(&tally->reward, turn->reward);
    if (turn->correct && turn->speedup > 0)
        add_value(&tally->speedup, turn->speedup);
}

static double ratio_of(size_t part, size_t all)
{
    return all > 0 ? (double)part / (double)all : NAN;
}

static void put_rates(json_t *metrics, const char *name, const struct tally *tally)
{
    char key[NAME_BYTES];
    const struct {
        const char *end;
        size_t count;
    } rows[] = {{"compile_rate", tally->compiled}, {"correct_rate", tally->correct}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(key, sizeof key, "%s/%s", name, rows[i].end);
        put_metric(metrics, key, ratio_of(rows[i].count, tally->turns));
    }
    snprintf(key, sizeof key, "%s/reward_mean", name);
    put_metric(metrics, key, mean_of(&tally->reward));
}

static void measure_turns(const struct train_step *step, json_t *metrics)
{
    struct tally all = {0}, levels[EVALUATION_LEVELS] = {0}, turns[TURNS_LISTED] = {0};
    size_t excluded = 0, cut = 0;
    char name[NAME_BYTES];
    for (size_t i = 0; i < step->rollout_count; i++)
        for (size_t t = 0; t < step->rollouts[i]->count; t++) {
            const struct rl_turn *turn = &step->rollouts[i]->turns[t];
            excluded += turn->excluded;
            cut += turn->cut;
            if (turn->excluded)
                continue;
            count_turn(&all, turn);
            count_turn(&levels[evaluation_level_of(step->rollouts[i]->problem)], turn);
            if (t < TURNS_LISTED)
                count_turn(&turns[t], turn);
        }
    put_figure(metrics, "reward", &all.reward);
    put_metric(metrics, "kernel/format_rate", ratio_of(all.format_ok, all.turns));
    put_metric(metrics, "kernel/compile_rate", ratio_of(all.compiled, all.turns));
    put_metric(metrics, "kernel/correct_rate", ratio_of(all.correct, all.turns));
    put_metric(metrics, "kernel/cheat_rate", ratio_of(all.cheated, all.turns));
    if (all.speedup.count > 0)
        put_metric(metrics, "kernel/mean_speedup", mean_of(&all.speedup));
    put_metric(metrics, "count/format_ok", (double)all.format_ok);
    put_metric(metrics, "count/compiled", (double)all.compiled);
    put_metric(metrics, "count/correct", (double)all.correct);
    put_metric(metrics, "batch/total_steps", (double)step->batch.rows);
    put_metric(metrics, "batch/excluded", (double)excluded);
    put_metric(metrics, "batch/cut", (double)cut);
    for (size_t i = 1; i < EVALUATION_LEVELS; i++) {
        snprintf(name, sizeof name, "level/%zu", i);
        if (levels[i].turns > 0)
            put_rates(metrics, name, &levels[i]);
    }
    for (size_t t = 0; t < TURNS_LISTED && turns[1].turns > 0; t++) {
        snprintf(name, sizeof name, "multiturn/turn_%zu", t + 1);
        if (turns[t].turns > 0)
            put_rates(metrics, name, &turns[t]);
    }
}

static void measure_parts(const struct train_step *step, json_t *metrics)
{
    static const char *const parts[] = {"format", "compile",  "correctness", "speed",
                                        "length", "thinking", "coverage"};
    char name[NAME_BYTES];
    struct figure total = {0};
    for (size_t p = 0; p < COUNT(parts); p++) {
        struct figure figure = {0};
        for (size_t row = 0; row < step->batch.rows; row++) {
            const json_t *all = json_object_get(step->turns[row]->record, "reward_parts");
            const json_t *part = json_object_get(all, parts[p]);
            if (!step->turns[row]->excluded && json_is_number(part))
                add_value(&figure, json_number_value(part));
        }
        snprintf(name, sizeof name, "reward_parts/%s", parts[p]);
        if (figure.count > 0)
            put_metric(metrics, name, mean_of(&figure));
    }
    for (size_t row = 0; row < step->batch.rows; row++)
        if (!step->turns[row]->excluded)
            add_value(&total, step->turns[row]->reward);
    if (total.count > 0)
        put_metric(metrics, "reward_parts/total", mean_of(&total));
}

static void measure_rollouts(const struct train_step *step, json_t *metrics)
{
    size_t solved = 0, turns = 0;
    struct figure best = {0};
    for (size_t i = 0; i < step->rollout_count; i++) {
        double fastest = 0;
        bool correct = false;
        for (size_t t = 0; t < step->rollouts[i]->count; t++) {
            const struct rl_turn *turn = &step->rollouts[i]->turns[t];
            correct |= turn->correct;
            if (turn->correct && turn->speedup > fastest)
                fastest = turn->speedup;
        }
        solved += correct;
        turns += step->rollouts[i]->count;
        if (fastest > 0)
            add_value(&best, fastest);
    }
    put_metric(metrics, "batch/num_trajectories", (double)step->rollout_count);
    put_metric(metrics, "multiturn/success_rate", ratio_of(solved, step->rollout_count));
    put_metric(metrics, "multiturn/avg_turns", ratio_of(turns, step->rollout_count));
    if (best.count > 0) {
        put_metric(metrics, "multiturn/best_speedup_mean", mean_of(&best));
        put_metric(metrics, "multiturn/best_speedup_max", best.most);
    }
}

static void measure_tokens(const struct train_step *step, json_t *metrics)
{
    const struct rl_batch *batch = &step->batch;
    struct figure advantage = {0}, length = {0}, entropy = {0};
    for (size_t row = 0; row < batch->rows; row++) {
        add_value(&length, (double)(batch->first[row + 1] - batch->first[row]));
        if (!(batch->drop[row] & RL_ANY))
            add_value(&advantage, batch->advantage[row]);
    }
    for (size_t i = 0; i < batch->tokens; i++)
        add_value(&entropy, -(double)batch->sampled[i]);
    put_figure(metrics, "advantage", &advantage);
    put_metric(metrics, "batch/tokens", (double)batch->tokens);
    put_metric(metrics, "batch/datums", (double)step->datum_count);
    put_metric(metrics, "batch/answer_tokens_mean", mean_of(&length));
    put_metric(metrics, "batch/answer_tokens_max", length.most);
    put_metric(metrics, "policy/entropy", mean_of(&entropy)); /* E[-log π] of the sampled tokens */
    if (isfinite(step->kl))
        put_metric(metrics, "policy/kl_base", step->kl);
    if (isfinite(step->kl))
        put_metric(metrics, "policy/kl_weight", step->options.kl);
}

void train_step_measure(const struct train_step *step, json_t *metrics)
{
    measure_turns(step, metrics);
    measure_parts(step, metrics);
    measure_rollouts(step, metrics);
    measure_tokens(step, metrics);
    /* without scores nothing can be compared */
    rl_step_report_put(&step->report, step->scored > 0, put_metric, metrics);
}
