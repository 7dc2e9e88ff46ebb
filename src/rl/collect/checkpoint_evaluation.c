#include "rl/collect/checkpoint_evaluation.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/evaluator.h"
#include "gym/episode/trajectory.h"
#include "policy/train_backend_memory.h"
#include "rl/collect/evaluation.h"
#include "rl/collect/train_data.h"
#include "rl/method/counter_random.h"
#include "rl/train/config.h"

#include <stdio.h>

struct exam {
    const struct checkpoint_evaluation_options *options;
    struct train_config config;
    struct gym *gym;
    struct train_backend *backend;
    struct evaluator *evaluator;
    json_t *tasks, *held_out; /* that are played; that the run held out */
    size_t done, all;
};

static int find_problems(struct exam *exam, struct err *err)
{
    const struct checkpoint_evaluation_options *options = exam->options;
    struct train_data data;
    int result = train_data_open(&data, options->settings, options->search_paths,
                                 options->search_path_count, err);
    if (result < 0)
        return result;
    exam->held_out = json_incref(data.held_out);
    train_data_close(&data);
    if (options->problems[0])
        return train_data_tasks(options->problems, options->settings, options->search_paths,
                                options->search_path_count, &exam->tasks, err);
    exam->tasks = json_incref(exam->held_out);
    return json_array_size(exam->tasks) > 0
               ? 0
               : err_set(err, ERR_INPUT, "the run held no problems out: name some");
}

static int open_all(struct exam *exam, struct err *err)
{
    const struct checkpoint_evaluation_options *from = exam->options;
    const struct evaluator_options evaluator = {.settings = from->settings,
                                                .search_paths = from->search_paths,
                                                .search_path_count = from->search_path_count,
                                                .cancelled = from->cancelled};
    const struct gym_options gym = {.settings = from->settings,
                                    .search_paths = from->search_paths,
                                    .search_path_count = from->search_path_count};
    bool remote = from->server || from->settings->client_url[0];
    struct train_backend_options backend = exam->config.backend;
    uint64_t version;
    backend.cancelled = from->cancelled;
    int result = gym_open(&exam->gym, &gym, err);
    if (result == 0)
        result = gym_withhold(exam->gym, exam->held_out, err);
    if (result == 0)
        result = remote ? evaluator_open_remote(&exam->evaluator, from->server, &evaluator, err)
                        : evaluator_open_local(&exam->evaluator, &evaluator, err);
    if (result == 0)
        result = train_backend_memory_check(&backend, false, err);
    if (result == 0)
        result = train_backend_open(&exam->backend, &backend, err);
    if (result == 0 && from->where)
        result = train_backend_load(exam->backend, from->directory, from->where, false, 0, err);
    return result < 0 ? result : train_backend_refresh(exam->backend, &version, err);
}

static void hear(void *context, const struct rl_rollout *rollout, const struct rl_turn *turn)
{
    struct exam *exam = context;
    (void)rollout;
    (void)turn;
    exam->options->tell(exam->options->context, ++exam->done, exam->all);
}

static void count_lost(const struct rl_rollout *rollouts, size_t count,
                       struct checkpoint_evaluation_result *result)
{
    for (size_t i = 0; i < count; i++) {
        if (rollouts[i].trajectory)
            continue;
        if (result->lost++ == 0)
            snprintf(result->why, sizeof result->why, "%.255s", rollouts[i].why.text);
    }
}

static int play(struct exam *exam, struct checkpoint_evaluation_result *result, struct err *err)
{
    const struct settings *settings = exam->options->settings;
    json_t *configuration = train_config_episode(&exam->config, settings, settings->gym_reward);
    const struct collector_options options = {
        .gym = exam->gym,
        .backend = exam->backend,
        .evaluator = exam->evaluator,
        .configuration = configuration,
        .sampling = exam->config.evaluation,
        .thinking = settings->train_thinking,
        .thinking_open = settings->policy_thinking_open,
        .seed = rl_random_bits((uint64_t)settings->train_seed, 0, RL_STREAM_HELD_OUT, 0),
        .name = "eval",
        .tasks = exam->tasks,
        .samples = (size_t)settings->train_evaluate_samples,
        .jobs = (size_t)settings->train_jobs,
        .wait_ms = settings->train_wait_ms,
        .cancelled = exam->options->cancelled,
        .tell = exam->options->tell ? hear : NULL,
        .context = exam,
    };
    const struct rl_rollout *rollouts;
    struct collector *played = NULL;
    char *path = mem_printf("%s/" TRAJECTORY_FILE, exam->options->out);
    size_t count;
    exam->all = json_array_size(exam->tasks) * options.samples * (size_t)settings->gym_turns;
    int status = collector_start(&played, &options, err);
    if (status == 0)
        status = collector_wait(played, &rollouts, &count, err);
    if (status == 0)
        status = file_make_directories(exam->options->out, 0755, err);
    if (status == 0)
        status = evaluation_write(rollouts, count, path, err);
    if (status == 0) {
        result->problems = json_array_size(exam->tasks);
        result->samples = count;
        count_lost(rollouts, count, result);
    }
    collector_free(played);
    mem_free(path);
    json_decref(configuration);
    return status;
}

int checkpoint_evaluation_run(const struct checkpoint_evaluation_options *options,
                              struct checkpoint_evaluation_result *result, struct err *err)
{
    struct exam exam = {.options = options};
    *result = (struct checkpoint_evaluation_result){0};
    int status = train_config_read(&exam.config, options->settings, err);
    if (status == 0)
        status = find_problems(&exam, err);
    if (status == 0)
        status = open_all(&exam, err);
    if (status == 0)
        status = play(&exam, result, err);
    train_backend_close(exam.backend);
    if (exam.evaluator)
        evaluator_close(exam.evaluator);
    gym_close(exam.gym);
    json_decref(exam.tasks);
    json_decref(exam.held_out);
    return status;
}
