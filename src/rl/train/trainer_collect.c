/* Rollouts: when they are collected, and which step's are collected ahead. */
#include "base/json.h"
#include "base/mem.h"
#include "gym/episode/trajectory.h"
#include "gym/gym_settings.h"
#include "policy/policy_settings.h"
#include "rl/train/internal.h"
#include "rl/train/train_settings.h"

#include <inttypes.h>

int trainer_refresh(struct trainer *trainer, struct err *err)
{
    uint64_t version;
    if (trainer->fresh)
        return 0;
    int result = train_backend_refresh(trainer->backend, &version, err);
    trainer->fresh = result == 0;
    return result;
}

/* Several rounds may be played at the same time. */
static size_t jobs_of_round(const struct train_settings *train)
{
    int64_t rounds = train->staleness + train->carry;
    int64_t jobs = rounds > 1 ? train->jobs / rounds : train->jobs;
    return jobs > 0 ? (size_t)jobs : 1;
}

int trainer_start_collecting(struct round **out, struct trainer *trainer,
                             const struct collector_options *which, const char *reward,
                             struct err *err)
{
    const struct settings *settings = trainer->settings;
    const struct train_settings *train = train_settings(settings);
    json_t *configuration = train_config_episode(&trainer->config, settings, reward);
    struct round *round = mem_alloc(sizeof *round);
    struct collector_options options = *which;
    options.gym = trainer->gym;
    options.backend = trainer->backend;
    options.evaluator = trainer->evaluator;
    options.configuration = configuration;
    options.thinking = train->thinking;
    options.thinking_open = policy_settings(settings)->thinking_open;
    options.jobs = jobs_of_round(train);
    options.wait_ms = train->wait_ms;
    options.cancelled = trainer->options->cancelled;
    options.on_turn = trainer_on_turn;
    options.context = round;
    round->trainer = trainer;
    round->all = json_array_size(which->tasks) * (which->samples + which->greedy) *
                 (size_t)gym_settings(settings)->turns;
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
        mem_free(round->taken);
        mem_free(round);
        round = before;
    }
}

struct train_backend_sampling trainer_sampling(const struct trainer *trainer,
                                               const struct train_backend_sampling *first,
                                               uint64_t step)
{
    struct train_backend_sampling sampling = *first;
    uint64_t since = step > trainer->finetune.steps ? step - trainer->finetune.steps : 0;
    sampling.max_tokens = token_schedule_at(&trainer->config.max_tokens, first->max_tokens, since);
    return sampling;
}

/* Starts a further round of a step, after *round (NULL: the first), which becomes the new one. */
static int start_round(struct trainer *trainer, uint64_t step, size_t problems,
                       struct round **round, struct err *err)
{
    const struct train_settings *train = train_settings(trainer->settings);
    const struct train_data_position position = trainer->position;
    struct round *before = *round, *next = NULL;
    json_t *tasks = train_data_draw(&trainer->data, &trainer->position, problems);
    const struct collector_options which = {
        .sampling = trainer_sampling(trainer, &trainer->config.sampling, step),
        .seed = (uint64_t)train->seed,
        .step = step,
        .name = "train",
        .tasks = tasks,
        .first_task = before ? before->tasks : 0,
        .samples = trainer->config.episodes,
        .greedy = trainer->config.method.estimator->baseline == RL_BASELINE_GREEDY,
    };
    int result = trainer_start_collecting(&next, trainer, &which,
                                          stages_reward(&trainer->stages,
                                                        gym_reward(trainer->settings)),
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
    next->tasks_drawn = problems;
    next->taken = mem_alloc(problems + 1);
    *round = next;
    return 0;
}

int trainer_start_step(struct trainer *trainer, uint64_t step, struct round **round,
                       struct err *err)
{
    *round = NULL;
    int result = trainer_refresh(trainer, err);
    if (result == 0)
        result = start_round(trainer, step, trainer->config.problems, round, err);
    return result;
}

/* With more than one step ahead, or with carried ones, timing decides which weights write an
 * answer: then nothing is gained by a pause. */
static bool may_play(const struct trainer *trainer, uint64_t step)
{
    const struct train_settings *train = train_settings(trainer->settings);
    return train->staleness == 1 && !train->carry ? !trainer_pauses_at(trainer, step)
                                                  : step < trainer->steps;
}

size_t trainer_problems_ahead(const struct trainer *trainer)
{
    size_t count = 0;
    for (size_t i = 0; i < trainer->ahead_count; i++)
        count += trainer->ahead[i]->tasks_drawn - trainer->ahead[i]->taken_count;
    return count;
}

static bool may_start_more(const struct trainer *trainer)
{
    const size_t most = (size_t)train_settings(trainer->settings)->staleness;
    return trainer_problems_ahead(trainer) < most * trainer->config.problems &&
           trainer->ahead_count < TRAINER_ROUNDS_MOST;
}

int trainer_collect_ahead(struct trainer *trainer, struct err *err)
{
    int result = 0;
    if (trainer->launched <= trainer->step)
        trainer->launched = trainer->step + 1;
    while (result == 0 && may_start_more(trainer) && may_play(trainer, trainer->launched)) {
        result = trainer_start_step(trainer, trainer->launched,
                                    &trainer->ahead[trainer->ahead_count], err);
        if (result == 0) {
            trainer->ahead_count++;
            trainer->launched++;
        }
    }
    return result;
}

void trainer_drop_ahead(struct trainer *trainer)
{
    while (trainer->ahead_count > 0)
        trainer_free_rounds(trainer->ahead[--trainer->ahead_count]);
    trainer->launched = 0;
}

static int log_failed_episodes(struct trainer *trainer, const struct rl_rollout *rollouts,
                               size_t count, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (rollouts[i].trajectory)
            continue;
        json_t *facts = json_object();
        json_put(facts, "step", json_integer((json_int_t)trainer->step));
        json_put(facts, "problem", json_text(rollouts[i].problem));
        json_put(facts, "sample", json_integer((json_int_t)rollouts[i].sample));
        json_put(facts, "why", json_text(rollouts[i].why.text));
        result = run_log(trainer->run, "episode was not played", facts, err);
    }
    return result;
}

