/* Progress events and run status. */
#include "rl/train/internal.h"

static void report_progress(struct trainer *trainer, const json_t *metrics)
{
    const struct trainer_progress progress = {.phase = trainer->phase,
                                              .step = trainer->step,
                                              .steps = trainer->steps,
                                              .done = trainer->done,
                                              .all = trainer->all,
                                              .metrics = metrics};
    run_status(trainer->run, trainer->phase, trainer->step, trainer->steps, trainer->done,
               trainer->all);
    if (trainer->options->on_progress)
        trainer->options->on_progress(trainer->options->context, &progress);
}

static void begin_phase(struct trainer *trainer, const char *phase, const struct round *round,
                        size_t done, size_t all)
{
    trainer->phase = phase;
    trainer->awaited = round;
    trainer->done = done;
    trainer->all = all;
    report_progress(trainer, NULL);
}

void trainer_begin_phase(struct trainer *trainer, const char *phase, size_t all)
{
    pthread_mutex_lock(&trainer->lock);
    begin_phase(trainer, phase, NULL, 0, all);
    pthread_mutex_unlock(&trainer->lock);
}

void trainer_report_progress(struct trainer *trainer, size_t done, const json_t *metrics)
{
    pthread_mutex_lock(&trainer->lock);
    trainer->done += done;
    report_progress(trainer, metrics);
    pthread_mutex_unlock(&trainer->lock);
}

void trainer_begin_awaited(struct trainer *trainer, const char *phase, const struct round *round)
{
    pthread_mutex_lock(&trainer->lock);
    begin_phase(trainer, phase, round, round->done, round->all);
    pthread_mutex_unlock(&trainer->lock);
}

void trainer_end_awaited(struct trainer *trainer)
{
    pthread_mutex_lock(&trainer->lock);
    trainer->awaited = NULL;
    pthread_mutex_unlock(&trainer->lock);
}

void trainer_on_turn(void *context, const struct rl_rollout *rollout, const struct rl_turn *turn)
{
    struct round *round = context;
    struct trainer *trainer = round->trainer;
    (void)rollout;
    (void)turn;
    pthread_mutex_lock(&trainer->lock);
    round->done++;
    if (trainer->awaited == round) {
        trainer->done = round->done;
        report_progress(trainer, NULL);
    }
    pthread_mutex_unlock(&trainer->lock);
}
