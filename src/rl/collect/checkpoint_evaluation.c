#include "rl/collect/checkpoint_evaluation.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/client_settings.h"
#include "client/evaluator.h"
#include "gym/episode/trajectory.h"
#include "gym/gym_settings.h"
#include "policy/policy_settings.h"
#include "policy/train_backend_memory.h"
#include "rl/collect/evaluation.h"
#include "rl/collect/train_data.h"
#include "rl/method/counter_random.h"
#include "rl/train/config.h"
#include "rl/train/train_settings.h"

#include <stdio.h>

struct evaluation {
    const struct checkpoint_evaluation_options *options;
    struct train_config config;
    struct gym *gym;
    struct train_backend *backend;
    struct evaluator *evaluator;
    json_t *tasks, *held_out; /* to evaluate; held out by the run */
    size_t done, all;
};

static int find_problems(struct evaluation *evaluation, struct err *err)
{
    const struct checkpoint_evaluation_options *options = evaluation->options;
    struct train_data data;
    int result = train_data_open(&data, options->settings, options->search_paths, err);
    if (result < 0)
        return result;
    evaluation->held_out = json_incref(data.held_out);
    train_data_close(&data);
    if (options->problems[0])
        return train_data_tasks(options->problems, options->settings, options->search_paths,
                                &evaluation->tasks, err);
    evaluation->tasks = json_incref(evaluation->held_out);
    return json_array_size(evaluation->tasks) > 0
               ? 0
               : err_set(err, ERR_INPUT, "the run has no held-out problems: name some");
}

static int open_backends(struct evaluation *evaluation, struct err *err)
{
    const struct checkpoint_evaluation_options *from = evaluation->options;
    const struct evaluator_options evaluator = {.settings = from->settings,
                                                .search_paths = from->search_paths,
                                                .cancelled = from->cancelled};
    bool remote = from->server || client_settings(from->settings)->url[0];
    struct train_backend_options backend = evaluation->config.backend;
    uint64_t version;
    backend.cancelled = from->cancelled;
    int result = gym_open(&evaluation->gym, from->settings, from->search_paths, err);
    if (result == 0)
        result = gym_withhold(evaluation->gym, evaluation->held_out, err);
    if (result == 0)
        result = remote
                     ? evaluator_open_remote(&evaluation->evaluator, from->server, &evaluator, err)
                     : evaluator_open_local(&evaluation->evaluator, &evaluator, err);
    if (result == 0 && remote)
        gym_judged_on(evaluation->gym, from->server);
    if (result == 0)
        result = train_backend_memory_check(&backend, false, err);
    if (result == 0)
        result = train_backend_open(&evaluation->backend, &backend, err);
    if (result == 0 && from->where)
        result = train_backend_load(evaluation->backend, from->directory, from->where, false, 0,
                                    err);
    return result < 0 ? result : train_backend_refresh(evaluation->backend, &version, err);
}

static void on_turn(void *context, const struct rl_rollout *rollout, const struct rl_turn *turn)
{
    struct evaluation *evaluation = context;
    evaluation->options->on_progress(evaluation->options->context, ++evaluation->done,
                                     evaluation->all);
}

static void count_lost_samples(const struct rl_rollout *rollouts, size_t count,
                               struct checkpoint_evaluation_result *result)
{
    for (size_t i = 0; i < count; i++) {
        if (rollouts[i].trajectory)
            continue;
        if (result->lost++ == 0)
            snprintf(result->why, sizeof result->why, "%.255s", rollouts[i].why.text);
    }
}

static int collect_rollouts(struct evaluation *evaluation,
                            struct checkpoint_evaluation_result *result, struct err *err)
{
    const struct settings *settings = evaluation->options->settings;
    const struct train_settings *train = train_settings(settings);
    const struct gym_settings *gym = gym_settings(settings);
    json_t *configuration = train_config_episode(&evaluation->config, settings,
                                                 gym_reward(settings));
    const struct collector_options options = {
        .gym = evaluation->gym,
        .backend = evaluation->backend,
        .evaluator = evaluation->evaluator,
        .configuration = configuration,
        .sampling = evaluation->config.evaluation,
        .thinking = train->thinking,
        .thinking_open = policy_settings(settings)->thinking_open,
        .seed = rl_random_bits((uint64_t)train->seed, 0, RL_STREAM_HELD_OUT, 0),
        .name = "eval",
        .tasks = evaluation->tasks,
        .samples = (size_t)train->evaluate_samples,
        .jobs = (size_t)train->jobs,
        .wait_ms = train->wait_ms,
        .cancelled = evaluation->options->cancelled,
        .on_turn = evaluation->options->on_progress ? on_turn : NULL,
        .context = evaluation,
    };
    const struct rl_rollout *rollouts;
    struct collector *played = NULL;
    char *path = mem_printf("%s/" TRAJECTORY_FILE, evaluation->options->out);
    size_t count;
    evaluation->all = json_array_size(evaluation->tasks) * options.samples * (size_t)gym->turns;
    int status = collector_start(&played, &options, err);
    if (status == 0)
        status = collector_wait(played, &rollouts, &count, err);
    if (status == 0)
        status = file_make_directories(evaluation->options->out, 0755, err);
    if (status == 0)
        status = evaluation_write(rollouts, count, path, err);
    if (status == 0) {
        result->problems = json_array_size(evaluation->tasks);
        result->samples = count;
        count_lost_samples(rollouts, count, result);
    }
    collector_free(played);
    mem_free(path);
    json_decref(configuration);
    return status;
}

int checkpoint_evaluation_run(const struct checkpoint_evaluation_options *options,
                              struct checkpoint_evaluation_result *result, struct err *err)
{
    struct evaluation evaluation = {.options = options};
    *result = (struct checkpoint_evaluation_result){0};
    int status = train_config_read(&evaluation.config, options->settings, err);
    if (status == 0)
        status = find_problems(&evaluation, err);
    if (status == 0)
        status = open_backends(&evaluation, err);
    if (status == 0)
        status = collect_rollouts(&evaluation, result, err);
    train_backend_close(evaluation.backend);
    if (evaluation.evaluator)
        evaluator_close(evaluation.evaluator);
    gym_close(evaluation.gym);
    json_decref(evaluation.tasks);
    json_decref(evaluation.held_out);
    return status;
}
