/* One step: rows, weights, and its records. */
#include "base/clock.h"
#include "base/json.h"
#include "gym/gym_settings.h"
#include "rl/train/internal.h"
#include "rl/train/train_settings.h"

#include <math.h>

static double lap_s(int64_t *since_ns)
{
    int64_t now = clock_now_ns();
    double seconds = (double)(now - *since_ns) * 1e-9;
    *since_ns = now;
    return seconds;
}

static void update_stages(struct trainer *trainer, const struct train_step *step)
{
    double counts[STAGE_MEASURE_COUNT] = {0}, rates[STAGE_MEASURE_COUNT], turns = 0;
    for (size_t row = 0; row < step->batch.rows; row++) {
        const struct rl_turn *turn = step->turns[row];
        if (turn->excluded)
            continue;
        turns++;
        counts[STAGE_FORMATTED] += turn->format_ok;
        counts[STAGE_COMPILED] += turn->compiled;
        counts[STAGE_CORRECT] += turn->correct;
        counts[STAGE_FAST] += turn->correct && turn->speedup >= 1;
    }
    for (size_t i = 0; i < STAGE_MEASURE_COUNT; i++)
        rates[i] = turns > 0 ? counts[i] / turns : NAN;
    if (stages_update(&trainer->stages, rates)) {
        const char *reward = stages_reward(&trainer->stages, gym_reward(trainer->settings));
        struct err ignored;
        (void)!run_log(trainer->run, "stage",
                       json_pack("{s:I, s:o}", "step", (json_int_t)trainer->step, "reward",
                                 json_text(reward)),
                       &ignored);
    }
}

static int update_policy(struct trainer *trainer, struct train_step *step,
                         const struct lm_adam *adam, struct train_step_result *trained,
                         struct err *err)
{
    trainer_begin_phase(trainer, "train", step->datum_count);
    int result = train_step_update(step, trainer->backend, adam, trainer->options->cancelled,
                                   trained, err);
    /* A step without its records is incomplete, too. */
    trainer->torn = result == 0 || trained->begun;
    if (trained->begun)
        trainer->fresh = false;
    const struct train_guard_figures figures = {.not_finite = trained->not_finite,
                                                .norm = trained->norm,
                                                .kl = step->report.mismatch.mismatch_k3_kl};
    if (result == 0)
        result = train_guard_check(&trainer->guard, trainer->settings, trainer->step, &figures,
                                   err);
    return result;
}

/* 0: as many as there are. */
static size_t wanted_prompts(const struct trainer *trainer)
{
    const struct train_settings *train = train_settings(trainer->settings);
    bool more = train->rounds > 1 || trainer->config.problems > (size_t)train->prompts;
    return more ? (size_t)train->prompts : 0;
}

static void adapt_kl(struct trainer *trainer, const struct train_step *step)
{
    const struct train_settings *train = train_settings(trainer->settings);
    if (train->kl_target > 0)
        trainer->kl = rl_kl_adapt(trainer->kl, step->kl, train->kl_target, (double)step->batch.rows,
                                  train->kl_horizon);
}

/* Everything after collecting, and the records. */
static int train_on_rollouts(struct trainer *trainer, struct train_step *step, struct times *times,
                             struct err *err)
{
    const struct train_settings *train = train_settings(trainer->settings);
    struct lm_adam adam = trainer->config.adam;
    struct train_step_result trained;
    int64_t lap_ns = clock_now_ns();
    int result = train_step_weigh(step, wanted_prompts(trainer), err);
    if (result < 0)
        return result;
    times->assemble += lap_s(&lap_ns);
    adam.rate = lm_schedule_rate(train->schedule, adam.rate, adam.rate * train->floor,
                                 (uint64_t)train->warmup, (uint64_t)train->steps,
                                 trainer->step - trainer->finetune.steps);
    result = update_policy(trainer, step, &adam, &trained, err);
    if (result < 0)
        return result;
    times->train = lap_s(&lap_ns);
    json_t *metrics = trainer_metrics(trainer, step, &trained, adam.rate, times);
    result = trainer_write_traces(trainer, step, err);
    if (result == 0)
        result = trainer_write_histograms(trainer, step, err);
    if (result == 0)
        result = trainer_write_texts(trainer, step, err);
    if (result == 0)
        result = run_metrics(trainer->run, trainer->step, metrics, err);
    if (result == 0)
        trainer_report_progress(trainer, step->datum_count, metrics);
    json_decref(metrics);
    adapt_kl(trainer, step);
    return result;
}

static int collect_and_train(struct trainer *trainer, struct train_step *step, struct round **round,
                             struct err *err)
{
    struct times times = {.begun_ns = clock_now_ns()};
    int64_t lap_ns = times.begun_ns;
    int result = trainer_collect(trainer, step, round, err);
    if (result == 0) {
        const struct train_settings *train = train_settings(trainer->settings);
        update_stages(trainer, step); /* they decide the reward of the next step */
        train_step_record(step, &trainer->data.records, train->order_memory, train->critic);
        result = trainer_collect_ahead(trainer, err);
    }
    times.rollout = lap_s(&lap_ns);
    return result < 0 ? result : train_on_rollouts(trainer, step, &times, err);
}

int trainer_step(struct trainer *trainer, struct err *err)
{
    const struct train_settings *train = train_settings(trainer->settings);
    const struct method_settings *method = method_settings(trainer->settings);
    const struct train_step_options options = {
        .method = &trainer->config.method,
        .loss = trainer->config.loss,
        .config = trainer->config.loss_config,
        .ratio_trained = train->ratio == TRAIN_RATIO_TRAINED,
        .turn_ratio = train->ratio_level == TRAIN_RATIO_TURN,
        .kl_loss = method->kl > 0 && train->kl_in == TRAIN_KL_LOSS,
        .kl_estimator = train->kl_estimator,
        .mask_cut = train->overlong == TRAIN_OVERLONG_MASK,
        .max_tokens =
            trainer_sampling(trainer, &trainer->config.sampling, trainer->step).max_tokens,
        .overlong_buffer = (size_t)train->overlong_buffer,
        .overlong_penalty = train->overlong_penalty,
        .epochs = (size_t)train->epochs,
        .kl = trainer->kl,
        .kl_discount = method->kl_discount,
        .samples = trainer->config.episodes,
        .substeps = (size_t)train->substeps,
        .seed = (uint64_t)train->seed,
        .step = trainer->step,
    };
    struct round *round = NULL;
    struct train_step step;
    train_step_init(&step, &options);
    int result = collect_and_train(trainer, &step, &round, err);
    if (result == 0) {
        trainer->step++;
        trainer->torn = false;
    }
    train_step_deinit(&step);
    trainer_free_rounds(round);
    return result;
}
