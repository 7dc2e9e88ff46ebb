/* Episodes of a step: when they begin, and which run ahead of the one that is trained. */
#include "base/json.h"
#include "rl/trainer_parts.h"

json_t *trainer_configuration(const struct trainer *trainer, const char *reward)
{
    json_t *configuration = json_object();
    json_put(configuration, "reward", json_text(reward));
    json_put(configuration, "gamma", json_number(trainer->config.method.returns.gamma));
    json_put(configuration, "evaluation",
             json_pack("{s:b}", "timing", trainer->settings->train_timing));
    return configuration;
}

int trainer_start_play(struct trainer *trainer, uint64_t step, const json_t *tasks,
                       size_t first_task, struct play **play, struct err *err)
{
    const struct settings *settings = trainer->settings;
    json_t *configuration = trainer_configuration(trainer, stages_reward(&trainer->stages,
                                                                         settings->gym_reward));
    const struct play_options options = {
        .gym = trainer->gym,
        .learner = trainer->learner,
        .evaluator = trainer->evaluator,
        .configuration = configuration,
        .sampling = trainer->config.sampling,
        .thinking = settings->train_thinking,
        .thinking_open = settings->policy_thinking_open,
        .seed = (uint64_t)settings->train_seed,
        .step = step,
        .name = "train",
        .tasks = tasks,
        .first_task = first_task,
        .samples = (size_t)settings->train_samples,
        .jobs = (size_t)settings->train_jobs,
        .wait_ms = settings->train_wait_ms,
        .cancelled = trainer->options->cancelled,
        .tell = step == trainer->step ? trainer_hear_turn : NULL, /* the one waited for */
        .context = trainer,
    };
    int result = play_start(play, &options, err);
    json_decref(configuration);
    return result;
}

/* This step's, and those that may run ahead of it. */
int trainer_start_ahead(struct trainer *trainer, struct err *err)
{
    uint64_t last = trainer->step + (uint64_t)trainer->settings->train_lag;
    int result = 0;
    while (result == 0) {
        uint64_t step = trainer->step + trainer->ahead_count;
        if (step > last || step >= trainer->steps)
            break;
        struct ahead *ahead = &trainer->ahead[trainer->ahead_count];
        *ahead = (struct ahead){.step = step, .before = trainer->place};
        json_t *tasks = data_draw(&trainer->data, &trainer->place,
                                  (size_t)trainer->settings->train_prompts);
        result = trainer_start_play(trainer, step, tasks, 0, &ahead->play, err);
        json_decref(tasks);
        if (result == 0)
            trainer->ahead_count++;
        else
            trainer->place = ahead->before;
    }
    return result;
}

void trainer_drop_ahead(struct trainer *trainer)
{
    if (trainer->ahead_count > 0)
        trainer->place = trainer->ahead[0].before;
    for (size_t i = 0; i < trainer->ahead_count; i++)
        play_free(trainer->ahead[i].play);
    trainer->ahead_count = 0;
}
