/* The rows of a step: finished rollouts, from as many rounds as needed. */
#include "base/json.h"
#include "gym/episode/trajectory.h"
#include "rl/train/internal.h"

#include <inttypes.h>

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
        json_decref(facts);
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

/* Adds a round's rollouts as rows, with everything known about them. */
static int add_rollouts(struct trainer *trainer, struct train_step *step, struct round *round,
                        struct err *err)
{
    const struct rl_rollout *rollouts;
    size_t count;
    int result = trainer_await_rollouts(round, "rollout", &rollouts, &count, err);
    if (result == 0)
        result = log_failed_episodes(trainer, rollouts, count, err);
    if (result == 0)
        result = train_step_gather(step, rollouts, count, err);
    if (result == 0)
        result = check_judged(trainer, step, rollouts, count, err);
    if (result == 0)
        result = train_step_score(step, trainer->settings->train_rescore ? trainer->backend : NULL,
                                  err);
    if (result == 0 && trainer->base)
        result = train_step_score_base(step, trainer->base, err);
    if (result == 0)
        train_step_reject(step);
    return result;
}

int trainer_collect(struct trainer *trainer, struct train_step *step, struct round **round,
                    struct err *err)
{
    const struct settings *settings = trainer->settings;
    const struct rl_draw draw = {.wanted = (size_t)settings->train_prompts,
                                 .most = (size_t)settings->train_prompts * 4,
                                 .rounds_most = (size_t)settings->train_rounds,
                                 .whole = settings->train_round_whole};
    int result = 0;
    *round = trainer->ahead;
    trainer->ahead = NULL;
    if (!*round)
        result = trainer_start_step(trainer, trainer->step, round, err);
    while (result == 0) {
        result = add_rollouts(trainer, step, *round, err);
        size_t more = result < 0 ? 0
                                 : rl_draw_more(&draw, step->report.prompts.usable, (*round)->tasks,
                                                (*round)->number);
        if (more == 0)
            break;
        result = trainer_start_round(trainer, trainer->step, more, round, err);
    }
    return result;
}
