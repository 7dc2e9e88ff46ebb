#include "rl/trainer.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "gym/episode_config.h"
#include "policy/learner_memory.h"
#include "rl/trainer_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEVER UINT64_MAX

/* ----------------------------------------------------------------------------------------- news */

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

json_t *trainer_configuration(const struct trainer *trainer, const char *reward)
{
    json_t *configuration = json_object();
    json_put(configuration, "reward", json_text(reward));
    json_put(configuration, "gamma", json_number(trainer->config.method.returns.gamma));
    json_put(configuration, "evaluation",
             json_pack("{s:b}", "timing", trainer->settings->train_timing));
    return configuration;
}

/* ---------------------------------------------------------------------------------- checkpoints */

static json_t *place_json(uint64_t epoch, size_t index)
{
    return json_pack("{s:I, s:I}", "epoch", (json_int_t)epoch, "index", (json_int_t)index);
}

/* All that the next step depends on, beside weights and optimiser: every random number is one of
 * (seed, step, …). */
static json_t *state_of(const struct trainer *trainer)
{
    struct data_place place = trainer->ahead_count > 0 ? trainer->ahead[0].before : trainer->place;
    json_t *state = json_object();
    json_put(state, "data", place_json(place.epoch, place.index));
    json_put(state, "sft",
             place_json(trainer->finetune.place.epoch, trainer->finetune.place.index));
    json_put(state, "stage", stages_state(&trainer->stages));
    json_put(state, "skips", json_integer((json_int_t)trainer->guard.skips));
    json_put(state, "best", json_number(trainer->best));
    json_put(state, "best_step", json_integer((json_int_t)trainer->best_step));
    json_put(state, "worse", json_integer((json_int_t)trainer->worse));
    json_put(state, "evaluation",
             trainer->evaluation ? json_incref(trainer->evaluation) : json_null());
    return state;
}

static int read_place(const json_t *state, const char *key, uint64_t *epoch, size_t *index,
                      struct err *err)
{
    json_t *place;
    int64_t found[2] = {0, 0};
    int result = json_get_object(state, key, &place, err);
    if (result == 0)
        result = json_get_int(place, "epoch", &found[0], err);
    if (result == 0)
        result = json_get_int(place, "index", &found[1], err);
    if (result == 0 && (found[0] < 0 || found[1] < 0))
        result = err_set(err, ERR_INPUT, "%s: a place is not negative", key);
    if (result < 0)
        return result;
    *epoch = (uint64_t)found[0];
    *index = (size_t)found[1];
    return 0;
}

static int read_counts(struct trainer *trainer, const json_t *state, struct err *err)
{
    const struct {
        const char *key;
        uint64_t *to;
    } rows[] = {{"skips", &trainer->guard.skips},
                {"best_step", &trainer->best_step},
                {"worse", &trainer->worse}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value;
        int result = json_get_int(state, rows[i].key, &value, err);
        if (result == 0 && value < 0)
            result = err_set(err, ERR_INPUT, "%s is negative", rows[i].key);
        if (result < 0)
            return result;
        *rows[i].to = (uint64_t)value;
    }
    return json_find_double(state, "best", &trainer->best, err);
}

static int read_state(struct trainer *trainer, const json_t *state, struct err *err)
{
    json_t *stage, *evaluation = NULL;
    int result = read_place(state, "data", &trainer->place.epoch, &trainer->place.index, err);
    if (result == 0)
        result = read_place(state, "sft", &trainer->finetune.place.epoch,
                            &trainer->finetune.place.index, err);
    if (result == 0 && trainer->finetune.data &&
        trainer->finetune.place.index >= dataset_count(trainer->finetune.data))
        result = err_set(err, ERR_INPUT, "train.sft_data has other examples now");
    if (result == 0)
        result = json_get_object(state, "stage", &stage, err);
    if (result == 0)
        result = stages_restore(&trainer->stages, stage, err);
    if (result == 0)
        result = read_counts(trainer, state, err);
    if (result == 0)
        result = json_find_object(state, "evaluation", &evaluation, err);
    if (result == 0 && evaluation)
        trainer->evaluation = json_deep_copy(evaluation);
    return result;
}

