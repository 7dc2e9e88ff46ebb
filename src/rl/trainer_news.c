/* What people are told while a run goes on. */
#include "rl/trainer_parts.h"

static void tell(struct trainer *trainer, const json_t *metrics)
{
    const struct trainer_news news = {.phase = trainer->phase,
                                      .step = trainer->step,
                                      .steps = trainer->steps,
                                      .done = trainer->done,
                                      .all = trainer->all,
                                      .metrics = metrics};
    run_status(trainer->run, trainer->phase, trainer->step, trainer->steps, trainer->done,
               trainer->all);
    if (trainer->options->tell)
        trainer->options->tell(trainer->options->context, &news);
}

void trainer_begin_phase(struct trainer *trainer, const char *phase, size_t all)
{
    pthread_mutex_lock(&trainer->lock);
    trainer->phase = phase;
    trainer->done = 0;
    trainer->all = all;
    tell(trainer, NULL);
    pthread_mutex_unlock(&trainer->lock);
}

void trainer_tell(struct trainer *trainer, size_t done, const json_t *metrics)
{
    pthread_mutex_lock(&trainer->lock);
    trainer->done += done;
    tell(trainer, metrics);
    pthread_mutex_unlock(&trainer->lock);
}

void trainer_hear_turn(void *trainer, const struct play_rollout *rollout,
                       const struct play_turn *turn)
{
    (void)rollout;
    (void)turn;
    trainer_tell(trainer, 1, NULL);
}
