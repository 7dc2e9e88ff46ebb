/* Held-out problems: how good the policy is on what it is not trained on. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "rl/evaluate.h"
#include "rl/random.h"
#include "rl/trainer_parts.h"

#include <inttypes.h>

static bool is_due(const struct trainer *trainer)
{
    const struct settings *settings = trainer->settings;
    uint64_t every = (uint64_t)settings->train_evaluate_every, first = trainer->finetune.steps;
    return every > 0 && json_array_size(trainer->data.held_out) > 0 && trainer->step >= first &&
           ((trainer->step - first) % every == 0 || trainer->step == trainer->steps) &&
           !trainer->evaluation;
}

static int play_held_out(struct trainer *trainer, struct play **play, struct err *err)
{
    const struct settings *settings = trainer->settings;
    json_t *configuration = trainer_configuration(trainer, settings->gym_reward);
    const struct play_options options = {
        .gym = trainer->gym,
        .learner = trainer->learner,
        .evaluator = trainer->evaluator,
        .configuration = configuration,
        .sampling = trainer->config.evaluation,
        .thinking = settings->train_thinking,
        .thinking_open = settings->policy_thinking_open,
        .seed = rl_number((uint64_t)settings->train_seed, 0, RL_STREAM_HELD_OUT, 0),
        .step = trainer->step,
        .name = "evaluate",
        .tasks = trainer->data.held_out,
        .samples = (size_t)settings->train_evaluate_samples,
        .jobs = (size_t)settings->train_jobs,
        .wait_ms = settings->train_wait_ms,
        .cancelled = trainer->options->cancelled,
        .tell = trainer_hear_turn,
        .context = trainer,
    };
    trainer_begin_phase(trainer, "evaluate",
                        json_array_size(options.tasks) * options.samples *
                            (size_t)settings->gym_turns);
    int result = play_start(play, &options, err);
    json_decref(configuration);
    return result;
}

/* Figures of nothing would be kept for good. */
static int check_played(const struct trainer *trainer, const struct play_rollout *rollouts,
                        size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (rollouts[i].trajectory)
            return 0;
    return count == 0 ? 0
                      : err_set(err, ERR_INPUT,
                                "step %" PRIu64 ": no episode could be played of those that are "
                                "held out: %s",
                                trainer->step, rollouts[0].why.text);
}

static int write_evaluation(const struct trainer *trainer, const struct play_rollout *rollouts,
                            size_t count, struct err *err)
{
    char *directory = mem_printf("%s/evaluations", run_directory(trainer->run));
    char *path = mem_printf("%s/step-%06" PRIu64 ".jsonl", directory, trainer->step);
    int result = file_make_directories(directory, 0755, err);
    if (result == 0)
        result = evaluate_write(rollouts, count, path, err);
    mem_free(path);
    mem_free(directory);
    return result;
}

static bool see_best(struct trainer *trainer)
{
    static const char *const names[] = {"eval/correct_rate", "eval/fast_1", "eval/return"};
    double value = json_number_value(
        json_object_get(trainer->evaluation, names[trainer->config.measure]));
    if (value <= trainer->best) {
        trainer->worse++;
        return false;
    }
    trainer->best = value;
    trainer->best_step = trainer->step;
    trainer->worse = 0;
    return true;
}

int trainer_evaluate(struct trainer *trainer, bool *improved, struct err *err)
{
    const struct play_rollout *rollouts;
    struct play *play = NULL;
    size_t count;
    int64_t begun_ns = clock_now_ns();
    *improved = false;
    if (!is_due(trainer))
        return 0;
    int result = play_held_out(trainer, &play, err);
    if (result == 0)
        result = play_wait(play, &rollouts, &count, err);
    if (result == 0)
        result = check_played(trainer, rollouts, count, err);
    if (result == 0)
        result = write_evaluation(trainer, rollouts, count, err);
    if (result == 0) {
        trainer->evaluation = json_object();
        evaluate_measure(rollouts, count, (size_t)trainer->settings->train_evaluate_samples,
                         trainer->evaluation);
        json_put(trainer->evaluation, "time/evaluate", json_real(clock_ms_since(begun_ns) * 1e-3));
        *improved = see_best(trainer);
        trainer_tell(trainer, 0, trainer->evaluation);
    }
    play_free(play);
    return result;
}
