#include "server/pool.h"

#include "base/mem.h"

#include <pthread.h>

struct pool {
    pthread_mutex_t lock; /* all below */
    pthread_cond_t work;
    struct pool_work *first, **last;
    size_t queued, queue_max;
    pthread_t *threads;
    size_t thread_count, threads_max, idle;
    bool quit;
};

struct pool *pool_new(size_t threads_max, size_t queue_max)
{
    struct pool *pool = mem_alloc(sizeof *pool);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->last = &pool->first;
    pool->queue_max = queue_max;
    pool->threads_max = threads_max;
    pool->threads = mem_alloc(threads_max * sizeof *pool->threads);
    return pool;
}

static struct pool_work *next(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->idle++;
    while (!pool->first && !pool->quit)
        pthread_cond_wait(&pool->work, &pool->lock);
    pool->idle--;
    struct pool_work *work = pool->first;
    if (work) {
        pool->first = work->next;
        if (!pool->first)
            pool->last = &pool->first;
        pool->queued--;
    }
    pthread_mutex_unlock(&pool->lock);
    return work;
}

static void *run(void *argument)
{
    struct pool_work *work;
    while ((work = next(argument)))
        work->run(work);
    return NULL;
}

/* With the lock held: whether somebody is or will be there for one more. */
static bool has_thread(struct pool *pool)
{
    if (pool->idle <= pool->queued && pool->thread_count < pool->threads_max &&
        pthread_create(&pool->threads[pool->thread_count], NULL, run, pool) == 0)
        pool->thread_count++;
    return pool->thread_count > 0;
}

bool pool_push(struct pool *pool, struct pool_work *work)
{
    work->next = NULL;
    pthread_mutex_lock(&pool->lock);
    bool room = !pool->quit && pool->queued < pool->queue_max && has_thread(pool);
    if (room) {
        *pool->last = work;
        pool->last = &work->next;
        pool->queued++;
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    return room;
}

void pool_free(struct pool *pool)
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
