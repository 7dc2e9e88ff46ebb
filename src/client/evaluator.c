#include "client/evaluator.h"

#include "base/clock.h"
#include "base/mem.h"
#include "client/evaluator_internal.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define TICK_MS 100 /* how late a wait for a session notices a cancellation */

struct evaluator {
    const struct evaluator_kind *kind;
    void *state;
    size_t capacity;
    const _Atomic int *cancelled;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t free;
    void **idle; /* a stack: the session used last is warm, so it is used first */
    size_t idle_count, session_count;
};

struct evaluator *evaluator_new(const struct evaluator_kind *kind, void *state, size_t capacity,
                                const _Atomic int *cancelled)
{
    struct evaluator *evaluator = mem_alloc(sizeof *evaluator);
    evaluator->kind = kind;
    evaluator->state = state;
    evaluator->capacity = capacity;
    evaluator->cancelled = cancelled;
    evaluator->idle = mem_alloc(capacity * sizeof *evaluator->idle);
    pthread_mutex_init(&evaluator->lock, NULL);
    pthread_cond_init(&evaluator->free, NULL);
    return evaluator;
}

void evaluator_close(struct evaluator *evaluator)
{
    if (!evaluator)
        return;
    for (size_t i = 0; i < evaluator->idle_count; i++)
        evaluator->kind->session_close(evaluator->state, evaluator->idle[i]);
    evaluator->kind->close(evaluator->state);
    pthread_cond_destroy(&evaluator->free);
    pthread_mutex_destroy(&evaluator->lock);
    mem_free(evaluator->idle);
    mem_free(evaluator);
}

size_t evaluator_capacity(const struct evaluator *evaluator)
{
    return evaluator->capacity;
}

static bool is_set(const _Atomic int *cancelled)
{
    return cancelled && *cancelled;
}

/* Waits for the right to a session; *session is an idle one, or NULL. */
static int wait_for_session(struct evaluator *evaluator, const _Atomic int *cancelled,
                            void **session, struct err *err)
{
    *session = NULL;
    pthread_mutex_lock(&evaluator->lock);
    while (evaluator->idle_count == 0 && evaluator->session_count == evaluator->capacity &&
           !is_set(cancelled)) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&evaluator->free, &evaluator->lock, &until);
    }
    bool goes_on = !is_set(cancelled);
    if (goes_on && evaluator->idle_count > 0)
        *session = evaluator->idle[--evaluator->idle_count];
    else if (goes_on)
        evaluator->session_count++;
    pthread_mutex_unlock(&evaluator->lock);
    return goes_on ? 0 : err_set(err, ERR_CANCELLED, "cancelled");
}

/* NULL: a session that could not be opened. */
static void session_return(struct evaluator *evaluator, void *session)
{
    pthread_mutex_lock(&evaluator->lock);
    if (session)
        evaluator->idle[evaluator->idle_count++] = session;
    else
        evaluator->session_count--;
    pthread_cond_signal(&evaluator->free);
    pthread_mutex_unlock(&evaluator->lock);
}

int evaluator_evaluate_until(struct evaluator *evaluator, const json_t *request,
                             const _Atomic int *stop, struct verdict *verdict, struct err *err)
{
    const struct evaluator_kind *kind = evaluator->kind;
    int64_t asked_ns = clock_now_ns();
    void *session;
    *verdict = (struct verdict){0};
    int result = wait_for_session(evaluator, stop, &session, err);
    if (result < 0)
        return result;
    if (!session)
        result = kind->session_open(evaluator->state, &session, err);
    if (result == 0) {
        const struct evaluator_call turn = {clock_ms_since(asked_ns), stop};
        result = kind->evaluate(evaluator->state, session, request, &turn, verdict, err);
    }
    session_return(evaluator, session);
    return result;
}

int evaluator_evaluate(struct evaluator *evaluator, const json_t *request, struct verdict *verdict,
                       struct err *err)
{
    return evaluator_evaluate_until(evaluator, request, evaluator->cancelled, verdict, err);
}
