/* What is measured besides training: held-out problems, and whether any can be judged at all. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "gym/episode_config.h"
#include "rl/evaluate.h"
#include "rl/random.h"
#include "rl/trainer_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PROBLEMS_TRIED 16 /* until one passes */

/* ---------------------------------------------------------------------------------- evaluations */

static bool is_due(const struct trainer *trainer)
{
    const struct settings *settings = trainer->settings;
    uint64_t every = (uint64_t)settings->train_evaluate_every, first = trainer->finetune.steps;
    return every > 0 && json_array_size(trainer->data.held_out) > 0 && trainer->step >= first &&
           ((trainer->step - first) % every == 0 || trainer->step == trainer->steps) &&
           !trainer->evaluation;
}

static int play_held_out(struct trainer *trainer, struct play **play, struct err *err)
{
    const struct settings *settings = trainer->settings;
    json_t *configuration = trainer_configuration(trainer, settings->gym_reward);
    const struct play_options options = {
        .gym = trainer->gym,
        .learner = trainer->learner,
        .evaluator = trainer->evaluator,
        .configuration = configuration,
        .sampling = trainer->config.evaluation,
        .thinking = settings->train_thinking,
        .thinking_open = settings->policy_thinking_open,
        .seed = rl_number((uint64_t)settings->train_seed, 0, RL_STREAM_HELD_OUT, 0),
        .step = trainer->step,
        .name = "evaluate",
        .tasks = trainer->data.held_out,
        .samples = (size_t)settings->train_evaluate_samples,
        .jobs = (size_t)settings->train_jobs,
        .wait_ms = settings->train_wait_ms,
        .cancelled = trainer->options->cancelled,
        .tell = trainer_hear_turn,
        .context = trainer,
    };
    trainer_begin_phase(trainer, "evaluate",
                        json_array_size(options.tasks) * options.samples *
                            (size_t)settings->gym_turns);
    int result = play_start(play, &options, err);
    json_decref(configuration);
    return result;
}

static int write_evaluation(const struct trainer *trainer, const struct play_rollout *rollouts,
                            size_t count, struct err *err)
{
    char *directory = mem_printf("%s/evaluations", run_directory(trainer->run));
    char *path = mem_printf("%s/step-%06" PRIu64 ".jsonl", directory, trainer->step);
    int result = file_make_directories(directory, 0755, err);
    if (result == 0)
        result = evaluate_write(rollouts, count, path, err);
    mem_free(path);
    mem_free(directory);
    return result;
}

static bool see_best(struct trainer *trainer)
{
    static const char *const names[] = {"eval/correct_rate", "eval/fast_1", "eval/return"};
    double value = json_number_value(
        json_object_get(trainer->evaluation, names[trainer->config.measure]));
    if (value <= trainer->best) {
        trainer->worse++;
        return false;
    }
    trainer->best = value;
    trainer->best_step = trainer->step;
    trainer->worse = 0;
    return true;
}

int trainer_evaluate(struct trainer *trainer, bool *improved, struct err *err)
{
    const struct play_rollout *rollouts;
    struct play *play = NULL;
    size_t count;
    int64_t begun_ns = clock_now_ns();
    *improved = false;
    if (!is_due(trainer))
        return 0;
    int result = play_held_out(trainer, &play, err);
    if (result == 0)
        result = play_wait(play, &rollouts, &count, err);
    if (result == 0)
        result = write_evaluation(trainer, rollouts, count, err);
    if (result == 0) {
        trainer->evaluation = json_object();
        evaluate_measure(rollouts, count, (size_t)trainer->settings->train_evaluate_samples,
                         trainer->evaluation);
        json_put(trainer->evaluation, "time/evaluate", json_real(clock_ms_since(begun_ns) * 1e-3));
        *improved = see_best(trainer);
        trainer_tell(trainer, 0, trainer->evaluation);
    }
    play_free(play);
    return result;
}

/* --------------------------------------------------------------------------------- the problems */

/* The reference as an answer: a native one is written as answers are; a torch one has another
 * class. */
static json_t *candidate_of(const struct problem *problem)
{
    json_t *candidate = json_object();
    bool native = problem->format == PROBLEM_NATIVE;
    char *text = native ? mem_strdup(problem->reference_text)
                        : mem_printf("%s\n\nclass ModelNew(Model):\n    pass\n",
                                     problem->reference_text);
    json_put(candidate, "source", json_text(text));
    json_put(candidate, "language", json_string(native ? "c" : "python"));
    mem_free(text);
    return candidate;
}

/* *why: what the judge says against it; "" where it passes. That an answer leaves the work to the
 * reference's operators is no fault here. */
static int judge_reference(struct trainer *trainer, const json_t *task, char *why, size_t why_bytes,
                           struct err *err)
{
    struct problem problem = {0};
    json_t *request = json_object(), *verdict = NULL;
    json_put(request, "problem", json_incref(json_object_get(task, "problem")));
    int result = episode_config_problem(trainer->gym, request, &problem, err);
    if (result == 0) {
        json_put(request, "candidate", candidate_of(&problem));
        json_put(request, "timing", json_false());
        result = evaluator_evaluate(trainer->evaluator, request, &verdict, err);
    }
    if (result == 0) {
        const char *status = json_text_at(verdict, "status");
        const char *message = json_text_at(json_object_get(verdict, "error"), "message");
        bool passes = json_is_true(json_object_get(verdict, "correct")) ||
                      strcmp(status, "violation") == 0;
        snprintf(why, why_bytes, "%s%s%s%s%s", passes ? "" : problem.id, passes ? "" : ": ",
                 passes ? "" : status, !passes && *message ? ": " : "", passes ? "" : message);
    }
    json_decref(verdict);
    json_decref(request);
    problem_deinit(&problem);
    return result;
}

int trainer_check_problems(struct trainer *trainer, struct err *err)
{
    const json_t *tasks = trainer->data.train;
    char why[ERR_TEXT_MAX] = "";
    size_t tried = 0;
    if (trainer->settings->train_steps == 0)
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
                   "train.problems: not even a problem's own reference passes, of %zu that were "
                   "tried (`warpgym problem check` says more); %s",
                   tried, why);
}
