#include "judge/batch.h"

#include "base/mem.h"

#include <pthread.h>
#include <time.h>

#define TICK_NS 100000000L

struct batch {
    struct judge *judge;
    const struct batch_task *tasks;
    size_t count, next, reported;
    int running;
    const _Atomic int *cancelled;
    batch_report report;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

static const struct batch_task *take(struct batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    const struct batch_task *task = NULL;
    if (batch->next < batch->count && !(batch->cancelled && *batch->cancelled))
        task = &batch->tasks[batch->next++];
    pthread_mutex_unlock(&batch->lock);
    return task;
}

static void *work(void *argument)
{
    struct batch *batch = argument;
    struct session *session = session_new(batch->judge);
    const struct batch_task *task;
    while ((task = take(batch))) {
        struct verdict verdict;
        session_evaluate(session, task->problem, &task->candidate, &verdict);
        pthread_mutex_lock(&batch->lock);
        if (verdict.status != STATUS_CANCELLED) {
            batch->report(batch->context, task, &verdict);
            batch->reported++;
        }
        pthread_mutex_unlock(&batch->lock);
        verdict_deinit(&verdict);
    }
    session_free(session);
    pthread_mutex_lock(&batch->lock);
    batch->running--;
    pthread_cond_signal(&batch->ended);
    pthread_mutex_unlock(&batch->lock);
    return NULL;
}

static void wait_for_all(struct batch *batch, batch_tick tick)
{
    pthread_mutex_lock(&batch->lock);
    while (batch->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TICK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&batch->ended, &batch->lock, &until);
        if (tick)
            tick(batch->context);
    }
    pthread_mutex_unlock(&batch->lock);
}

int batch_run(struct judge *judge, const struct batch_task *tasks, size_t count, int jobs,
              const _Atomic int *cancelled, batch_report report, batch_tick tick, void *context,
              struct err *err)
{
    struct batch batch = {.judge = judge,
                          .tasks = tasks,
                          .count = count,
                          .cancelled = cancelled,
                          .report = report,
                          .context = context};
    pthread_mutex_init(&batch.lock, NULL);
    pthread_cond_init(&batch.ended, NULL);
    size_t wanted = (size_t)jobs < count ? (size_t)jobs : count;
    pthread_t *threads = mem_alloc(wanted * sizeof *threads);
    size_t started = 0;
    pthread_mutex_lock(&batch.lock);
    while (started < wanted && pthread_create(&threads[started], NULL, work, &batch) == 0)
        started++;
    batch.running = (int)started;
    pthread_mutex_unlock(&batch.lock);
    wait_for_all(&batch, tick);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    mem_free(threads);
    pthread_mutex_destroy(&batch.lock);
    pthread_cond_destroy(&batch.ended);
    if (batch.reported == count)
        return 0;
    return cancelled && *cancelled ? err_set(err, ERR_CANCELLED, "cancelled")
                                   : err_set(err, ERR_IO, "cannot start a job thread");
}
