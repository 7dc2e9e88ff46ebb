/* Opens everything, after the checks that need neither a directory nor a model. */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/client_settings.h"
#include "gym/episode/config.h"
#include "gym/episode/tasks.h"
#include "gym/gym_settings.h"
#include "judge/verdict.h"
#include "policy/train_backend_memory.h"
#include "rl/run/checkpoints.h"
#include "rl/train/internal.h"
#include "rl/train/train_settings.h"

#include <stdio.h>

static int open_evaluator(struct trainer *trainer, struct err *err)
{
    const struct trainer_options *from = trainer->options;
    const struct evaluator_options options = {.settings = trainer->settings,
                                              .search_paths = from->search_paths,
                                              .cancelled = from->cancelled};
    return client_settings(trainer->settings)->url[0]
               ? evaluator_open_remote(&trainer->evaluator, NULL, &options, err)
               : evaluator_open_local(&trainer->evaluator, &options, err);
}

/* Settings that no episode can start with. */
static int check_episodes(const struct trainer *trainer, const json_t *tasks, struct err *err)
{
    json_t *configuration = train_config_episode(&trainer->config, trainer->settings,
                                                 gym_reward(trainer->settings));
    int result = tasks_check(trainer->gym, configuration, tasks, err);
    json_decref(configuration);
    return result;
}

/* The files that a model or tokenizer needs. */
static int check_model(const struct train_backend_options *backend, bool engine, struct err *err)
{
    const struct {
        const char *setting, *directory, *file;
    } rows[] = {
        {"train.model", engine ? backend->model : NULL, "config.json"},
        {backend->tokenizer ? "train.tokenizer" : "train.model",
         backend->tokenizer ? backend->tokenizer : backend->model, "tokenizer.json"},
    };
    int result = 0;
    for (size_t i = 0; i < COUNT(rows) && result == 0; i++) {
        if (!rows[i].directory)
            continue;
        char *path = mem_printf("%s/%s", rows[i].directory, rows[i].file);
        if (!file_exists(path))
            result = err_set(
                err, ERR_MISSING,
                "%s: %s: no such file; name a model directory in the format of Transformers "
                "(docs/guide/lm.md)",
                rows[i].setting, path);
        mem_free(path);
    }
    return result;
}

/* Checks that need no directory. */
int trainer_prepare(struct trainer *trainer, struct err *err)
{
    const struct trainer_options *options = trainer->options;
    const struct settings *settings = trainer->settings;
    const struct train_settings *train = train_settings(settings);
    double kl = method_settings(settings)->kl;
    int result = train_config_read(&trainer->config, settings, err);
    if (result == 0)
        result = stages_open(&trainer->stages, train->stages, (size_t)train->stage_steps, err);
    if (result == 0)
        result = train_data_open(&trainer->data, settings, options->search_paths, err);
    if (result == 0)
        result = check_model(&trainer->config.backend, train->backend == TRAIN_ENGINE, err);
    if (result == 0)
        result = train_backend_memory_check(&trainer->config.backend, kl > 0, err);
    if (result == 0)
        result = finetune_open(&trainer->finetune, settings, err);
    if (result == 0)
        result = gym_open(&trainer->gym, settings, options->search_paths, err);
    if (result == 0)
        result = gym_withhold(trainer->gym, trainer->data.held_out, err);
    if (result == 0)
        result = check_episodes(trainer, trainer->data.train, err);
    if (result == 0)
        result = check_episodes(trainer, trainer->data.held_out, err);
    if (result == 0)
        result = open_evaluator(trainer, err);
    if (result == 0 && client_settings(settings)->url[0])
        gym_judged_on(trainer->gym, NULL);
    trainer->kl = method_settings(settings)->kl;
    trainer->steps = trainer->finetune.steps + (uint64_t)train->steps;
    return result;
}

/* Whether the run has a checkpoint on a server. */
static bool was_there_before(const struct trainer *trainer)
{
    json_t *all = NULL, *line;
    size_t i;
    bool found = false;
    if (run_checkpoints(run_directory(trainer->run), &all, NULL) < 0)
        return false;
    json_array_foreach(all, i, line)
        found |= run_checkpoint_is_elsewhere(json_text_at(line, "where"));
    json_decref(all);
    return found;
}

