#include "rl/train/trainer.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "rl/train/internal.h"
#include "rl/train/train_settings.h"

#include <math.h>
#include <stdio.h>

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
    pthread_mutex_lock(&trainer->lock);
    round->done++;
    if (trainer->awaited == round) {
        trainer->done = round->done;
        report_progress(trainer, NULL);
    }
    pthread_mutex_unlock(&trainer->lock);
}

static void put_metric(json_t *metrics, const char *name, double value)
{
    json_put(metrics, name, json_number(value));
}

static int finetune_one_step(struct trainer *trainer, struct err *err)
{
    struct finetune_figures figures;
    const int64_t begun_ns = clock_now_ns();
    trainer_begin_phase(trainer, "sft", 0);
    trainer->torn = true;
    trainer->fresh = false;
    int result = finetune_step(&trainer->finetune, trainer->backend, &trainer->config,
                               trainer->step, &figures, err);
    const struct train_guard_figures seen = {.not_finite = figures.not_finite,
                                             .norm = figures.norm,
                                             .kl = NAN};
    if (result == 0)
        result = train_guard_check(&trainer->guard, trainer->settings, trainer->step, &seen, err);
    if (result < 0)
        return result;
    json_t *metrics = json_object();
    put_metric(metrics, "sft/loss", figures.loss);
    put_metric(metrics, "sft/tokens", (double)figures.tokens);
    put_metric(metrics, "sft/targets", (double)figures.targets);
    put_metric(metrics, "optim/lr", figures.rate);
    put_metric(metrics, "optim/grad_norm", figures.norm);
    put_metric(metrics, "optim/not_finite", figures.not_finite);
    put_metric(metrics, "progress/done_frac", (double)(trainer->step + 1) / (double)trainer->steps);
    put_metric(metrics, "time/train", clock_ms_since(begun_ns) * 1e-3);
    put_metric(metrics, "time/total", clock_ms_since(begun_ns) * 1e-3);
    put_metric(metrics, "time/save_checkpoint", trainer->saving_s);
    trainer->saving_s = 0;
    result = run_metrics(trainer->run, trainer->step, metrics, err);
    if (result == 0)
        trainer_report_progress(trainer, 0, metrics);
    json_decref(metrics);
    trainer->step += result == 0;
    trainer->torn = result < 0;
    return result;
}

static bool is_checkpoint_due(const struct trainer *trainer, uint64_t step)
{
    return step % (uint64_t)train_settings(trainer->settings)->save_every == 0 ||
           step == trainer->steps;
}

bool trainer_pauses_at(const struct trainer *trainer, uint64_t step)
{
    return is_checkpoint_due(trainer, step) || trainer_evaluates_at(trainer, step);
}

/* Between two steps: runs the evaluation and saves the checkpoint that are due. *why: the run
 * ends. */
static int evaluate_and_save(struct trainer *trainer, const char **why, struct err *err)
{
    const struct train_settings *train = train_settings(trainer->settings);
    bool improved, last = trainer->step == trainer->steps;
    int result = trainer_evaluate(trainer, &improved, err);
    if (result < 0)
        return result;
    bool stalled = train->early_stop > 0 && trainer->worse >= (uint64_t)train->early_stop;
    bool due = is_checkpoint_due(trainer, trainer->step) || improved || stalled;
    if (due && trainer->step > 0 && trainer->saved != trainer->step)
        result = trainer_save(trainer, err);
    if (last || stalled)
        *why = last ? "steps" : "early stop";
    return result;
}

static int run_one_step(struct trainer *trainer, struct err *err)
{
    int result = trainer->step < trainer->finetune.steps ? finetune_one_step(trainer, err)
                                                         : trainer_step(trainer, err);
    if (result == 0) { /* its metrics are written */
        json_decref(trainer->evaluation);
        trainer->evaluation = NULL;
        trainer_mark(trainer);
    }
    return result;
}

/* The result is written beside the run's files; a service keeps its own. */
static int export_model(struct trainer *trainer, struct err *err)
{
    bool adapter = trainer->config.backend.lora_rank > 0;
    char *path = mem_printf("%s/%s", run_directory(trainer->run), adapter ? "adapter" : "model");
    int result = train_backend_export(trainer->backend, path, err);
    mem_free(path);
    return result == ERR_UNSUPPORTED ? 0 : result;
}

static int finish_run(struct trainer *trainer, const char *why, struct err *err)
{
    int result = 0;
    if (trainer->evaluation)
        result = trainer_write_texts(trainer, NULL, err);
    if (result == 0 && trainer->evaluation)
        result = run_metrics(trainer->run, trainer->step, trainer->evaluation, err);
    if (result == 0)
        result = export_model(trainer, err);
    return result < 0 ? result : run_finish(trainer->run, trainer->step, why, err);
}

static int run_steps(struct trainer *trainer, const char **why, struct err *err)
{
    int result = 0;
    while (result == 0) {
        if (trainer_is_cancelled(trainer))
            return err_set(err, ERR_CANCELLED, "interrupted");
        result = evaluate_and_save(trainer, why, err);
        if (result < 0 || *why)
            break;
        result = run_one_step(trainer, err);
    }
    return result < 0 ? result : finish_run(trainer, *why, err);
}

/* After an interruption or a failed step, saves the steps since the last checkpoint if possible. */
static void save_after_failure(struct trainer *trainer, const struct err *why)
{
    struct err ignored;
    json_t *facts = json_pack("{s:I, s:o}", "step", (json_int_t)trainer->step, "why",
                              json_text(why->text));
    trainer_drop_ahead(trainer);
    if (!trainer->torn && trainer->step > 0 && trainer->saved != trainer->step)
        (void)!trainer_save(trainer, &ignored);
    (void)!run_log(trainer->run, why->code == ERR_CANCELLED ? "interrupted" : "failed", facts,
                   &ignored);
}

static int run_trainer(struct trainer *trainer, struct trainer_result *result, struct err *err)
{
    const char *why = NULL;
    int status = trainer_prepare(trainer, err);
    if (status == 0)
        status = run_open(&trainer->run, trainer->options->directory, trainer->settings, err);
    if (status == 0)
        status = trainer_open_backends(trainer, err);
    if (status == 0)
        status = trainer_resume(trainer, err);
    if (status == 0)
        status = trainer_note_differences(trainer, err);
    if (status < 0)
        return status;
    status = run_steps(trainer, &why, err);
    if (status < 0)
        save_after_failure(trainer, err);
    result->steps = trainer->step;
    result->saved = trainer->saved == TRAINER_NEVER ? 0 : trainer->saved;
    result->finished = status == 0;
    snprintf(result->why, sizeof result->why, "%s", why ? why : "interrupted");
    return status == ERR_CANCELLED ? 0 : status;
}

int trainer_run(const struct trainer_options *options, struct trainer_result *result,
                struct err *err)
{
    struct trainer trainer = {.options = options,
                              .settings = options->settings,
                              .best = NAN,
                              .saved = TRAINER_NEVER,
                              .forgotten = json_object(),
                              .phase = "begin"};
    *result = (struct trainer_result){0};
    pthread_mutex_init(&trainer.lock, NULL);
    int status = run_trainer(&trainer, result, err);
    trainer_close(&trainer);
    return status;
}
