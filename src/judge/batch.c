#include "judge/batch.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <time.h>

#define TICK_MS 100

struct batch {
    struct judge *judge;
    const struct batch_task *tasks;
    bool *taken;
    size_t count, first, reported; /* first: none before it is left */
    int running;
    bool alone; /* one job takes them in their order */
    const _Atomic int *cancelled;
    batch_report report;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

/* Among several jobs each stays with its problem as long as there is work for it: its reference
 * stands ready. */
static const struct batch_task *take_task(struct batch *batch, const struct problem *before)
{
    const struct batch_task *task = NULL;
    pthread_mutex_lock(&batch->lock);
    while (batch->first < batch->count && batch->taken[batch->first])
        batch->first++;
    size_t chosen = batch->first;
    for (size_t i = chosen; before && i < batch->count; i++)
        if (!batch->taken[i] && batch->tasks[i].problem == before) {
            chosen = i;
            break;
        }
    if (chosen < batch->count && !(batch->cancelled && *batch->cancelled)) {
        batch->taken[chosen] = true;
        task = &batch->tasks[chosen];
    }
    pthread_mutex_unlock(&batch->lock);
    return task;
}

static void *run_job(void *argument)
{
    struct batch *batch = argument;
    struct session *session = session_new(batch->judge);
    const struct batch_task *task = NULL;
    while ((task = take_task(batch, task && !batch->alone ? task->problem : NULL))) {
        struct verdict verdict;
        session_evaluate(session, task->problem, &task->candidate, NULL, &verdict);
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
        struct timespec until = clock_in_ms(TICK_MS);
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
                          .taken = mem_alloc(count * sizeof(bool)),
                          .count = count,
                          .alone = jobs == 1,
                          .cancelled = cancelled,
                          .report = report,
                          .context = context};
    pthread_mutex_init(&batch.lock, NULL);
    pthread_cond_init(&batch.ended, NULL);
    size_t wanted = (size_t)jobs < count ? (size_t)jobs : count;
    pthread_t *threads = mem_alloc(wanted * sizeof *threads);
    size_t started = 0;
    pthread_mutex_lock(&batch.lock);
    while (started < wanted && pthread_create(&threads[started], NULL, run_job, &batch) == 0)
        started++;
    batch.running = (int)started;
    pthread_mutex_unlock(&batch.lock);
    wait_for_all(&batch, tick);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    mem_free(threads);
    mem_free(batch.taken);
    pthread_mutex_destroy(&batch.lock);
    pthread_cond_destroy(&batch.ended);
    if (batch.reported == count)
        return 0;
    return cancelled && *cancelled ? err_set(err, ERR_CANCELLED, "cancelled")
                                   : err_set(err, ERR_IO, "cannot start a job thread");
}