int trainer_open_backends(struct trainer *trainer, struct err *err)
{
    struct train_backend_options options = trainer->config.backend;
    options.cancelled = trainer->options->cancelled;
    options.url_is_known = was_there_before(trainer);
    int result = train_backend_open(&trainer->backend, &options, err);
    options.at_once = 1;
    if (result == 0 && method_settings(trainer->settings)->kl > 0)
        result = train_backend_open_base(&trainer->base, trainer->backend, &options, err);
    return result;
}

static int note(const struct trainer *trainer, const char *text, struct err *err)
{
    log_event(LOG_LEVEL_WARN, "train", text, NULL);
    return run_log(trainer->run, "note", json_pack("{s:o}", "text", json_text(text)), err);
}

int trainer_note_differences(const struct trainer *trainer, struct err *err)
{
    int result = 0;
    for (const char *const *text = trainer->config.notes; *text && result == 0; text++)
        result = note(trainer, *text, err);
    if (result == 0 && trainer->config.adam.clip > 0 && !train_backend_clips(trainer->backend))
        result = note(trainer,
                      "train.clip: this server (SkyRL's) ignores it and clips no gradient; set it "
                      "to 0 to say so",
                      err);
    return result;
}

void trainer_close(struct trainer *trainer)
{
    trainer_drop_ahead(trainer);
    mem_free(trainer->picked);
    json_decref(trainer->mark);
    json_decref(trainer->evaluation);
    json_decref(trainer->forgotten);
    train_backend_close(trainer->base);
    train_backend_close(trainer->backend);
    run_close(trainer->run);
    if (trainer->evaluator)
        evaluator_close(trainer->evaluator);
    gym_close(trainer->gym);
    finetune_close(&trainer->finetune);
    train_data_close(&trainer->data);
    stages_close(&trainer->stages);
    pthread_mutex_destroy(&trainer->lock);
}

#define PROBLEMS_TRIED 16 /* until one passes */

/* The reference as a candidate: a native one has that form already; a torch one needs another
 * class. */
static json_t *candidate_of(const struct problem *problem)
{
    json_t *candidate = json_object();
    bool native = problem->format == PROBLEM_NATIVE;
    char *text = native ? mem_strdup(problem->reference_text)
                        : mem_printf("%s\n\nclass ModelNew(Model):\n    pass\n",
                                     problem->reference_text);
    json_put(candidate, "source", json_text(text));
    json_put(candidate, "name", json_string(native ? "reference.c" : "reference.py"));
    mem_free(text);
    return candidate;
}

/* *why: the judge's objection; "" if the reference passes. Using library operators is no fault
 * here. */
static int judge_reference(struct trainer *trainer, const json_t *task, char *why, size_t why_bytes,
                           struct err *err)
{
    struct problem problem = {0};
    struct verdict verdict = {0};
    json_t *request = json_object();
    json_put(request, "problem", json_incref(json_object_get(task, "problem")));
    int result = episode_config_problem(trainer->gym, request, &problem, err);
    if (result == 0) {
        json_put(request, "candidate", candidate_of(&problem));
        json_put(request, "timing", json_false());
        result = evaluator_evaluate(trainer->evaluator, request, &verdict, err);
    }
    if (result == 0) {
        const char *message = verdict.error_message ? verdict.error_message : "";
        *why = '\0';
        if (!verdict.correct && verdict.status != STATUS_VIOLATION)
            snprintf(why, why_bytes, "%s: %s%s%s", problem.id, verdict_status_name(verdict.status),
                     *message ? ": " : "", message);
    }
    verdict_deinit(&verdict);
    json_decref(request);
    problem_deinit(&problem);
    return result;
}

int trainer_check_problems(struct trainer *trainer, struct err *err)
{
    const json_t *tasks = trainer->data.train;
    char why[ERR_TEXT_MAX] = "";
    size_t tried = 0;
    if (train_settings(trainer->settings)->steps == 0)
        return 0;
    for (; tried < json_array_size(tasks) && tried < PROBLEMS_TRIED; tried++) {
        char one[ERR_TEXT_MAX] = "";
        int result = judge_reference(trainer, json_array_get(tasks, tried), one, sizeof one, err);
        if (result < 0 && result != ERR_INPUT && result != ERR_MISSING)
            return err_prefix(err, "a problem's own reference could not be judged");
        if (result == 0 && !*one)
            return 0;
        if (!*why)
            snprintf(why, sizeof why, "%s", result < 0 ? err->text : one);
    }
    return err_set(err, ERR_INPUT,
                   "train.problems: no problem's own reference passes, of %zu that were "
                   "tried (`warpgym problem check` says more); %s",
                   tried, why);
}