/* One that a service will not let go of is no reason to end. */
static int forget(struct trainer *trainer, const char *where, struct err *err)
{
    struct err why;
    if (json_object_get(trainer->forgotten, where))
        return 0;
    json_put(trainer->forgotten, where, json_true());
    int code = learner_forget(trainer->learner, run_directory(trainer->run), where, &why);
    if (code == 0 || code == ERR_CANCELLED)
        return 0;
    json_t *facts = json_object();
    json_put(facts, "where", json_text(where));
    json_put(facts, "why", json_text(why.text));
    int result = run_log(trainer->run, "checkpoint was not removed", facts, err);
    json_decref(facts);
    return result;
}

/* All but the last train.keep, and the best. What is gone already is no matter. */
static int forget_old(struct trainer *trainer, struct err *err)
{
    json_t *all, *line;
    size_t i, count;
    int result = run_checkpoints(run_directory(trainer->run), &all, err);
    if (result < 0)
        return result;
    count = json_array_size(all);
    json_array_foreach(all, i, line)
    {
        bool best = !isnan(trainer->best) &&
                    (uint64_t)json_integer_value(json_object_get(line, "step")) ==
                        trainer->best_step;
        if (result == 0 && !best && i + (size_t)trainer->settings->train_keep < count)
            result = forget(trainer, json_text_at(line, "where"), err);
    }
    json_decref(all);
    return result;
}

static int save(struct trainer *trainer, struct err *err)
{
    char name[RUN_NAME_BYTES], *where = NULL;
    json_t *state = state_of(trainer);
    int64_t begun_ns = clock_now_ns();
    snprintf(name, sizeof name, "step-%06" PRIu64, trainer->step);
    trainer_begin_phase(trainer, "checkpoint", 0);
    int result = learner_save(trainer->learner, run_directory(trainer->run), name, &where, err);
    if (result == 0)
        result = run_checkpoint(trainer->run, name, trainer->step, where, state, err);
    if (result == 0) {
        trainer->saved = trainer->step;
        result = forget_old(trainer, err);
    }
    trainer->saving_s += clock_ms_since(begun_ns) * 1e-3;
    json_decref(state);
    mem_free(where);
    return result;
}

/* -------------------------------------------------------------------------------------- opening */

static int open_evaluator(struct trainer *trainer, struct err *err)
{
    const struct trainer_options *from = trainer->options;
    const struct evaluator_options options = {.settings = trainer->settings,
                                              .roots = from->roots,
                                              .root_count = from->root_count,
                                              .cancelled = from->cancelled};
    return trainer->settings->client_url[0]
               ? evaluator_open_remote(&trainer->evaluator, NULL, &options, err)
               : evaluator_open_local(&trainer->evaluator, &options, err);
}

/* What no episode could be played with. */
static int check_episodes(const struct trainer *trainer, const json_t *tasks, struct err *err)
{
    json_t *configuration = trainer_configuration(trainer, trainer->settings->gym_reward);
    int result = 0;
    for (size_t i = 0; i < json_array_size(tasks) && result == 0; i++) {
        const json_t *task = json_array_get(tasks, i);
        struct problem problem = {0};
        json_t *resolved;
        json_put(configuration, "problem", json_incref(json_object_get(task, "problem")));
        result = episode_config_resolve(trainer->gym, configuration, &resolved, &problem, err);
        if (result == 0)
            json_decref(resolved);
        problem_deinit(&problem);
    }
    json_decref(configuration);
    return result;
}

