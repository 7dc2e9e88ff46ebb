#include "rl/collect/collector.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/evaluator.h"
#include "gym/episode/episode.h"
#include "gym/episode/tasks.h"
#include "gym/gym_settings.h"
#include "gym/reward/coverage.h"
#include "judge/verdict.h"
#include "rl/method/counter_random.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FIRST_PAUSE_MS 100
#define LONGEST_PAUSE_MS 5000
#define POLL_MS 50 /* how often a pause checks for the end */

struct collector {
    struct collector_options options;
    json_t *configuration, *tasks;
    enum coverage_measure coverage;
    struct rl_rollout *rollouts;
    size_t count;
    pthread_t *threads;
    size_t started;
    bool joined;

    pthread_mutex_t lock;
    size_t next;
    size_t *left; /* [tasks] episodes that are not over */
    _Atomic bool ended;
    struct err why; /* written once, under the lock */
};

static bool collector_is_over(const struct collector *collector)
{
    return collector->ended || (collector->options.cancelled && *collector->options.cancelled);
}

static void end_collector(struct collector *collector, const struct err *why)
{
    pthread_mutex_lock(&collector->lock);
    if (!collector->ended) {
        collector->why = *why;
        collector->ended = true;
    }
    pthread_mutex_unlock(&collector->lock);
}

static bool is_temporary_error(int code)
{
    return code == ERR_IO || code == ERR_TIMEOUT;
}

/* Whether the error ends one episode only. */
static bool is_episode_error(int code)
{
    return code == ERR_INPUT || code == ERR_MISSING || code == ERR_LIMIT || code == ERR_UNSUPPORTED;
}

/* The time left for retries; zeroed at the beginning. */
struct retry_budget {
    int64_t until_ns;
    int64_t pause_ms;
};

/* Pauses before the next attempt. False: do not retry. */
static bool wait_for_retry(const struct collector *collector, struct retry_budget *retry_budget,
                           int code)
{
    int64_t now = clock_now_ns();
    if (!is_temporary_error(code) || collector_is_over(collector))
        return false;
    if (retry_budget->pause_ms == 0) {
        retry_budget->until_ns = now + collector->options.wait_ms * 1000000;
        retry_budget->pause_ms = FIRST_PAUSE_MS;
    }
    if (now >= retry_budget->until_ns)
        return false;
    int64_t end = now + retry_budget->pause_ms * 1000000;
    const struct timespec glance = {.tv_nsec = POLL_MS * 1000000L};
    while (!collector_is_over(collector) && clock_now_ns() < end &&
           clock_now_ns() < retry_budget->until_ns)
        nanosleep(&glance, NULL);
    retry_budget->pause_ms = retry_budget->pause_ms * 2 < LONGEST_PAUSE_MS
                                 ? retry_budget->pause_ms * 2
                                 : LONGEST_PAUSE_MS;
    return true;
}

struct session {
    struct collector *collector;
    struct rl_rollout *rollout;
    struct episode *episode;
};

static struct rl_turn *current_turn(const struct session *session)
{
    return &session->rollout->turns[session->rollout->count];
}

/* Each sample of a task has LIMIT_TURNS numbers; no two answers of a step share one. */
static uint64_t answer_seed(const struct session *session)
{
    const struct collector_options *options = &session->collector->options;
    uint64_t index = ((uint64_t)session->rollout->task << 32 | session->rollout->sample) *
                         LIMIT_TURNS +
                     (uint64_t)episode_turn(session->episode);
    return rl_random_bits(options->seed, options->step, RL_STREAM_ANSWERS, index);
}

static int begin_episode(struct session *session, struct err *err)
{
    struct collector *collector = session->collector;
    const struct collector_options *options = &collector->options;
    const struct rl_rollout *rollout = session->rollout;
    const json_t *task = json_array_get(collector->tasks, rollout->task - options->first_task);
    json_t *configuration = task_configuration(collector->configuration, task);
    json_t *labels = json_object();
    char id[LIMIT_EPISODE_ID_BYTES];
    snprintf(id, sizeof id, "%.32s-%llu-%zu-%zu", options->name ? options->name : "play",
             (unsigned long long)options->step, rollout->task, rollout->sample);
    json_put(labels, "sample", json_integer((json_int_t)rollout->sample));
    json_put(labels, "policy",
             json_text(word_at(WORDS_IN(TRAIN_BACKENDS), train_backend_kind(options->backend))));
    json_put(configuration, "labels", labels);
    int result = episode_new(&session->episode, options->gym, id, configuration, err);
    json_decref(configuration);
    if (result == 0)
        session->rollout->turns = mem_alloc(((size_t)episode_turns(session->episode) + 1) *
                                            sizeof *session->rollout->turns);
    return result;
}

