#include "gym/episode/rollout.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/evaluator.h"
#include "gym/episode/episode.h"
#include "gym/episode/journal.h"
#include "gym/episode/tasks.h"
#include "gym/episode/trajectory.h"
#include "policy/policy.h"
#include "policy/policy_settings.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 512 /* configurations are at most four levels deep */

struct task {
    const json_t *asked; /* one of rollout_options.tasks */
    int64_t sample;
    char id[LIMIT_EPISODE_ID_BYTES];
    struct episode *episode; /* in progress in the journal; NULL */
    bool done;
};

struct run {
    const struct rollout_options *options;
    struct rollout_counts *counts;
    json_t *asked; /* the tasks of the run's first call */
    char key[17];  /* drawn once, so that no two runs share an evaluation's id */
    struct journal journal, trajectories;
    struct task *tasks;
    size_t count;

    pthread_mutex_t lock;
    size_t next;
    _Atomic unsigned refusals; /* in a row */
    _Atomic unsigned unjudged; /* unjudged episodes in a row */
    _Atomic bool ended;        /* because of `why`, which is written once, under the lock */
    struct err why;
};

static char *run_path(const struct run *run, const char *name)
{
    return mem_printf("%s/%s", run->options->directory, name);
}

static json_t *describe_run(const struct run *run)
{
    const struct rollout_options *options = run->options;
    json_t *run_json = json_object();
    json_put(run_json, "schema", json_integer(1));
    json_put(run_json, "policy", json_text(policy_kind(options->policy)));
    json_put(run_json, "model", json_text(policy_model(options->policy)));
    json_put(run_json, "samples", json_integer(options->samples));
    json_put(run_json, "configuration", json_incref((json_t *)options->configuration));
    json_put(run_json, "tasks", json_incref((json_t *)options->tasks));
    return run_json;
}

/* Finds the first difference of two values, and appends its path to the `length` bytes of `path`;
 * *found and *wanted are the two values. Starts of episodes are exempt: this very run may have
 * improved them, and the first ones count. */
static bool find_difference(const json_t **found, const json_t **wanted, char *path, size_t length)
{
    const json_t *one = *found, *other = *wanted;
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_object(one) && json_is_object(other)) {
        json_object_foreach((json_t *)other, key, value)
        {
            int more = snprintf(path + length, PATH_BYTES - length, "%s%.40s", length ? "." : "",
                                key);
            *found = json_object_get(one, key);
            *wanted = value;
            if (strcmp(key, "start") != 0 &&
                find_difference(found, wanted, path, length + (size_t)more))
                return true;
        }
        return false;
    }
    if (!json_is_array(one) || json_array_size(one) != json_array_size(other))
        return !json_equal(one, other);
    json_array_foreach((json_t *)other, i, value)
    {
        int more = snprintf(path + length, PATH_BYTES - length, ".%zu", i);
        *found = json_array_get(one, i);
        *wanted = value;
        if (find_difference(found, wanted, path, length + (size_t)more))
            return true;
    }
    return false;
}

static char *short_text(const json_t *value)
{
    bool is_short = value && !json_is_array(value) && !json_is_object(value);
    char *text = is_short ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    char *copy = mem_printf("%.80s", text ? text : "something else");
    free(text);
    return copy;
}

static int compare_runs(const struct run *run, const json_t *found, const json_t *wanted,
                        struct err *err)
{
    char path[PATH_BYTES];
    if (!find_difference(&found, &wanted, path, 0))
        return 0;
    char *was = short_text(found), *now = short_text(wanted);
    err_set(err, ERR_INPUT,
            "%s holds another run: its %s was %s, and is %s now; repeat its settings, or name "
            "another directory",
            run->options->directory, path, was, now);
    mem_free(was);
    mem_free(now);
    return ERR_INPUT;
}

static int write_run(struct run *run, const char *path, json_t *wanted, struct err *err)
{
    snprintf(run->key, sizeof run->key, "%016llx", (unsigned long long)clock_secret());
    json_t *whole = json_copy(wanted);
    json_put(whole, "key", json_string(run->key));
    int result = json_file_write(path, whole, false, err);
    json_decref(whole);
    run->asked = json_incref((json_t *)run->options->tasks);
    return result;
}

static int read_run(struct run *run, const char *path, const json_t *wanted, struct err *err)
{
    const char *key;
    json_t *found = NULL;
    int result = json_file_read(path, LIMIT_JOURNAL_LINE_BYTES, &found, err);
    if (result == 0)
        result = compare_runs(run, found, wanted, err);
    if (result == 0)
        result = json_get_string(found, "key", &key, err);
    if (result == 0) {
        snprintf(run->key, sizeof run->key, "%s", key);
        run->asked = json_incref(json_object_get(found, "tasks"));
    }
    json_decref(found);
    return result;
}

