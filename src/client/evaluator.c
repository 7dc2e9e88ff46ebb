#include "client/evaluator.h"

#include "base/clock.h"
#include "base/mem.h"
#include "client/evaluator_internal.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define TICK_MS 100 /* how late a wait for a seat notices that somebody cancels */

struct evaluator {
    const struct evaluator_kind *kind;
    void *judges;
    size_t at_once;
    const _Atomic int *cancelled;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t free;
    void **idle; /* the seat used last is the first to be used again: it is warm */
    size_t idle_count, seat_count;
};

struct evaluator *evaluator_new(const struct evaluator_kind *kind, void *judges, size_t at_once,
                                const _Atomic int *cancelled)
{
    struct evaluator *evaluator = mem_alloc(sizeof *evaluator);
    evaluator->kind = kind;
    evaluator->judges = judges;
    evaluator->at_once = at_once;
    evaluator->cancelled = cancelled;
    evaluator->idle = mem_alloc(at_once * sizeof *evaluator->idle);
    pthread_mutex_init(&evaluator->lock, NULL);
    pthread_cond_init(&evaluator->free, NULL);
    return evaluator;
}

void evaluator_close(struct evaluator *evaluator)
{
    if (!evaluator)
        return;
    for (size_t i = 0; i < evaluator->idle_count; i++)
        evaluator->kind->seat_close(evaluator->judges, evaluator->idle[i]);
    evaluator->kind->close(evaluator->judges);
    pthread_cond_destroy(&evaluator->free);
    pthread_mutex_destroy(&evaluator->lock);
    mem_free(evaluator->idle);
    mem_free(evaluator);
}

size_t evaluator_at_once(const struct evaluator *evaluator)
{
    return evaluator->at_once;
}

static bool is_set(const _Atomic int *cancelled)
{
    return cancelled && *cancelled;
}

/* The right to a seat, and the seat itself where one is idle. */
static int wait_for_seat(struct evaluator *evaluator, const _Atomic int *cancelled, void **seat,
                         struct err *err)
{
    *seat = NULL;
    pthread_mutex_lock(&evaluator->lock);
    while (evaluator->idle_count == 0 && evaluator->seat_count == evaluator->at_once &&
           !is_set(cancelled)) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&evaluator->free, &evaluator->lock, &until);
    }
    bool goes_on = !is_set(cancelled);
    if (goes_on && evaluator->idle_count > 0)
        *seat = evaluator->idle[--evaluator->idle_count];
    else if (goes_on)
        evaluator->seat_count++;
    pthread_mutex_unlock(&evaluator->lock);
    return goes_on ? 0 : err_set(err, ERR_CANCELLED, "cancelled");
}

/* NULL: one that could not be opened. */
static void give_back(struct evaluator *evaluator, void *seat)
{
    pthread_mutex_lock(&evaluator->lock);
    if (seat)
        evaluator->idle[evaluator->idle_count++] = seat;
    else
        evaluator->seat_count--;
    pthread_cond_signal(&evaluator->free);
    pthread_mutex_unlock(&evaluator->lock);
}

int evaluator_evaluate_until(struct evaluator *evaluator, const json_t *request,
                             const _Atomic int *stop, json_t **verdict, struct err *err)
{
    const struct evaluator_kind *kind = evaluator->kind;
    int64_t asked_ns = clock_now_ns();
    void *seat;
    *verdict = NULL;
    int result = wait_for_seat(evaluator, stop, &seat, err);
    if (result < 0)
        return result;
    if (!seat)
        result = kind->seat_open(evaluator->judges, &seat, err);
    if (result == 0) {
        const struct evaluator_turn turn = {clock_ms_since(asked_ns), stop};
        result = kind->evaluate(evaluator->judges, seat, request, &turn, verdict, err);
    }
    give_back(evaluator, seat);
    return result;
}

int evaluator_evaluate(struct evaluator *evaluator, const json_t *request, json_t **verdict,
                       struct err *err)
{
    return evaluator_evaluate_until(evaluator, request, evaluator->cancelled, verdict, err);
}
