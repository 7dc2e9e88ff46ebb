#include "rl/collect/collector.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/evaluator.h"
#include "gym/episode/episode.h"
#include "gym/reward/coverage.h"
#include "rl/method/counter_random.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FIRST_PAUSE_MS 100
#define LONGEST_PAUSE_MS 5000
#define GLANCE_MS 50 /* how often a pause looks whether it is over */

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
    _Atomic bool ended;
    struct err why; /* written once, with the lock */
};

/* ------------------------------------------------------------------------------------ patience */

static bool is_over(const struct collector *play)
{
    return play->ended || (play->options.cancelled && *play->options.cancelled);
}

static void end_play(struct collector *play, const struct err *why)
{
    pthread_mutex_lock(&play->lock);
    if (!play->ended) {
        play->why = *why;
        play->ended = true;
    }
    pthread_mutex_unlock(&play->lock);
}

static bool is_away(int code)
{
    return code == ERR_IO || code == ERR_TIMEOUT;
}

/* Whether it concerns one episode alone. */
static bool is_refusal(int code)
{
    return code == ERR_INPUT || code == ERR_MISSING || code == ERR_LIMIT || code == ERR_UNSUPPORTED;
}

/* Patience with somebody who is away; zero to begin with. */
struct patience {
    int64_t until_ns;
    int64_t pause_ms;
};

/* Rests before the next attempt. False: it is no use any more. */
static bool bear(const struct collector *play, struct patience *patience, int code)
{
    int64_t now = clock_now_ns();
    if (!is_away(code) || is_over(play))
        return false;
    if (patience->pause_ms == 0) {
        patience->until_ns = now + play->options.wait_ms * 1000000;
        patience->pause_ms = FIRST_PAUSE_MS;
    }
    if (now >= patience->until_ns)
        return false;
    int64_t end = now + patience->pause_ms * 1000000;
    const struct timespec glance = {.tv_nsec = GLANCE_MS * 1000000L};
    while (!is_over(play) && clock_now_ns() < end && clock_now_ns() < patience->until_ns)
        nanosleep(&glance, NULL);
    patience->pause_ms = patience->pause_ms * 2 < LONGEST_PAUSE_MS ? patience->pause_ms * 2
                                                                   : LONGEST_PAUSE_MS;
    return true;
}

/* ---------------------------------------------------------------------------------- one episode */

struct seat {
    struct collector *play;
    struct rl_rollout *rollout;
    struct episode *episode;
};

static struct rl_turn *turn_of(const struct seat *seat)
{
    return &seat->rollout->turns[seat->rollout->count];
}

/* A sample of a task has LIMIT_TURNS numbers; no two answers of a step share one. */
static uint64_t seed_of(const struct seat *seat)
{
    const struct collector_options *options = &seat->play->options;
    uint64_t index = ((uint64_t)seat->rollout->task << 32 | seat->rollout->sample) * LIMIT_TURNS +
                     (uint64_t)episode_turn(seat->episode);
    return rl_random_bits(options->seed, options->step, RL_STREAM_ANSWERS, index);
}

static int begin(struct seat *seat, struct err *err)
{
    struct collector *play = seat->play;
    const struct collector_options *options = &play->options;
    const struct rl_rollout *rollout = seat->rollout;
    const json_t *task = json_array_get(play->tasks, rollout->task - options->first_task);
    json_t *configuration = json_copy(play->configuration);
    json_t *labels = json_object();
    char id[LIMIT_EPISODE_ID_BYTES];
    snprintf(id, sizeof id, "%.32s-%llu-%zu-%zu", options->name ? options->name : "play",
             (unsigned long long)options->step, rollout->task, rollout->sample);
    json_put(labels, "sample", json_integer((json_int_t)rollout->sample));
    json_put(labels, "policy", json_text(train_backend_kind(options->backend)));
    json_put(configuration, "labels", labels);
    json_put(configuration, "problem", json_incref(json_object_get(task, "problem")));
    int result = episode_new(&seat->episode, options->gym, id, configuration, err);
    json_decref(configuration);
    if (result == 0)
        seat->rollout->turns = mem_alloc(((size_t)episode_turns(seat->episode) + 1) *
                                         sizeof *seat->rollout->turns);
    return result;
}