static int open_run(struct run *run, struct err *err)
{
    char *path = run_path(run, "run.json");
    json_t *wanted = describe_run(run);
    int result = file_make_directories(run->options->directory, 0755, err);
    if (result == 0)
        result = file_exists(path) ? read_run(run, path, wanted, err)
                                   : write_run(run, path, wanted, err);
    json_decref(wanted);
    mem_free(path);
    return result;
}

static void stop_run(struct run *run, const struct err *why)
{
    pthread_mutex_lock(&run->lock);
    if (!run->ended) {
        run->why = *why;
        run->ended = true;
    }
    pthread_mutex_unlock(&run->lock);
}

static void report_event(struct run *run, const struct rollout_event *event)
{
    if (!run->options->on_event)
        return;
    pthread_mutex_lock(&run->lock);
    run->options->on_event(run->options->context, event);
    pthread_mutex_unlock(&run->lock);
}

static struct task *task_named(struct run *run, const json_t *object)
{
    const char *id = json_string_value(json_object_get(object, "episode"));
    size_t prefix = strlen(run->key);
    if (!id || strncmp(id, run->key, prefix) != 0 || id[prefix] != '-')
        return NULL;
    unsigned long number = strtoul(id + prefix + 1, NULL, 10);
    return number < run->count && strcmp(run->tasks[number].id, id) == 0 ? &run->tasks[number]
                                                                         : NULL;
}

static int read_done_trajectory(void *context, const json_t *object, struct err *err)
{
    struct run *run = context;
    struct task *task = task_named(run, object);
    if (task && !task->done) {
        task->done = true;
        run->counts->found++;
        report_event(run, &(struct rollout_event){.trajectory = object,
                                                  .problem = task_problem(task->asked),
                                                  .found = true});
    }
    return 0;
}

static int read_journal_event(void *context, const json_t *object, struct err *err)
{
    struct run *run = context;
    struct task *task = task_named(run, object);
    const json_t *state = json_object_get(object, "state");
    const json_t *answer = json_object_get(object, "answer");
    json_t *request;
    int result = 0;
    if (!task || task->done)
        return 0;
    if (state) {
        episode_free(task->episode);
        task->episode = NULL;
        return episode_load(&task->episode, run->options->gym, state, err);
    }
    if (!task->episode)
        return 0;
    if (answer) {
        result = episode_answer(task->episode, answer, &request, err);
        json_decref(request);
        return result;
    }
    struct verdict verdict;
    result = verdict_read(json_object_get(object, "verdict"), &verdict, err);
    if (result == 0)
        result = episode_verdict(task->episode, &verdict, err);
    verdict_deinit(&verdict);
    return result == ERR_IO ? 0 : result; /* the journal has the repeated evaluation, too */
}

static int open_journals(struct run *run, struct err *err)
{
    char *done = run_path(run, ROLLOUT_TRAJECTORIES), *events = run_path(run, "journal.jsonl");
    int result = journal_open(&run->trajectories, done, true, read_done_trajectory, run, err);
    if (result == 0) {
        result = journal_open(&run->journal, events, true, read_journal_event, run, err);
        if (result < 0)
            journal_close(&run->trajectories);
    }
    mem_free(done);
    mem_free(events);
    for (size_t i = 0; result == 0 && i < run->count; i++)
        run->counts->resumed += run->tasks[i].episode != NULL;
    return result;
}

static void make_tasks(struct run *run)
{
    size_t problems = json_array_size(run->asked), samples = (size_t)run->options->samples;
    run->count = problems * samples;
    run->tasks = mem_alloc((run->count + 1) * sizeof *run->tasks);
    for (size_t i = 0; i < run->count; i++) {
        struct task *task = &run->tasks[i];
        task->asked = json_array_get(run->asked, i % problems);
        task->sample = (int64_t)(i / problems);
        snprintf(task->id, sizeof task->id, "%s-%zu", run->key, i);
    }
    run->counts->episodes = run->count;
}

static bool run_is_over(const struct run *run)
{
    return run->ended || (run->options->cancelled && *run->options->cancelled);
}

static int append_journal(struct run *run, const struct task *task, const char *key, json_t *value,
                          struct err *err)
{
    json_t *event = json_object();
    json_put(event, "episode", json_string(task->id));
    json_put(event, key, value);
    return journal_append(&run->journal, event, err);
}