/* What can be wrong before there is a directory. */
static int prepare(struct trainer *trainer, struct err *err)
{
    const struct trainer_options *options = trainer->options;
    const struct settings *settings = trainer->settings;
    const struct gym_options gym = {.settings = settings,
                                    .roots = options->roots,
                                    .root_count = options->root_count};
    int result = train_config_read(&trainer->config, settings, err);
    if (result == 0)
        result = stages_open(&trainer->stages, settings->train_stages,
                             (size_t)settings->train_stage_steps, err);
    if (result == 0)
        result = data_open(&trainer->data, settings, options->roots, options->root_count, err);
    if (result == 0)
        result = learner_memory_check(&trainer->config.learner, settings->train_kl > 0 ? 2 : 1,
                                      err);
    if (result == 0)
        result = finetune_open(&trainer->finetune, settings, err);
    if (result == 0)
        result = gym_open(&trainer->gym, &gym, err);
    if (result == 0)
        result = gym_withhold(trainer->gym, trainer->data.held_out, err);
    if (result == 0)
        result = check_episodes(trainer, trainer->data.train, err);
    if (result == 0)
        result = check_episodes(trainer, trainer->data.held_out, err);
    if (result == 0)
        result = open_evaluator(trainer, err);
    trainer->steps = trainer->finetune.steps + (uint64_t)settings->train_steps;
    return result;
}

static int open_learners(struct trainer *trainer, struct err *err)
{
    struct learner_options options = trainer->config.learner;
    options.cancelled = trainer->options->cancelled;
    int result = learner_open(&trainer->learner, &options, err);
    options.at_once = 1;
    if (result == 0 && trainer->settings->train_kl > 0)
        result = learner_open(&trainer->base, &options, err);
    return result;
}

static int go_on(struct trainer *trainer, struct err *err)
{
    struct run_checkpoint checkpoint;
    bool found;
    int result = run_resume(trainer->run, &checkpoint, &found, err);
    if (result < 0)
        return result;
    if (found) {
        result = learner_load(trainer->learner, run_directory(trainer->run), checkpoint.where, true,
                              err);
        if (result == 0)
            result = read_state(trainer, checkpoint.state, err);
        if (result < 0)
            err_prefix(err, "checkpoint %s", checkpoint.name);
        trainer->step = trainer->saved = checkpoint.step;
    } else {
        result = trainer_check_problems(trainer, err);
    }
    json_decref(checkpoint.state);
    return result < 0 ? result : learner_refresh(trainer->learner, &trainer->version, err);
}

static void trainer_close(struct trainer *trainer)
{
    trainer_drop_ahead(trainer);
    json_decref(trainer->evaluation);
    json_decref(trainer->forgotten);
    learner_close(trainer->base);
    learner_close(trainer->learner);
    run_close(trainer->run);
    if (trainer->evaluator)
        evaluator_close(trainer->evaluator);
    gym_close(trainer->gym);
    finetune_close(&trainer->finetune);
    data_close(&trainer->data);
    stages_close(&trainer->stages);
    pthread_mutex_destroy(&trainer->lock);
}

/* ----------------------------------------------------------------------------------------- loop */

static void put(json_t *metrics, const char *name, double value)
{
    json_put(metrics, name, json_number(value));
}

static int finetune(struct trainer *trainer, struct err *err)
{
    struct finetune_figures figures;
    trainer_begin_phase(trainer, "sft", 0);
    trainer->torn = true;
    int result = finetune_step(&trainer->finetune, trainer->learner, &trainer->config,
                               trainer->step, &figures, err);
    const struct guard_figures seen = {.not_finite = figures.not_finite,
                                       .norm = figures.norm,
                                       .kl = NAN};
    if (result == 0)
        result = guard_see(&trainer->guard, trainer->settings, trainer->step, &seen, err);
    if (result == 0 && trainer->step + 1 == trainer->finetune.steps)
        result = learner_refresh(trainer->learner, &trainer->version, err);
    if (result < 0)
        return result;
    json_t *metrics = json_object();
    put(metrics, "sft/loss", figures.loss);
    put(metrics, "sft/tokens", (double)figures.tokens);
    put(metrics, "sft/targets", (double)figures.targets);
    put(metrics, "optim/lr", figures.rate);
    put(metrics, "optim/grad_norm", figures.norm);
    put(metrics, "optim/not_finite", figures.not_finite);
    put(metrics, "progress/done_frac", (double)(trainer->step + 1) / (double)trainer->steps);
    result = run_metrics(trainer->run, trainer->step, metrics, err);
    if (result == 0)
        trainer_tell(trainer, 0, metrics);
    json_decref(metrics);
    trainer->step += result == 0;
    trainer->torn = result < 0;
    return result;
}

