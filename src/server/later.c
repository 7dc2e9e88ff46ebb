#include "server/later.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define THREADS 8

struct later {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct later_work *first, **last;
    bool quit;
    pthread_t threads[THREADS];
    size_t thread_count;
};

static struct later_work *next(struct later *later)
{
    pthread_mutex_lock(&later->lock);
    while (!later->first && !later->quit)
        pthread_cond_wait(&later->work, &later->lock);
    struct later_work *work = later->first;
    if (work) {
        later->first = work->next;
        if (!later->first)
            later->last = &later->first;
    }
    pthread_mutex_unlock(&later->lock);
    return work;
}

static void *run(void *argument)
{
    struct later_work *work;
    while ((work = next(argument)))
        work->run(work);
    return NULL;
}

int later_open(struct later **out, struct err *err)
{
    struct later *later = mem_alloc(sizeof *later);
    later->last = &later->first;
    pthread_mutex_init(&later->lock, NULL);
    pthread_cond_init(&later->work, NULL);
    while (later->thread_count < THREADS &&
           pthread_create(&later->threads[later->thread_count], NULL, run, later) == 0)
        later->thread_count++;
    if (later->thread_count == 0) {
        later_close(later);
        return err_set(err, ERR_IO, "cannot start the threads that finish episodes");
    }
    *out = later;
    return 0;
}

void later_push(struct later *later, struct later_work *work)
{
    work->next = NULL;
    pthread_mutex_lock(&later->lock);
    *later->last = work;
    later->last = &work->next;
    pthread_cond_signal(&later->work);
    pthread_mutex_unlock(&later->lock);
}

void later_close(struct later *later)
{
    if (!later)
        return;
    pthread_mutex_lock(&later->lock);
    later->quit = true;
    pthread_cond_broadcast(&later->work);
    pthread_mutex_unlock(&later->lock);
    for (size_t i = 0; i < later->thread_count; i++)
        pthread_join(later->threads[i], NULL);
    pthread_cond_destroy(&later->work);
    pthread_mutex_destroy(&later->lock);
    mem_free(later);
}