static int begin_episode(struct run *run, struct task *task, struct err *err)
{
    const struct rollout_options *options = run->options;
    json_t *configuration = task_configuration(options->configuration, task->asked);
    json_put(configuration, "labels",
             json_pack("{s:I, s:s, s:s}", "sample", (json_int_t)task->sample, "policy",
                       policy_kind(options->policy), "model", policy_model(options->policy)));
    int result = episode_new(&task->episode, options->gym, task->id, configuration, err);
    json_decref(configuration);
    if (result == 0)
        result = append_journal(run, task, "state", json_deep_copy(episode_state(task->episode)),
                                err);
    return result;
}

static json_t *answer_json(const struct run *run, const struct policy_answer *answer)
{
    json_t *usage = json_object(), *object = json_object();
    json_put(usage, "prompt_tokens", json_integer(answer->prompt_tokens));
    json_put(usage, "completion_tokens", json_integer(answer->completion_tokens));
    json_put(usage, "cached_tokens", json_integer(answer->cached_tokens));
    json_put(usage, "cost", json_real(isfinite(answer->cost) ? answer->cost : -1));
    json_put(object, "text", json_text(answer->text));
    if (answer->reasoning)
        json_put(object, "reasoning", json_text(answer->reasoning));
    json_put(object, "finish", json_text(answer->finish));
    if (answer->model)
        json_put(object, "model", json_text(answer->model));
    json_put(object, "usage", usage);
    if (policy_settings(run->options->gym->settings)->thinking_open && !answer->reasoning)
        json_put(object, "thinking_open", json_true());
    if (answer->logprobs)
        json_put(object, "logprobs", json_incref(answer->logprobs));
    json_put(object, "answer_ms", json_real(isfinite(answer->answer_ms) ? answer->answer_ms : -1));
    return object;
}

/* A seed for each answer: other runs and other samples get other seeds. */
static uint64_t answer_seed(const struct run *run, const struct task *task)
{
    return strtoull(run->key, NULL, 16) + (uint64_t)(task - run->tasks) * LIMIT_TURNS +
           (uint64_t)episode_turn(task->episode);
}

static int request_answer(struct run *run, struct task *task, struct err *err)
{
    struct policy_answer answer = {0};
    json_t *messages, *request;
    int result = episode_messages(task->episode, &messages, err);
    if (result < 0)
        return result;
    const struct policy_request question = {.messages = messages,
                                            .problem = task_problem(task->asked),
                                            .sample = task->sample,
                                            .turn = episode_turn(task->episode),
                                            .seed = answer_seed(run, task)};
    result = policy_complete(run->options->policy, &question, &answer, err);
    json_decref(messages);
    if (result == 0) {
        json_t *object = answer_json(run, &answer);
        result = append_journal(run, task, "answer", json_incref(object), err);
        if (result == 0)
            result = episode_answer(task->episode, object, &request, err);
        if (result == 0)
            json_decref(request);
        json_decref(object);
        run->refusals = 0;
    }
    policy_answer_deinit(&answer);
    return result;
}

static int judge_answer(struct run *run, struct task *task, struct err *err)
{
    json_t *request = episode_request(task->episode);
    int64_t turn = episode_turn(task->episode);
    struct verdict verdict;
    int result = evaluator_evaluate(run->options->evaluator, request, &verdict, err);
    json_decref(request);
    if (result == 0 && run_is_over(run)) /* the verdict only says that it was cancelled */
        result = err_set(err, ERR_CANCELLED, "stopped");
    if (result == 0)
        result = append_journal(run, task, "verdict", verdict_json(&verdict), err);
    if (result == 0) {
        result = episode_verdict(task->episode, &verdict, err);
        if (result == 0 &&
            !json_is_true(json_object_get(episode_record(task->episode, turn), "excluded")))
            run->unjudged = 0;
        result = result == ERR_IO ? 0 : result; /* no verdict: evaluate again */
    }
    verdict_deinit(&verdict);
    return result;
}

/* Why the last turn says nothing about its candidate. False: it does. */
static bool unjudged_reason(const struct episode *episode, struct err *why)
{
    const json_t *record = episode_record(episode, episode_turn(episode) - 1);
    char said[ERR_TEXT_MAX];
    if (!json_is_true(json_object_get(record, "excluded")))
        return false;
    trajectory_why(record, said, sizeof said);
    err_set(why, ERR_IO, "it could not be judged: %s", said);
    return true;
}