/* Between two steps: evaluations and checkpoints that are due. *why: it is over. */
static int arrive(struct trainer *trainer, const char **why, struct err *err)
{
    const struct settings *settings = trainer->settings;
    bool improved, last = trainer->step == trainer->steps;
    int result = trainer_evaluate(trainer, &improved, err);
    if (result < 0)
        return result;
    bool tired = settings->train_patience > 0 &&
                 trainer->worse >= (uint64_t)settings->train_patience;
    bool due = trainer->step % (uint64_t)settings->train_save_every == 0 || improved || tired ||
               last;
    if (due && trainer->step > 0 && trainer->saved != trainer->step)
        result = save(trainer, err);
    if (last || tired)
        *why = last ? "steps" : "patience";
    return result;
}

static int take_step(struct trainer *trainer, struct err *err)
{
    int result = trainer->step < trainer->finetune.steps ? finetune(trainer, err)
                                                         : trainer_step(trainer, err);
    if (result == 0) { /* its line is written */
        json_decref(trainer->evaluation);
        trainer->evaluation = NULL;
    }
    return result;
}

/* What came of it lies beside the run's files; a service keeps its own. */
static int export(struct trainer *trainer, struct err *err)
{
    bool adapter = trainer->settings->train_lora_rank > 0;
    char *path = mem_printf("%s/%s", run_directory(trainer->run), adapter ? "adapter" : "model");
    int result = learner_export(trainer->learner, path, err);
    mem_free(path);
    return result == ERR_UNSUPPORTED ? 0 : result;
}

static int finish(struct trainer *trainer, const char *why, struct err *err)
{
    int result = 0;
    if (trainer->evaluation)
        result = run_metrics(trainer->run, trainer->step, trainer->evaluation, err);
    if (result == 0)
        result = export(trainer, err);
    return result < 0 ? result : run_finish(trainer->run, trainer->step, why, err);
}

static int loop(struct trainer *trainer, const char **why, struct err *err)
{
    int result = 0;
    while (result == 0) {
        if (trainer_is_cancelled(trainer))
            return err_set(err, ERR_CANCELLED, "interrupted");
        result = arrive(trainer, why, err);
        if (result < 0 || *why)
            break;
        result = take_step(trainer, err);
    }
    return result < 0 ? result : finish(trainer, *why, err);
}

/* What was done since the last checkpoint is kept, too, as far as that can be: after an
 * interruption, and when a step could not be played to its end. */
static void save_rest(struct trainer *trainer, const struct err *why)
{
    struct err ignored;
    json_t *facts = json_object();
    trainer_drop_ahead(trainer);
    if (!trainer->torn && trainer->step > 0 && trainer->saved != trainer->step)
        (void)!save(trainer, &ignored);
    json_put(facts, "step", json_integer((json_int_t)trainer->step));
    json_put(facts, "why", json_text(why->text));
    (void)!run_log(trainer->run, why->code == ERR_CANCELLED ? "interrupted" : "failed", facts,
                   &ignored);
    json_decref(facts);
}

static int run(struct trainer *trainer, struct trainer_result *result, struct err *err)
{
    const char *why = NULL;
    int status = prepare(trainer, err);
    if (status == 0)
        status = run_open(&trainer->run, trainer->options->directory, trainer->settings, err);
    if (status == 0)
        status = open_learners(trainer, err);
    if (status == 0)
        status = go_on(trainer, err);
    if (status < 0)
        return status;
    status = loop(trainer, &why, err);
    if (status < 0)
        save_rest(trainer, err);
    result->steps = trainer->step;
    result->saved = trainer->saved == NEVER ? 0 : trainer->saved;
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
                              .saved = NEVER,
                              .forgotten = json_object(),
                              .phase = "begin"};
    *result = (struct trainer_result){0};
    pthread_mutex_init(&trainer.lock, NULL);
    int status = run(&trainer, result, err);
    trainer_close(&trainer);
    return status;
}