static json_t *answer_json(const struct collector *collector, const struct rl_turn *turn,
                           double took_ms)
{
    json_t *object = json_object();
    json_put(object, "text", json_text(turn->answer.text));
    json_put(object, "finish", json_string(turn->answer.stopped ? "stop" : "length"));
    json_put(object, "thinking_open", json_boolean(collector->options.thinking_open));
    json_put(object, "usage",
             json_pack("{s:I, s:I}", "prompt_tokens", (json_int_t)turn->prompt.count,
                       "completion_tokens", (json_int_t)turn->answer.count));
    json_put(object, "answer_ms", json_real(took_ms));
    return object;
}

static int sample_answer(struct session *session, struct rl_turn *turn, struct err *err)
{
    const struct collector_options *options = &session->collector->options;
    struct train_backend_sampling sampling = options->sampling;
    struct retry_budget retry_budget = {0};
    int result;
    sampling.seed = answer_seed(session);
    if (session->rollout->greedy)
        sampling.temperature = 0;
    do
        result = train_backend_sample(options->backend, &turn->prompt, &sampling, &turn->answer,
                                      err);
    while (result < 0 && wait_for_retry(session->collector, &retry_budget, result));
    turn->cut = result == 0 && !turn->answer.stopped;
    return result;
}

static int request_answer(struct session *session, struct err *err)
{
    struct rl_turn *turn = current_turn(session);
    json_t *messages, *request;
    int result = episode_messages(session->episode, &messages, err);
    if (result < 0)
        return result;
    result = train_backend_prompt(session->collector->options.backend, messages,
                                  session->collector->options.thinking, &turn->prompt, err);
    json_decref(messages);
    int64_t begun_ns = clock_now_ns();
    if (result == 0)
        result = sample_answer(session, turn, err);
    if (result == ERR_LIMIT && session->rollout->count > 0) {
        episode_end(session->episode, "budget"); /* the conversation exceeds the model's context */
        return 0;
    }
    if (result < 0)
        return result;
    json_t *answer = answer_json(session->collector, turn, clock_ms_since(begun_ns));
    result = episode_answer(session->episode, answer, &request, err);
    json_decref(answer);
    if (result == 0)
        json_decref(request);
    return result;
}

static int judge_answer(struct session *session, struct err *err)
{
    struct collector *collector = session->collector;
    struct retry_budget retry_budget = {0};
    json_t *request = episode_request(session->episode);
    struct verdict verdict = {0};
    int result;
    do {
        verdict_deinit(&verdict);
        result = evaluator_evaluate(collector->options.evaluator, request, &verdict, err);
    } while (result < 0 && wait_for_retry(collector, &retry_budget, result));
    json_decref(request);
    if (result == 0 && collector_is_over(collector))
        result = err_set(err, ERR_CANCELLED, "stopped"); /* the verdict says no more */
    if (result == 0) {
        current_turn(session)->coverage = coverage_read(collector->coverage, &verdict);
        result = episode_verdict(session->episode, &verdict, err);
        result = result == ERR_IO ? 0 : result; /* no verdict: evaluate again */
    }
    verdict_deinit(&verdict);
    return result;
}

static void end_turn(struct session *session, int64_t number)
{
    struct collector *collector = session->collector;
    struct rl_turn *turn = current_turn(session);
    const json_t *record = episode_record(session->episode, number);
    double speedup = json_number_value(json_object_get(record, "speedup"));
    turn->record = json_incref((json_t *)record);
    turn->reward = json_number_value(json_object_get(record, "reward"));
    turn->speedup = speedup > 0 ? speedup : NAN;
    turn->correct = json_is_true(json_object_get(record, "correct"));
    turn->compiled = json_is_true(json_object_get(record, "compiled"));
    turn->format_ok = json_is_true(json_object_get(record, "format_ok"));
    turn->cheated = json_array_size(json_object_get(record, "violations")) > 0 ||
                    verdict_status_named(json_text_at(record, "status")) == STATUS_VIOLATION;
    turn->excluded = json_is_true(json_object_get(record, "excluded"));
    session->rollout->count++;
    current_turn(session)->coverage = NAN;
    if (!collector->options.on_turn)
        return;
    pthread_mutex_lock(&collector->lock);
    collector->options.on_turn(collector->options.context, session->rollout, turn);
    pthread_mutex_unlock(&collector->lock);
}

static int run_episode(struct session *session, struct err *err)
{
    int result = begin_episode(session, err);
    if (result == 0)
        current_turn(session)->coverage = NAN;
    while (result == 0 && episode_phase(session->episode) != EPISODE_DONE) {
        int64_t turn = episode_turn(session->episode);
        if (collector_is_over(session->collector))
            return err_set(err, ERR_CANCELLED, "stopped");
        result = episode_phase(session->episode) == EPISODE_ANSWERING ? request_answer(session, err)
                                                                      : judge_answer(session, err);
        if (result == 0 && episode_record(session->episode, turn))
            end_turn(session, turn);
    }
    if (result == 0)
        session->rollout->trajectory = episode_trajectory(session->episode);
    return result;
}