static int finish_episode(struct run *run, struct task *task, struct err *err)
{
    json_t *trajectory = episode_trajectory(task->episode);
    int result = journal_append(&run->trajectories, json_incref(trajectory), err);
    if (result == 0) {
        struct err why;
        bool unjudged = unjudged_reason(task->episode, &why);
        task->done = true;
        report_event(run, &(struct rollout_event){.trajectory = trajectory,
                                                  .problem = task_problem(task->asked),
                                                  .why = unjudged ? &why : NULL});
        if (unjudged && ++run->unjudged >= ROLLOUT_REFUSALS)
            stop_run(run, &why);
    }
    json_decref(trajectory);
    return result;
}

static int run_episode(struct run *run, struct task *task, struct err *err)
{
    int result = task->episode ? 0 : begin_episode(run, task, err);
    while (result == 0 && episode_phase(task->episode) != EPISODE_DONE) {
        int64_t turn = episode_turn(task->episode);
        if (run_is_over(run))
            return err_set(err, ERR_CANCELLED, "stopped");
        result = episode_phase(task->episode) == EPISODE_ANSWERING ? request_answer(run, task, err)
                                                                   : judge_answer(run, task, err);
        if (result == 0 && episode_turn(task->episode) > turn)
            report_event(run, &(struct rollout_event){.record = episode_record(task->episode, turn),
                                                      .problem = task_problem(task->asked)});
    }
    return result == 0 ? finish_episode(run, task, err) : result;
}

/* Whether the error concerns this episode only. */
static bool is_episode_error(int code)
{
    return code == ERR_INPUT || code == ERR_MISSING || code == ERR_LIMIT || code == ERR_UNSUPPORTED;
}

static void settle_episode(struct run *run, struct task *task, int result, const struct err *err)
{
    bool failed = result < 0 && result != ERR_CANCELLED;
    pthread_mutex_lock(&run->lock);
    run->counts->done += result == 0;
    run->counts->failed += failed;
    pthread_mutex_unlock(&run->lock);
    if (failed) {
        if (!is_episode_error(result) || ++run->refusals >= ROLLOUT_REFUSALS)
            stop_run(run, err);
        report_event(run,
                     &(struct rollout_event){.problem = task_problem(task->asked), .why = err});
    }
    episode_free(task->episode);
    task->episode = NULL;
}

static struct task *next_task(struct run *run)
{
    struct task *task = NULL;
    pthread_mutex_lock(&run->lock);
    while (!run_is_over(run) && run->next < run->count && !task) {
        task = &run->tasks[run->next++];
        if (task->done)
            task = NULL;
    }
    pthread_mutex_unlock(&run->lock);
    return task;
}

static void *run_worker(void *argument)
{
    struct run *run = argument;
    struct task *task;
    while ((task = next_task(run))) {
        struct err err = {0};
        int result = run_episode(run, task, &err);
        settle_episode(run, task, result, &err);
    }
    return NULL;
}

static int run_threads(struct run *run, struct err *err)
{
    size_t wanted = run->options->jobs < run->count ? run->options->jobs : run->count, started = 0;
    pthread_t *threads = mem_alloc((wanted + 1) * sizeof *threads);
    while (started < wanted && pthread_create(&threads[started], NULL, run_worker, run) == 0)
        started++;
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    mem_free(threads);
    if (started == 0 && wanted > 0)
        return err_set(err, ERR_IO, "cannot start a thread for the episodes");
    if (run->ended) {
        *err = run->why;
        return run->why.code;
    }
    if (run->options->cancelled && *run->options->cancelled)
        return err_set(err, ERR_CANCELLED, "interrupted");
    return 0;
}

int rollout_run(const struct rollout_options *options, struct rollout_counts *counts,
                struct err *err)
{
    struct run run = {.options = options, .counts = counts};
    *counts = (struct rollout_counts){0};
    int result = tasks_check(options->gym, options->configuration, options->tasks, err);
    if (result == 0)
        result = open_run(&run, err);
    if (result < 0) {
        json_decref(run.asked);
        return result;
    }
    pthread_mutex_init(&run.lock, NULL);
    make_tasks(&run);
    result = open_journals(&run, err);
    if (result == 0) {
        result = run_threads(&run, err);
        journal_close(&run.journal);
        journal_close(&run.trajectories);
    }
    for (size_t i = 0; i < run.count; i++)
        episode_free(run.tasks[i].episode);
    mem_free(run.tasks);
    json_decref(run.asked);
    pthread_mutex_destroy(&run.lock);
    return result;
}
