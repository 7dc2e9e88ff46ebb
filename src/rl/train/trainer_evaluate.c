/* Evaluations on the held-out problems. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "gym/episode/trajectory.h"
#include "gym/gym_settings.h"
#include "rl/collect/evaluation.h"
#include "rl/method/counter_random.h"
#include "rl/train/internal.h"
#include "rl/train/train_settings.h"

#include <inttypes.h>
#include <stdio.h>

bool trainer_evaluates_at(const struct trainer *trainer, uint64_t step)
{
    uint64_t every = (uint64_t)train_settings(trainer->settings)->evaluate_every;
    uint64_t first = trainer->finetune.steps;
    return every > 0 && json_array_size(trainer->data.held_out) > 0 && step >= first &&
           ((step - first) % every == 0 || step == trainer->steps);
}

static int collect_held_out(struct trainer *trainer, struct round **round, struct err *err)
{
    const struct settings *settings = trainer->settings;
    const struct train_settings *train = train_settings(settings);
    const struct collector_options which = {
        .sampling = trainer_sampling(trainer, &trainer->config.evaluation, trainer->step),
        .seed = rl_random_bits((uint64_t)train->seed, 0, RL_STREAM_HELD_OUT, 0),
        .step = trainer->step,
        .name = "evaluate",
        .tasks = trainer->data.held_out,
        .samples = (size_t)train->evaluate_samples,
    };
    int result = trainer_refresh(trainer, err);
    return result < 0 ? result
                      : trainer_start_collecting(round, trainer, &which, gym_reward(settings), err);
}

/* An evaluation without any result must not be recorded. */
static int check_collected(const struct trainer *trainer, const struct rl_rollout *rollouts,
                           size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (rollouts[i].trajectory)
            return 0;
    return count == 0 ? 0
                      : err_set(err, ERR_INPUT,
                                "step %" PRIu64 ": no held-out episode could be "
                                "played: %s",
                                trainer->step, rollouts[0].why.text);
}

static int write_evaluation(const struct trainer *trainer, const struct rl_rollout *rollouts,
                            size_t count, struct err *err)
{
    char *path = evaluation_path(run_directory(trainer->run), trainer->step);
    char *directory = file_parent(path);
    int result = file_make_directories(directory, 0755, err);
    if (result == 0)
        result = evaluation_write(rollouts, count, path, err);
    mem_free(path);
    mem_free(directory);
    return result;
}

/* An unjudged answer counts as not solved, as in all reports: so a better result with some lost
 * samples is better, and a worse one proves nothing. */
static bool update_best(struct trainer *trainer, bool unjudged)
{
    static const char *const names[] = {"eval/correct_rate", "eval/fast_1", "eval/return"};
    const json_t *measure = json_object_get(trainer->evaluation,
                                            names[train_settings(trainer->settings)->measure]);
    double value = json_number_value(measure);
    if (!json_is_number(measure) || value <= trainer->best) {
        trainer->worse += !unjudged;
        return false;
    }
    trainer->best = value;
    trainer->best_step = trainer->step;
    trainer->worse = 0;
    return true;
}

/* The episode ran, but no turn was judged. */
static bool is_unjudged(const struct rl_rollout *rollout)
{
    size_t excluded = 0;
    for (size_t i = 0; i < rollout->count; i++)
        excluded += rollout->turns[i].excluded;
    return rollout->trajectory && rollout->count > 0 && excluded == rollout->count;
}

/* Failed episodes do not count here: they fail each time. */
static bool any_unjudged(const struct rl_rollout *rollouts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_unjudged(&rollouts[i]))
            return true;
    return false;
}

/* The reason of the first episode without a judged turn. */
static void find_reason(const struct rl_rollout *rollouts, size_t count, char *why,
                        size_t why_bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (!rollouts[i].trajectory) {
            snprintf(why, why_bytes, "%s", rollouts[i].why.text);
            return;
        }
        if (is_unjudged(&rollouts[i])) {
            trajectory_why(rollouts[i].turns[0].record, why, why_bytes);
            return;
        }
    }
}

static int log_lost(struct trainer *trainer, const struct rl_rollout *rollouts, size_t count,
                    const json_t *lost, struct err *err)
{
    char why[ERR_TEXT_MAX] = "";
    json_t *facts = json_object();
    find_reason(rollouts, count, why, sizeof why);
    json_put(facts, "step", json_integer((json_int_t)trainer->step));
    json_put(facts, "lost", json_integer((json_int_t)json_number_value(lost)));
    json_put(facts, "samples", json_integer((json_int_t)count));
    json_put(facts, "why", json_text(why));
    return run_log(trainer->run, "evaluation was not judged", facts, err);
}

int trainer_evaluate(struct trainer *trainer, bool *improved, struct err *err)
{
    const struct rl_rollout *rollouts;
    struct round *round = NULL;
    size_t count;
    int64_t begun_ns = clock_now_ns();
    *improved = false;
    if (trainer->evaluation || !trainer_evaluates_at(trainer, trainer->step))
        return 0;
    int result = collect_held_out(trainer, &round, err);
    if (result == 0)
        result = trainer_await_rollouts(round, "evaluate", &rollouts, &count, err);
    if (result == 0)
        result = check_collected(trainer, rollouts, count, err);
    if (result == 0)
        result = write_evaluation(trainer, rollouts, count, err);
    if (result == 0) {
        trainer->evaluation = json_object();
        evaluation_measure(rollouts, count,
                           (size_t)train_settings(trainer->settings)->evaluate_samples,
                           trainer->evaluation);
        json_put(trainer->evaluation, "time/evaluate", json_real(clock_ms_since(begun_ns) * 1e-3));
        const json_t *lost = json_object_get(trainer->evaluation, "eval/lost_samples");
        *improved = update_best(trainer, any_unjudged(rollouts, count));
        trainer_mark(trainer);
        trainer_report_progress(trainer, 0, trainer->evaluation);
        if (json_number_value(lost) > 0)
            result = log_lost(trainer, rollouts, count, lost, err);
    }
    trainer_free_rounds(round);
    return result;
}
