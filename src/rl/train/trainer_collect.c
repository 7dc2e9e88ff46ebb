/* Rollouts: when they are collected, and which step's are collected ahead. */
#include "base/json.h"
#include "base/mem.h"
#include "rl/train/internal.h"

int trainer_refresh(struct trainer *trainer, struct err *err)
{
    uint64_t version;
    if (trainer->fresh)
        return 0;
    int result = train_backend_refresh(trainer->backend, &version, err);
    trainer->fresh = result == 0;
    return result;
}

int trainer_start_collecting(struct round **out, struct trainer *trainer,
                             const struct collector_options *which, const char *reward,
                             struct err *err)
{
    const struct settings *settings = trainer->settings;
    json_t *configuration = train_config_episode(&trainer->config, settings, reward);
    struct round *round = mem_alloc(sizeof *round);
    struct collector_options options = *which;
    options.gym = trainer->gym;
    options.backend = trainer->backend;
    options.evaluator = trainer->evaluator;
    options.configuration = configuration;
    options.thinking = settings->train_thinking;
    options.thinking_open = settings->policy_thinking_open;
    options.jobs = (size_t)settings->train_jobs;
    options.wait_ms = settings->train_wait_ms;
    options.cancelled = trainer->options->cancelled;
    options.on_turn = trainer_on_turn;
    options.context = round;
    round->trainer = trainer;
    round->all = json_array_size(which->tasks) * which->samples * (size_t)settings->gym_turns;
    int result = collector_start(&round->collector, &options, err);
    json_decref(configuration);
    if (result < 0)
        mem_free(round);
    else
        *out = round;
    return result;
}

int trainer_await_rollouts(struct round *round, const char *phase,
                           const struct rl_rollout **rollouts, size_t *count, struct err *err)
{
    trainer_begin_awaited(round->trainer, phase, round);
    int result = collector_wait(round->collector, rollouts, count, err);
    trainer_end_awaited(round->trainer);
    return result;
}

void trainer_free_rounds(struct round *round)
{
    while (round) {
        struct round *before = round->before;
        collector_free(round->collector);
        mem_free(round);
        round = before;
    }
}

int trainer_start_round(struct trainer *trainer, uint64_t step, size_t problems,
                        struct round **round, struct err *err)
{
    const struct train_data_position position = trainer->position;
    struct round *before = *round, *next = NULL;
    json_t *tasks = train_data_draw(&trainer->data, &trainer->position, problems);
    const struct collector_options which = {
        .sampling = trainer->config.sampling,
        .seed = (uint64_t)trainer->settings->train_seed,
        .step = step,
        .name = "train",
        .tasks = tasks,
        .first_task = before ? before->tasks : 0,
        .samples = (size_t)trainer->settings->train_samples,
    };
    int result = trainer_start_collecting(&next, trainer, &which,
                                          stages_reward(&trainer->stages,
                                                        trainer->settings->gym_reward),
                                          err);
    json_decref(tasks);
    if (result < 0) {
        trainer->position = position;
        return result;
    }
    next->before = before;
    next->position = position;
    next->number = before ? before->number + 1 : 1;
    next->tasks = which.first_task + problems;
    *round = next;
    return 0;
}

int trainer_start_step(struct trainer *trainer, uint64_t step, struct round **round,
                       struct err *err)
{
    *round = NULL;
    int result = trainer_refresh(trainer, err);
    if (result == 0)
        result = trainer_start_round(trainer, step, (size_t)trainer->settings->train_prompts, round,
                                     err);
    return result;
}

int trainer_collect_ahead(struct trainer *trainer, struct err *err)
{
    uint64_t next = trainer->step + 1;
    if (trainer->settings->train_lag == 0 || trainer_pauses_at(trainer, next))
        return 0;
    return trainer_start_step(trainer, next, &trainer->ahead, err);
}

void trainer_drop_ahead(struct trainer *trainer)
{
    trainer_free_rounds(trainer->ahead);
    trainer->ahead = NULL;
}