static struct rl_rollout *next_rollout(struct collector *collector)
{
    pthread_mutex_lock(&collector->lock);
    struct rl_rollout *rollout = NULL;
    if (!collector_is_over(collector) && collector->next < collector->count)
        rollout = &collector->rollouts[collector->next++];
    pthread_mutex_unlock(&collector->lock);
    return rollout;
}

static void *run_worker(void *argument)
{
    struct collector *collector = argument;
    struct rl_rollout *rollout;
    while ((rollout = next_rollout(collector))) {
        struct session session = {.collector = collector, .rollout = rollout};
        struct err err = {0}; /* may hold an error that a retry resolved */
        int result = run_episode(&session, &err);
        if (result < 0)
            rollout->why = err;
        if (result < 0 && !is_episode_error(result) && result != ERR_CANCELLED)
            end_collector(collector, &err);
        episode_free(session.episode);
        pthread_mutex_lock(&collector->lock);
        collector->left[rollout->task - collector->options.first_task]--;
        pthread_mutex_unlock(&collector->lock);
    }
    return NULL;
}

static void make_rollouts(struct collector *collector)
{
    size_t samples = collector->options.samples + collector->options.greedy;
    collector->count = json_array_size(collector->tasks) * samples;
    collector->rollouts = mem_alloc((collector->count + 1) * sizeof *collector->rollouts);
    collector->left = mem_alloc((collector->count + 1) * sizeof *collector->left);
    for (size_t i = 0; i < collector->count; i++)
        collector->left[i / samples]++;
    for (size_t i = 0; i < collector->count; i++)
        collector->rollouts[i] = (struct rl_rollout){
            .problem = task_problem(json_array_get(collector->tasks, i / samples)),
            .task = collector->options.first_task + i / samples,
            .sample = i % samples,
            .greedy = i % samples == collector->options.samples};
}

int collector_start(struct collector **out, const struct collector_options *options,
                    struct err *err)
{
    struct collector *collector = mem_alloc(sizeof *collector);
    collector->options = *options;
    collector->coverage = gym_settings(options->gym->settings)->coverage;
    collector->configuration = json_deep_copy(options->configuration);
    collector->tasks = json_deep_copy(options->tasks);
    pthread_mutex_init(&collector->lock, NULL);
    make_rollouts(collector);
    size_t wanted = options->jobs < collector->count ? options->jobs : collector->count;
    collector->threads = mem_alloc((wanted + 1) * sizeof *collector->threads);
    while (collector->started < wanted && pthread_create(&collector->threads[collector->started],
                                                         NULL, run_worker, collector) == 0)
        collector->started++;
    if (collector->started == 0 && wanted > 0) {
        collector_free(collector);
        return err_set(err, ERR_IO, "cannot start a thread for the episodes");
    }
    *out = collector;
    return 0;
}

static void join_workers(struct collector *collector)
{
    for (size_t i = 0; i < collector->started && !collector->joined; i++)
        pthread_join(collector->threads[i], NULL);
    collector->joined = true;
}

int collector_wait(struct collector *collector, const struct rl_rollout **rollouts, size_t *count,
                   struct err *err)
{
    join_workers(collector);
    *rollouts = collector->rollouts;
    *count = collector->count;
    if (collector->ended) {
        *err = collector->why;
        return collector->why.code;
    }
    if (collector->options.cancelled && *collector->options.cancelled)
        return err_set(err, ERR_CANCELLED, "interrupted");
    return 0;
}

bool collector_task_over(struct collector *collector, size_t task)
{
    pthread_mutex_lock(&collector->lock);
    bool over = collector->left[task] == 0;
    pthread_mutex_unlock(&collector->lock);
    return over;
}

const struct rl_rollout *collector_rollouts(const struct collector *collector)
{
    return collector->rollouts;
}

bool collector_ended(struct collector *collector)
{
    return collector_is_over(collector);
}

static void free_rollout(struct rl_rollout *rollout)
{
    /* The slot after the last turn may hold an answer that was never judged. */
    for (size_t i = 0; rollout->turns && i <= rollout->count; i++) {
        tokens_deinit(&rollout->turns[i].prompt);
        train_backend_answer_deinit(&rollout->turns[i].answer);
        json_decref(rollout->turns[i].record);
    }
    mem_free(rollout->turns);
    json_decref(rollout->trajectory);
}

void collector_free(struct collector *collector)
{
    if (!collector)
        return;
    const struct err stopped = {.code = ERR_CANCELLED, .text = "stopped"};
    if (!collector->joined)
        end_collector(collector, &stopped);
    join_workers(collector);
    for (size_t i = 0; i < collector->count; i++)
        free_rollout(&collector->rollouts[i]);
    mem_free(collector->rollouts);
    mem_free(collector->left);
    mem_free(collector->threads);
    json_decref(collector->configuration);
    json_decref(collector->tasks);
    pthread_mutex_destroy(&collector->lock);
    mem_free(collector);
}
