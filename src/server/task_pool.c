#include "server/task_pool.h"

#include "base/mem.h"

#include <pthread.h>

struct task_pool {
    pthread_mutex_t lock; /* all below */
    pthread_cond_t work;
    struct pool_task *first, **last;
    size_t queued, queue_max;
    pthread_t *threads;
    size_t thread_count, threads_max, idle;
    bool quit;
};

struct task_pool *task_pool_new(size_t threads_max, size_t queue_max)
{
    struct task_pool *pool = mem_alloc(sizeof *pool);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->last = &pool->first;
    pool->queue_max = queue_max;
    pool->threads_max = threads_max;
    pool->threads = mem_alloc(threads_max * sizeof *pool->threads);
    return pool;
}

static struct pool_task *pool_next_task(struct task_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->idle++;
    while (!pool->first && !pool->quit)
        pthread_cond_wait(&pool->work, &pool->lock);
    pool->idle--;
    struct pool_task *work = pool->first;
    if (work) {
        pool->first = work->next;
        if (!pool->first)
            pool->last = &pool->first;
        pool->queued--;
    }
    pthread_mutex_unlock(&pool->lock);
    return work;
}

static void *pool_thread_main(void *argument)
{
    struct pool_task *work;
    while ((work = pool_next_task(argument)))
        work->run(work);
    return NULL;
}

/* With the lock: whether a thread is idle or can be started. */
static bool has_thread(struct task_pool *pool)
{
    if (pool->idle <= pool->queued && pool->thread_count < pool->threads_max &&
        pthread_create(&pool->threads[pool->thread_count], NULL, pool_thread_main, pool) == 0)
        pool->thread_count++;
    return pool->thread_count > 0;
}

bool task_pool_submit(struct task_pool *pool, struct pool_task *work)
{
    work->next = NULL;
    pthread_mutex_lock(&pool->lock);
    bool accepted = !pool->quit && pool->queued < pool->queue_max && has_thread(pool);
    if (accepted) {
        *pool->last = work;
        pool->last = &work->next;
        pool->queued++;
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    return accepted;
}

void task_pool_free(struct task_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    mem_free(pool->threads);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    mem_free(pool);
}
