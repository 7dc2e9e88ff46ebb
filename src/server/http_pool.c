#include "server/http_internal.h"

#include "base/mem.h"

#include <errno.h>

static struct http_request *next(struct http_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (!pool->first && !pool->quit)
        pthread_cond_wait(&pool->work, &pool->lock);
    struct http_request *request = pool->first;
    if (request) {
        pool->first = request->next;
        if (!pool->first)
            pool->last = &pool->first;
        pool->queued--;
    }
    pthread_mutex_unlock(&pool->lock);
    return request;
}

static void *work(void *argument)
{
    struct http_request *request;
    while ((request = next(argument))) {
        http_turn_run(request);
        http_request_unref(request);
    }
    return NULL;
}

int http_pool_start(struct http_pool *pool, size_t threads, size_t queue_max, struct err *err)
{
    *pool = (struct http_pool){.queue_max = queue_max};
    pool->last = &pool->first;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->threads = mem_alloc(threads * sizeof *pool->threads);
    for (; pool->thread_count < threads; pool->thread_count++) {
        int code = pthread_create(&pool->threads[pool->thread_count], NULL, work, pool);
        if (code != 0) {
            http_pool_stop(pool);
            return err_sys(err, code, "cannot start %zu handler threads", threads);
        }
    }
    return 0;
}

bool http_pool_push(struct http_pool *pool, struct http_request *request)
{
    pthread_mutex_lock(&pool->lock);
    bool room = pool->queued < pool->queue_max;
    if (room) {
        http_request_ref(request);
        request->next = NULL;
        *pool->last = request;
        pool->last = &request->next;
        pool->queued++;
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    return room;
}

/* What is in the queue is still done. */
void http_pool_stop(struct http_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    mem_free(pool->threads);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
}
