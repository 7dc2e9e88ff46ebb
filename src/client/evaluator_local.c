/* evaluator_local: evaluates in this process. */
#include "client/evaluator_internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "device/cpu.h"
#include "judge/evaluate.h"
#include "judge/request/request.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define TICK_MS 50

struct local_session {
    struct session *judge_session;
    _Atomic int stop;    /* enum evaluation_stop */
    int64_t deadline_ns; /* 0: idle */
    const _Atomic int *cancelled;
    struct local_session *next;
};

/* The timer thread stops evaluations that are late or cancelled. */
struct local {
    const struct settings *settings;
    const struct paths_list *search_paths;
    struct judge *judge;
    pthread_t timer_thread;
    pthread_mutex_t lock; /* all below, and the sessions' deadlines */
    pthread_cond_t changed;
    struct local_session *sessions;
    size_t busy;
    bool ended;
};

/* With the lock. */
static void stop_due_sessions(struct local *local)
{
    int64_t now_ns = clock_now_ns();
    for (struct local_session *local_session = local->sessions; local_session;
         local_session = local_session->next) {
        if (local_session->deadline_ns == 0 || local_session->stop != EVALUATION_GOES_ON)
            continue;
        if (local_session->cancelled && *local_session->cancelled)
            local_session->stop = EVALUATION_CANCELLED;
        else if (now_ns > local_session->deadline_ns)
            local_session->stop = EVALUATION_OUT_OF_TIME;
    }
}

static void *timer_thread(void *argument)
{
    struct local *local = argument;
    pthread_mutex_lock(&local->lock);
    while (!local->ended) {
        struct timespec until = clock_in_ms(TICK_MS);
        if (local->busy > 0)
            pthread_cond_timedwait(&local->changed, &local->lock, &until);
        else
            pthread_cond_wait(&local->changed, &local->lock);
        stop_due_sessions(local);
    }
    pthread_mutex_unlock(&local->lock);
    return NULL;
}

static void session_begin(struct local *local, struct local_session *local_session,
                          const _Atomic int *cancelled, int64_t timeout_ms)
{
    pthread_mutex_lock(&local->lock);
    local_session->cancelled = cancelled;
    local_session->stop = EVALUATION_GOES_ON;
    local_session->deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    if (local->busy++ == 0)
        pthread_cond_signal(&local->changed);
    pthread_mutex_unlock(&local->lock);
}

static void session_end(struct local *local, struct local_session *local_session)
{
    pthread_mutex_lock(&local->lock);
    local_session->deadline_ns = 0;
    local->busy--;
    pthread_mutex_unlock(&local->lock);
}

static int evaluate_problem(struct local *local, struct local_session *local_session,
                            const struct evaluation_request *request, const struct problem *problem,
                            const struct settings *settings, const struct evaluator_call *call,
                            struct verdict *verdict, struct err *err)
{
    struct candidate candidate = {.path = request->candidate_name,
                                  .text = request->candidate_source,
                                  .bytes = strlen(request->candidate_source)};
    struct evaluation_terms terms = {.settings = settings,
                                     .stopped = &local_session->stop,
                                     .no_timing = !request->timing};
    session_begin(local, local_session, call->cancelled, request->timeout_ms);
    session_evaluate(local_session->judge_session, problem, &candidate, &terms, verdict);
    session_end(local, local_session);
    verdict->stages_ms[STAGE_QUEUE] += call->waited_ms;
    return verdict->status == STATUS_CANCELLED ? err_set(err, ERR_CANCELLED, "cancelled") : 0;
}

/* An invalid problem that was sent whole gets a verdict that says so, as from a server; a
 * problem that is only named must exist. */
static int evaluate_request(struct local *local, struct local_session *local_session,
                            const struct evaluation_request *request,
                            const struct settings *settings, const struct evaluator_call *call,
                            struct verdict *verdict, struct err *err)
{
    struct problem problem = {0};
    int result = evaluation_request_problem(request, local->search_paths, &problem, err);
    if (result == 0) {
        result = evaluate_problem(local, local_session, request, &problem, settings, call, verdict,
                                  err);
    } else if (request->format != EVALUATION_KNOWN) {
        evaluation_request_refuse(request, err->text, verdict);
        result = 0;
    }
    problem_deinit(&problem);
    return result;
}

static int evaluate_object(void *state, void *local_session, const json_t *object,
                           const struct evaluator_call *call, struct verdict *verdict,
                           struct err *err)
{
    struct local *local = state;
    struct evaluation_request request;
    struct settings settings;
    struct err why;
    int result = evaluation_request_parse(object, &request, &why);
    if (result == 0 && request.refused) {
        evaluation_request_refuse(&request, request.refused, verdict);
    } else if (result == 0) {
        result = evaluation_request_settings(&request, local->settings, &settings, &why);
        if (result == 0) {
            result = evaluate_request(local, local_session, &request, &settings, call, verdict,
                                      &why);
            settings_deinit(&settings);
        }
    }
    if (result < 0 && err)
        *err = why;
    if (result == 0 && request.id)
        verdict->id = arena_strdup(&verdict->arena, request.id);
    return result;
}

static int local_session_open(void *state, void **out, struct err *err)
{
    struct local *local = state;
    struct local_session *local_session = mem_alloc(sizeof *local_session);
    local_session->judge_session = session_new(local->judge);
    pthread_mutex_lock(&local->lock);
    local_session->next = local->sessions;
    local->sessions = local_session;
    pthread_mutex_unlock(&local->lock);
    *out = local_session;
    return 0;
}

/* While the timer thread runs, which sees the session idle. */
static void local_session_close(void *state, void *which)
{
    struct local *local = state;
    struct local_session *local_session = which;
    pthread_mutex_lock(&local->lock);
    struct local_session **place = &local->sessions;
    while (*place != local_session)
        place = &(*place)->next;
    *place = local_session->next;
    pthread_mutex_unlock(&local->lock);
    session_free(local_session->judge_session);
    mem_free(local_session);
}

static void local_free(struct local *local)
{
    judge_close(local->judge);
    pthread_cond_destroy(&local->changed);
    pthread_mutex_destroy(&local->lock);
    mem_free(local);
}

static void local_close(void *state)
{
    struct local *local = state;
    pthread_mutex_lock(&local->lock);
    local->ended = true;
    pthread_cond_signal(&local->changed);
    pthread_mutex_unlock(&local->lock);
    pthread_join(local->timer_thread, NULL);
    local_free(local);
}

static size_t count_cpus(void)
{
    struct cpu cpu;
    cpu_detect(&cpu);
    return (size_t)cpu.cores;
}

int evaluator_open_local(struct evaluator **out, const struct evaluator_options *options,
                         struct err *err)
{
    static const struct evaluator_kind kind = {local_session_open, local_session_close,
                                               evaluate_object, local_close};
    struct judge_options judge_options = {.settings = options->settings,
                                          .cancelled = options->cancelled};
    struct judge *judge;
    *out = NULL;
    int result = judge_open(&judge, &judge_options, err);
    if (result < 0)
        return result;
    struct local *local = mem_alloc(sizeof *local);
    local->settings = options->settings;
    local->search_paths = options->search_paths;
    local->judge = judge;
    pthread_mutex_init(&local->lock, NULL);
    pthread_cond_init(&local->changed, NULL);
    if (pthread_create(&local->timer_thread, NULL, timer_thread, local) != 0) {
        local_free(local);
        return err_set(err, ERR_IO, "cannot start the evaluator's thread");
    }
    *out = evaluator_new(&kind, local,
                         options->max_in_flight ? options->max_in_flight : count_cpus(),
                         options->cancelled);
    return 0;
}
