/* Steps out of several rounds: each takes the problems whose episodes are over first, and leaves
 * the others to later steps. Their episodes go on, with the weights of each step that passes: the
 * answers of one episode may be of several versions, each with the log-probabilities it was sampled
 * with. */
#include "base/clock.h"
#include "rl/train/internal.h"
#include "rl/train/train_settings.h"

#include <time.h>

#define LOOK_MS 20 /* between two looks at what is over */

static size_t count_over(const struct round *round)
{
    size_t count = 0;
    for (size_t task = 0; task < round->tasks_drawn; task++)
        count += !round->taken[task] && collector_task_over(round->collector, task);
    return count;
}

/* Waits until `wanted` problems are over, or all. An error that ended a round is that of its
 * collector_wait. */
static int await_problems(struct trainer *trainer, size_t wanted, struct err *err)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    for (;;) {
        size_t over = 0, left = 0;
        for (size_t i = 0; i < trainer->ahead_count; i++) {
            struct round *round = trainer->ahead[i];
            const struct rl_rollout *rollouts;
            size_t count;
            if (collector_ended(round->collector))
                return collector_wait(round->collector, &rollouts, &count, err);
            over += count_over(round);
            left += round->tasks_drawn - round->taken_count;
        }
        if (over >= wanted || over == left)
            return 0;
        nanosleep(&look, NULL);
    }
}

/* Copies a task's rollouts, as task `number` of the step. */
static size_t pick_task(struct trainer *trainer, struct round *round, size_t task, size_t number,
                        size_t count)
{
    const size_t greedy = trainer->config.method.estimator->baseline == RL_BASELINE_GREEDY;
    const size_t samples = trainer->config.episodes + greedy;
    const struct rl_rollout *rollouts = collector_rollouts(round->collector) + task * samples;
    for (size_t i = 0; i < samples; i++) {
        trainer->picked[count + i] = rollouts[i];
        trainer->picked[count + i].task = number;
    }
    round->taken[task] = true;
    round->taken_count++;
    return count + samples;
}

static size_t pick_problems(struct trainer *trainer, size_t wanted)
{
    size_t count = 0, number = 0;
    mem_free(trainer->picked);
    trainer->picked = mem_alloc((wanted * (trainer->config.episodes + 1) + 1) *
                                sizeof *trainer->picked);
    for (size_t i = 0; i < trainer->ahead_count; i++)
        for (size_t task = 0; task < trainer->ahead[i]->tasks_drawn && number < wanted; task++) {
            struct round *round = trainer->ahead[i];
            if (!round->taken[task] && collector_task_over(round->collector, task))
                count = pick_task(trainer, round, task, number++, count);
        }
    return count;
}

/* Rounds of which nothing is left go to *round: the step needs their rollouts until its end. */
static void release_rounds(struct trainer *trainer, struct round **round)
{
    size_t kept = 0;
    for (size_t i = 0; i < trainer->ahead_count; i++) {
        struct round *one = trainer->ahead[i];
        if (one->taken_count < one->tasks_drawn) {
            trainer->ahead[kept++] = one;
            continue;
        }
        one->before = *round;
        *round = one;
    }
    trainer->ahead_count = kept;
}

int trainer_collect_carried(struct trainer *trainer, struct train_step *step, struct round **round,
                            struct err *err)
{
    int result = 0;
    *round = NULL;
    if (trainer_problems_ahead(trainer) < trainer->config.problems &&
        trainer->ahead_count < TRAINER_ROUNDS_MOST) {
        result = trainer_start_step(trainer, trainer->step, &trainer->ahead[trainer->ahead_count],
                                    err);
        trainer->ahead_count += result == 0;
    }
    if (result < 0)
        return result;
    trainer_begin_awaited(trainer, "rollout", trainer->ahead[0]);
    result = await_problems(trainer, trainer->config.problems, err);
    trainer_end_awaited(trainer);
    if (result < 0)
        return result;
    size_t count = pick_problems(trainer, trainer->config.problems);
    release_rounds(trainer, round);
    return trainer_add_rollouts(trainer, step, trainer->picked, count, err);
}