static json_t *answer_json(const struct collector *play, const struct rl_turn *turn, double took_ms)
{
    json_t *object = json_object();
    json_put(object, "text", json_text(turn->answer.text));
    json_put(object, "finish", json_string(turn->answer.stopped ? "stop" : "length"));
    json_put(object, "thinking_open", json_boolean(play->options.thinking_open));
    json_put(object, "usage",
             json_pack("{s:I, s:I}", "prompt_tokens", (json_int_t)turn->prompt.count,
                       "completion_tokens", (json_int_t)turn->answer.count));
    json_put(object, "answer_ms", json_real(took_ms));
    return object;
}

static int sample(struct seat *seat, struct rl_turn *turn, struct err *err)
{
    const struct collector_options *options = &seat->play->options;
    struct train_backend_sampling sampling = options->sampling;
    struct patience patience = {0};
    int result;
    sampling.seed = seed_of(seat);
    do
        result = train_backend_sample(options->backend, &turn->prompt, &sampling, &turn->answer,
                                      err);
    while (result < 0 && bear(seat->play, &patience, result));
    turn->cut = result == 0 && !turn->answer.stopped;
    return result;
}

static int ask(struct seat *seat, struct err *err)
{
    struct rl_turn *turn = turn_of(seat);
    json_t *messages, *request;
    int result = episode_messages(seat->episode, &messages, err);
    if (result < 0)
        return result;
    result = train_backend_prompt(seat->play->options.backend, messages,
                                  seat->play->options.thinking, &turn->prompt, err);
    json_decref(messages);
    int64_t begun_ns = clock_now_ns();
    if (result == 0)
        result = sample(seat, turn, err);
    if (result == ERR_LIMIT && seat->rollout->count > 0) {
        episode_end(seat->episode, "budget"); /* what was said is more than the model may read */
        return 0;
    }
    if (result < 0)
        return result;
    json_t *answer = answer_json(seat->play, turn, clock_ms_since(begun_ns));
    result = episode_answer(seat->episode, answer, &request, err);
    json_decref(answer);
    if (result == 0)
        json_decref(request);
    return result;
}

static int judge(struct seat *seat, struct err *err)
{
    struct collector *play = seat->play;
    struct patience patience = {0};
    json_t *request = episode_request(seat->episode), *verdict = NULL;
    int result;
    do
        result = evaluator_evaluate(play->options.evaluator, request, &verdict, err);
    while (result < 0 && bear(play, &patience, result));
    json_decref(request);
    if (result < 0)
        return result;
    if (is_over(play)) { /* what it says now is that we stopped */
        json_decref(verdict);
        return err_set(err, ERR_CANCELLED, "stopped");
    }
    turn_of(seat)->coverage = coverage_read(play->coverage, verdict);
    result = episode_verdict(seat->episode, verdict, err);
    json_decref(verdict);
    return result == ERR_IO ? 0 : result; /* it was none: asked again */
}

static void end_turn(struct seat *seat, int64_t number)
{
    struct collector *play = seat->play;
    struct rl_turn *turn = turn_of(seat);
    const json_t *record = episode_record(seat->episode, number);
    double speedup = json_number_value(json_object_get(record, "speedup"));
    turn->record = json_incref((json_t *)record);
    turn->reward = json_number_value(json_object_get(record, "reward"));
    turn->speedup = speedup > 0 ? speedup : NAN;
    turn->correct = json_is_true(json_object_get(record, "correct"));
    turn->compiled = json_is_true(json_object_get(record, "compiled"));
    turn->format_ok = json_is_true(json_object_get(record, "format_ok"));
    turn->cheated = json_array_size(json_object_get(record, "violations")) > 0 ||
                    strcmp(json_text_at(record, "status"), "violation") == 0;
    turn->excluded = json_is_true(json_object_get(record, "excluded"));
    seat->rollout->count++;
    turn_of(seat)->coverage = NAN;
    if (!play->options.tell)
        return;
    pthread_mutex_lock(&play->lock);
    play->options.tell(play->options.context, seat->rollout, turn);
    pthread_mutex_unlock(&play->lock);
}

static int play_episode(struct seat *seat, struct err *err)
{
    int result = begin(seat, err);
    if (result == 0)
        turn_of(seat)->coverage = NAN;
    while (result == 0 && episode_phase(seat->episode) != EPISODE_DONE) {
        int64_t turn = episode_turn(seat->episode);
        if (is_over(seat->play))
            return err_set(err, ERR_CANCELLED, "stopped");
        result = episode_phase(seat->episode) == EPISODE_ANSWERING ? ask(seat, err)
                                                                   : judge(seat, err);
        if (result == 0 && episode_record(seat->episode, turn))
            end_turn(seat, turn);
    }
    if (result == 0)
        seat->rollout->trajectory = episode_trajectory(seat->episode);
    return result;
}