/* A step without any verdict must not train. */
static int check_judged(const struct trainer *trainer, const struct train_step *step,
                        const struct rl_rollout *rollouts, size_t count, struct err *err)
{
    const json_t *record = NULL;
    for (size_t i = 0; step->rollout_count == 0 && i < count; i++)
        if (!rollouts[i].trajectory)
            return err_set(err, ERR_INPUT, "step %" PRIu64 ": no episode could be played: %s",
                           trainer->step, rollouts[i].why.text);
    for (size_t row = 0; row < step->batch.rows; row++) {
        if (!step->turns[row]->excluded)
            return 0;
        record = step->turns[row]->record;
    }
    char why[ERR_TEXT_MAX];
    trajectory_why(record, why, sizeof why);
    return err_set(err, ERR_IO, "step %" PRIu64 ": no answer could be judged: %s", trainer->step,
                   why);
}

int trainer_add_rollouts(struct trainer *trainer, struct train_step *step,
                         const struct rl_rollout *rollouts, size_t count, struct err *err)
{
    int result = log_failed_episodes(trainer, rollouts, count, err);
    if (result == 0)
        result = train_step_gather(step, rollouts, count, err);
    if (result == 0)
        train_step_values(step, &trainer->data.records);
    if (result == 0)
        result = check_judged(trainer, step, rollouts, count, err);
    if (result == 0)
        result = train_step_score(step,
                                  train_settings(trainer->settings)->rescore ? trainer->backend
                                                                             : NULL,
                                  err);
    if (result == 0 && trainer->base)
        result = train_step_score_base(step, trainer->base, err);
    if (result == 0)
        train_step_reject(step);
    return result;
}

static int add_round(struct trainer *trainer, struct train_step *step, struct round *round,
                     struct err *err)
{
    const struct rl_rollout *rollouts;
    size_t count;
    int result = trainer_await_rollouts(round, "rollout", &rollouts, &count, err);
    return result < 0 ? result : trainer_add_rollouts(trainer, step, rollouts, count, err);
}

/* Of this step; NULL: it was not played ahead. */
static struct round *take_ahead(struct trainer *trainer)
{
    struct round *first = trainer->ahead_count > 0 ? trainer->ahead[0] : NULL;
    for (size_t i = 1; i < trainer->ahead_count; i++)
        trainer->ahead[i - 1] = trainer->ahead[i];
    trainer->ahead_count -= first != NULL;
    return first;
}

int trainer_collect(struct trainer *trainer, struct train_step *step, struct round **round,
                    struct err *err)
{
    const struct train_settings *train = train_settings(trainer->settings);
    const struct rl_draw draw = {.wanted = (size_t)train->prompts,
                                 .most = (size_t)train->prompts * 4,
                                 .rounds_most = (size_t)train->rounds,
                                 .whole = train->round_whole};
    int result = 0;
    if (train->carry)
        return trainer_collect_carried(trainer, step, round, err);
    *round = take_ahead(trainer);
    if (!*round)
        result = trainer_start_step(trainer, trainer->step, round, err);
    while (result == 0) {
        result = add_round(trainer, step, *round, err);
        size_t more = result < 0 ? 0
                                 : rl_draw_more(&draw, step->report.prompts.usable, (*round)->tasks,
                                                (*round)->number);
        if (more == 0)
            break;
        result = start_round(trainer, trainer->step, more, round, err);
    }
    return result;
}
