/* evaluator_local: this process judges. Declared in evaluator.h. */
#include "client/evaluator_internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "device/cpu.h"
#include "judge/judge.h"
#include "judge/request/request.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define TICK_MS 50

struct seat {
    struct session *session;
    _Atomic int stop;    /* enum evaluation_stop */
    int64_t deadline_ns; /* 0: nothing is judged */
    const _Atomic int *cancelled;
    struct seat *next;
};

/* The beat looks after what is judged: whether its time is up, whether somebody cancels. */
struct local {
    const struct settings *settings;
    const char *const *roots;
    size_t root_count;
    struct judge *judge;
    pthread_t beat;
    pthread_mutex_t lock; /* all below, and the seats' deadlines */
    pthread_cond_t changed;
    struct seat *seats;
    size_t busy;
    bool ended;
};

/* ------------------------------------------------------------------------------------- the beat */

/* With the lock. */
static void stop_due(struct local *local)
{
    int64_t now_ns = clock_now_ns();
    for (struct seat *seat = local->seats; seat; seat = seat->next) {
        if (seat->deadline_ns == 0 || seat->stop != EVALUATION_GOES_ON)
            continue;
        if (seat->cancelled && *seat->cancelled)
            seat->stop = EVALUATION_CANCELLED;
        else if (now_ns > seat->deadline_ns)
            seat->stop = EVALUATION_OUT_OF_TIME;
    }
}

static void *beat(void *argument)
{
    struct local *local = argument;
    pthread_mutex_lock(&local->lock);
    while (!local->ended) {
        struct timespec until = clock_in_ms(TICK_MS);
        if (local->busy > 0)
            pthread_cond_timedwait(&local->changed, &local->lock, &until);
        else
            pthread_cond_wait(&local->changed, &local->lock);
        stop_due(local);
    }
    pthread_mutex_unlock(&local->lock);
    return NULL;
}

static void begin(struct local *local, struct seat *seat, const _Atomic int *cancelled,
                  int64_t timeout_ms)
{
    pthread_mutex_lock(&local->lock);
    seat->cancelled = cancelled;
    seat->stop = EVALUATION_GOES_ON;
    seat->deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    if (local->busy++ == 0)
        pthread_cond_signal(&local->changed);
    pthread_mutex_unlock(&local->lock);
}

static void end(struct local *local, struct seat *seat)
{
    pthread_mutex_lock(&local->lock);
    seat->deadline_ns = 0;
    local->busy--;
    pthread_mutex_unlock(&local->lock);
}

/* -------------------------------------------------------------------------------------- judging */

static int judge(struct local *local, struct seat *seat, const struct evaluation_request *request,
                 const struct problem *problem, const struct settings *settings,
                 const struct evaluator_turn *turn, json_t **out, struct err *err)
{
    struct candidate candidate = {.path = request->candidate_name,
                                  .text = request->candidate_source,
                                  .bytes = strlen(request->candidate_source)};
    struct evaluation_terms terms = {.settings = settings,
                                     .stopped = &seat->stop,
                                     .no_timing = !request->timing};
    struct verdict verdict;
    begin(local, seat, turn->cancelled, request->timeout_ms);
    session_evaluate(seat->session, problem, &candidate, &terms, &verdict);
    end(local, seat);
    verdict.stages_ms[STAGE_QUEUE] += turn->waited_ms;
    if (verdict.status != STATUS_CANCELLED)
        *out = verdict_json(&verdict);
    verdict_deinit(&verdict);
    return *out ? 0 : err_set(err, ERR_CANCELLED, "cancelled");
}

/* A problem that was sent and is none gets a verdict that says so, as from a server; one that is
 * only named has to be there. */
static int judge_request(struct local *local, struct seat *seat,
                         const struct evaluation_request *request, const struct settings *settings,
                         const struct evaluator_turn *turn, json_t **out, struct err *err)
{
    struct problem problem = {0};
    int result = evaluation_request_problem(request, local->roots, local->root_count, &problem,
                                            err);
    if (result == 0) {
        result = judge(local, seat, request, &problem, settings, turn, out, err);
    } else if (request->format != EVALUATION_KNOWN) {
        *out = evaluation_request_refusal(request, err->text);
        result = 0;
    }
    problem_deinit(&problem);
    return result;
}

static int evaluate(void *judges, void *seat, const json_t *object,
                    const struct evaluator_turn *turn, json_t **out, struct err *err)
{
    struct local *local = judges;
    struct evaluation_request request;
    struct settings settings;
    struct err why;
    int result = evaluation_request_parse(object, &request, &why);
    if (result == 0 && request.refused) {
        *out = evaluation_request_refusal(&request, request.refused);
    } else if (result == 0) {
        result = evaluation_request_settings(&request, local->settings, &settings, &why);
        if (result == 0) {
            result = judge_request(local, seat, &request, &settings, turn, out, &why);
            settings_deinit(&settings);
        }
    }
    if (result < 0 && err)
        *err = why;
    if (result == 0 && request.id)
        json_put(*out, "id", json_text(request.id));
    return result;
}

/* ------------------------------------------------------------------------------- its whole life */

static int seat_open(void *judges, void **out, struct err *err)
{
    struct local *local = judges;
    struct seat *seat = mem_alloc(sizeof *seat);
    (void)err;
    seat->session = session_new(local->judge);
    pthread_mutex_lock(&local->lock);
    seat->next = local->seats;
    local->seats = seat;
    pthread_mutex_unlock(&local->lock);
    *out = seat;
    return 0;
}

/* With its beat still there, which sees it no longer busy. */
static void seat_close(void *judges, void *which)
{
    struct local *local = judges;
    struct seat *seat = which;
    pthread_mutex_lock(&local->lock);
    struct seat **place = &local->seats;
    while (*place != seat)
        place = &(*place)->next;
    *place = seat->next;
    pthread_mutex_unlock(&local->lock);
    session_free(seat->session);
    mem_free(seat);
}

static void free_all(struct local *local)
{
    judge_close(local->judge);
    pthread_cond_destroy(&local->changed);
    pthread_mutex_destroy(&local->lock);
    mem_free(local);
}

static void close_local(void *judges)
{
    struct local *local = judges;
    pthread_mutex_lock(&local->lock);
    local->ended = true;
    pthread_cond_signal(&local->changed);
    pthread_mutex_unlock(&local->lock);
    pthread_join(local->beat, NULL);
    free_all(local);
}

static size_t cpus(void)
{
    struct cpu cpu;
    cpu_detect(&cpu);
    return (size_t)cpu.cores;
}

int evaluator_open_local(struct evaluator **out, const struct evaluator_options *options,
                         struct err *err)
{
    static const struct evaluator_kind kind = {seat_open, seat_close, evaluate, close_local};
    struct judge_options judge_options = {.settings = options->settings,
                                          .cancelled = options->cancelled};
    struct judge *judge;
    *out = NULL;
    int result = judge_open(&judge, &judge_options, err);
    if (result < 0)
        return result;
    struct local *local = mem_alloc(sizeof *local);
    local->settings = options->settings;
    local->roots = options->roots;
    local->root_count = options->root_count;
    local->judge = judge;
    pthread_mutex_init(&local->lock, NULL);
    pthread_cond_init(&local->changed, NULL);
    if (pthread_create(&local->beat, NULL, beat, local) != 0) {
        free_all(local);
        return err_set(err, ERR_IO, "cannot start the evaluator's thread");
    }
    *out = evaluator_new(&kind, local, options->at_once ? options->at_once : cpus(),
                         options->cancelled);
    return 0;
}