/* ---------------------------------------------------------------------------------- the threads */

static struct rl_rollout *next_rollout(struct collector *play)
{
    pthread_mutex_lock(&play->lock);
    struct rl_rollout *rollout = NULL;
    if (!is_over(play) && play->next < play->count)
        rollout = &play->rollouts[play->next++];
    pthread_mutex_unlock(&play->lock);
    return rollout;
}

static void *work(void *argument)
{
    struct collector *play = argument;
    struct rl_rollout *rollout;
    while ((rollout = next_rollout(play))) {
        struct seat seat = {.play = play, .rollout = rollout};
        struct err err = {0}; /* it may tell of what was overcome */
        int result = play_episode(&seat, &err);
        if (result < 0)
            rollout->why = err;
        if (result < 0 && !is_refusal(result) && result != ERR_CANCELLED)
            end_play(play, &err);
        episode_free(seat.episode);
    }
    return NULL;
}

static const char *name_of(const json_t *task)
{
    const char *id = json_string_value(json_object_get(json_object_get(task, "problem"), "id"));
    return id ? id : "inline";
}

static void make_rollouts(struct collector *play)
{
    size_t samples = play->options.samples;
    play->count = json_array_size(play->tasks) * samples;
    play->rollouts = mem_alloc((play->count + 1) * sizeof *play->rollouts);
    for (size_t i = 0; i < play->count; i++)
        play->rollouts[i] = (struct rl_rollout){.problem = name_of(
                                                    json_array_get(play->tasks, i / samples)),
                                                .task = play->options.first_task + i / samples,
                                                .sample = i % samples};
}

int collector_start(struct collector **out, const struct collector_options *options,
                    struct err *err)
{
    enum coverage_measure coverage;
    int result = coverage_measure_named(options->gym->settings->gym_coverage, &coverage, err);
    if (result < 0)
        return err_prefix(err, "gym.coverage");
    struct collector *play = mem_alloc(sizeof *play);
    play->options = *options;
    play->coverage = coverage;
    play->configuration = json_deep_copy(options->configuration);
    play->tasks = json_deep_copy(options->tasks);
    pthread_mutex_init(&play->lock, NULL);
    make_rollouts(play);
    size_t wanted = options->jobs < play->count ? options->jobs : play->count;
    play->threads = mem_alloc((wanted + 1) * sizeof *play->threads);
    while (play->started < wanted &&
           pthread_create(&play->threads[play->started], NULL, work, play) == 0)
        play->started++;
    if (play->started == 0 && wanted > 0) {
        collector_free(play);
        return err_set(err, ERR_IO, "cannot start a thread for the episodes");
    }
    *out = play;
    return 0;
}

static void join(struct collector *play)
{
    for (size_t i = 0; i < play->started && !play->joined; i++)
        pthread_join(play->threads[i], NULL);
    play->joined = true;
}

int collector_wait(struct collector *play, const struct rl_rollout **rollouts, size_t *count,
                   struct err *err)
{
    join(play);
    *rollouts = play->rollouts;
    *count = play->count;
    if (play->ended) {
        *err = play->why;
        return play->why.code;
    }
    if (play->options.cancelled && *play->options.cancelled)
        return err_set(err, ERR_CANCELLED, "interrupted");
    return 0;
}

static void free_rollout(struct rl_rollout *rollout)
{
    /* One behind the last may hold an answer that was never judged. */
    for (size_t i = 0; rollout->turns && i <= rollout->count; i++) {
        tokens_deinit(&rollout->turns[i].prompt);
        train_backend_answer_deinit(&rollout->turns[i].answer);
        json_decref(rollout->turns[i].record);
    }
    mem_free(rollout->turns);
    json_decref(rollout->trajectory);
}

void collector_free(struct collector *play)
{
    if (!play)
        return;
    const struct err stopped = {.code = ERR_CANCELLED, .text = "stopped"};
    if (!play->joined)
        end_play(play, &stopped);
    join(play);
    for (size_t i = 0; i < play->count; i++)
        free_rollout(&play->rollouts[i]);
    mem_free(play->rollouts);
    mem_free(play->threads);
    json_decref(play->configuration);
    json_decref(play->tasks);
    pthread_mutex_destroy(&play->lock);
    mem_free(play);
}
